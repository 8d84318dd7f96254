"""Source code without a fence: functions, classes and statements, by indentation and brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragsieve.formats.tree import ALWAYS, DEEPEST, Node, line_spans

_LEAST = 3  # lines of a text that is code
_SHARE = 0.4  # of its lines that look like code
_CLASS = 400  # characters of a class that is not cut
_MERGED = 160  # characters of neighbouring statements that make one unit
_SHOWN = 500  # characters of a line that are looked at
_HASH = re.compile(
    r"(?:async )?def \w+\(|class \w+\s*[(:]|from [\w.]+ import |import [\w.]+(?: as \w+)?$|"
    r"@\w[\w.]*(?:\(|$)|(?:if|elif|for|while|with|except) .*:$|(?:try|else|finally|except):$|"
    r"self\.\w+ ?=|#!/|set -[eu]|\w+ ?\(\) ?\{$|if \[|(?:fi|done|do|esac|then)$|export \w+=|echo |"
    r"return\b|"
    r"[\w.]+ [-+*|]?= \S|(?:\w+\.)*\w+\(.*\)$"
)
_SLASH = re.compile(
    r"(?:export |default |async |pub(?:\(\w+\))? |public |private |protected |static |final |"
    r"abstract |unsafe |const |inline |extern |override |virtual )*(?:function\b|class |interface |"
    r"struct |enum |trait |impl\b|fn |func |package [\w.]+;?$|import [\w\"'{(*]|use [\w:]+|#if|"
    r"#include|#define |"
    r"namespace |const \w|let \w|var \w|type \w+ |void |int |return\b|(?:if|for|while|switch) ?\("
    r"|\}|/\*|//|\*[ /])|.*[;{]$|.*\) ?(?:=>|->)"
)
_DASH = re.compile(
    r"(?:SELECT|INSERT INTO|CREATE|ALTER|UPDATE|DELETE FROM|WITH|DROP|FROM|WHERE|"
    r"(?:LEFT |INNER |RIGHT )?JOIN|GROUP BY|ORDER BY|VALUES|BEGIN|END|GRANT|LIMIT|ON|AND|SET|"
    r"UNION)\b|.*[,(;]$|--|\)",
    re.IGNORECASE,
)
_FAMILIES = {"#": _HASH, "/": _SLASH, "-": _DASH}
_STRONG = re.compile(
    r".*(?:[;{}\[]|\)?:|\(|\)|=|[)\]}'\"],)(?:\s*(?:#|//).*)?$|"
    r"(?:import|from|def|class|function|func|fn|#\w|@\w)\b|.* = |\d+: "
)
_PROSE = re.compile(r"[*>]{0,3}[A-Z][\w’']*(?:[,.:;]? [\w’'(*)-]+)*[.?!:]\**$")
_SQL = re.compile(
    r"SELECT\s|INSERT INTO|CREATE (?:TABLE|INDEX|VIEW|OR|FUNCTION|UNIQUE|TEMP)|ALTER TABLE|"
    r"UPDATE \w+ SET|DELETE FROM|WITH \w+ AS|DROP TABLE",
    re.IGNORECASE,
)
_CLOSER = re.compile(r"[)\]}]+[;,)]*$|(?:fi|done|esac|end|END)\b;?$")
_WORDS = re.compile(r"(?:fi|done|esac|end)\b;?$")
_GOES_ON = re.compile(
    r"(?:\}\s*)?(?:else|elif|elsif|except|finally|catch|rescue|fi|done|esac)\b|\{$|"
    r"[.?:&|+]{1,2}[ \w]|[)\]}]"
)
_SIGNED = re.compile(
    r"(?:\w+ )*(?:def|class|function|func|fn|if|for|while|with|switch|impl|struct|enum|"
    r"interface|trait|elif|else|try|except|match|namespace|void|int|public|private|static|protected)\b|"
    r".*\)\s*(?:\{|:)?$"
)
_HOLDS = re.compile(r"(?:\w+ )*(?:class|impl|namespace|interface|trait|module|mod)\b")
_PREFIX = {
    "#": re.compile(r"#(?!!)|@"),
    "/": re.compile(r"//|/\*|\*[ /]|@|#\[|template ?<"),
    "-": re.compile("--"),
}
_MARKS = {"#": "# …", "/": "// …", "-": "-- …"}  # where statements are left out
_TOKENS = {
    "#": re.compile(
        r'"""|\'\'\'|"(?:\\.|[^"\\])*+"|\'(?:\\.|[^\'\\])*+\'|(?<![$\w{])#.*|[()\[\]{}]'
    ),
    "/": re.compile(r"/\*|//.*|`|\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|[()\[\]{}]"),
    "-": re.compile(r"/\*|--.*|'(?:''|[^'])*+'|[()\[\]{}]"),
}  # fmt: skip
_CLOSES = {'"""': '"""', "'''": "'''", "/*": "*/", "`": "`"}


@dataclass(slots=True)
class _Line:
    start: int  # its first character that is not white space
    end: int
    indent: int
    text: str
    blank: bool  # whether a blank line stands above
    quoted: bool = False  # whether it begins in a string or a comment
    under: int = 0  # open round brackets where it begins
    opens: str = ""  # the colon or bracket with which it ends, where a block may begin
    level: int = 0  # open round brackets at its end

    def free(self, level: int) -> bool:
        """Whether it may begin a statement of a block that has so many open brackets."""
        return not self.quoted and self.under <= level


class _Inside(NamedTuple):
    """The block in which statements stand."""

    family: str  # how comments begin
    level: int = 0  # open round brackets
    depth: int = 0


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The whole text, where it is code; adds what is unread."""
    if "\n" not in text or "```" in text or "\n@@ -" in text:
        return  # one line, Markdown or a diff
    lines = list(_lines(text))
    if len(lines) < _LEAST or not (family := _family(lines)):
        return
    if closes := _scan(text, lines, family):
        faults.append(f"code cannot be read to its end ({closes} is missing): cut as one text")
    start, end = lines[0].start, lines[-1].end
    items = _items(text, lines, _Inside(family))
    if len(items) > 1 or items[0].children:
        yield Node(
            start,
            start,
            end,
            end,
            whole=0,
            mark=_MARKS[family],
            merge=_MERGED,
            each=True,
            children=items,
        )


def _lines(text: str) -> Iterator[_Line]:
    blank = False
    for start, end in line_spans(text):
        shown = text[start : min(end, start + _SHOWN)].expandtabs(4)
        if bare := shown.strip():
            while text[end - 1].isspace():
                end -= 1
            while text[start].isspace():
                start += 1
            yield _Line(start, end, len(shown) - len(shown.lstrip()), bare, blank)
        blank = not bare


def _family(lines: Sequence[_Line]) -> str:
    """How comments begin in what the lines are written in; empty for what is no code."""
    shown = [*_unquoted(lines[:400])]
    looked = [line.text for line in shown]
    if not looked:
        return ""
    counts = {
        family: sum(bool(pattern.match(line)) for line in looked)
        for family, pattern in _FAMILIES.items()
    }
    if not _SQL.match(looked[0]) and sum(bool(_SQL.match(line)) for line in looked) < 2:
        counts["-"] = 0
    family = max(counts, key=counts.__getitem__)
    patterns = (_FAMILIES[family], _STRONG, _PREFIX[family])
    like = sum(any(pattern.match(line) for pattern in patterns) for line in looked)
    strong = sum(bool(_STRONG.match(line)) for line in looked)
    prose = sum(bool(_PROSE.match(line)) for line in looked)
    margin = [line.text for line in shown if not line.indent]
    outer = sum(bool(_PROSE.match(line)) for line in margin if '"""' not in line)
    enough = counts[family] >= 2 and strong >= 2 and like >= _SHARE * len(looked)
    plain = prose > 0.3 * len(looked) or (outer > 0.3 * len(margin) and prose == outer)
    return family if enough and not plain else ""


def _unquoted(lines: Sequence[_Line]) -> Iterator[_Line]:
    """Lines but for those inside a text between three quotes."""
    inside = False
    for line in lines:
        marks = line.text.count('"""') + line.text.count("'''")
        if not inside:
            yield line
        inside ^= marks % 2 == 1


def _scan(text: str, lines: Sequence[_Line], family: str) -> str:
    """Where strings, comments and brackets are open; what would close a text open at the end."""
    closes, level = "", 0
    tokens, triple = _TOKENS[family], '"""'
    for line in lines:
        line.quoted, line.under = bool(closes), level
        at, last, code = line.start, "", ""
        while at < line.end:
            if closes:
                stop = text.find(closes, at, line.end)
                at = line.end if stop < 0 else stop + len(closes)
                closes = closes if stop < 0 else ""
                last = triple
                continue
            match = tokens.search(text, at, line.end)
            code = text[at : match.start() if match else line.end].rstrip()
            last = code[-1:] or last
            if not match:
                break
            at, sign = match.end(), match[0]
            if sign in _CLOSES:
                closes, last = _CLOSES[sign], triple
            elif sign in "()[]{}":
                level = max(0, level + (sign in "([") - (sign in ")]"))
                last = sign
            elif not sign.startswith(("#", "//", "--")):
                last = sign
        line.level = level
        word = line.text.rsplit(" ", 1)[-1] in ("do", "then", "in") and family == "#"
        last = last[-1:] if not closes else ""
        line.opens = ":" if word else last if last and last in ":{([" else ""
    return closes


def _items(text: str, lines: Sequence[_Line], inside: _Inside) -> list[Node]:
    """The statements of a block."""
    base = min((line.indent for line in lines if line.free(inside.level)), default=0)
    begins = [0]
    prefixed = False
    for place, line in enumerate(lines):
        starts = line.indent <= base and line.free(inside.level)
        if inside.family == "-" and place:
            starts = starts and (lines[place - 1].text.endswith((";", ",")) or prefixed)
        if starts and _GOES_ON.match(line.text):
            if prefixed and len(begins) > 1:
                begins.pop()  # a comment on the clause that begins here
            prefixed = False
        elif starts:
            if place and (not prefixed or line.blank):
                begins.append(place)
            prefixed = bool(_PREFIX[inside.family].match(line.text))
    spans = zip(begins, [*begins[1:], len(lines)], strict=True)
    return [_item(text, lines[a:b], inside) for a, b in spans]


def _item(text: str, lines: Sequence[_Line], inside: _Inside) -> Node:
    """A statement; with parts where it holds a block."""
    end = lines[-1].end
    node = Node(lines[0].start, end, end, end, mark=_MARKS[inside.family], merge=_MERGED, each=True)
    prefix = _PREFIX[inside.family]
    first = next(
        (n for n, one in enumerate(lines) if not one.quoted and not prefix.match(one.text)), 0
    )
    opener = _opener(lines, first)
    if opener < 0 or opener + 1 >= len(lines) or inside.depth >= DEEPEST:
        return _quoted(text, node)
    base, body = lines[first].indent, lines[opener + 1 :]
    bracket = lines[opener].opens != ":"
    closed = (_CLOSER if bracket else _WORDS).match(body[-1].text) and not body[-1].quoted
    if closed and (bracket or body[-1].indent <= base):
        node.tail, body = body[-1].start, body[:-1]
    if not body:
        node.tail = end
        return node
    node.head = lines[opener].end
    node.whole = _CLASS if _HOLDS.match(lines[first].text) else ALWAYS
    if lines[opener].opens == ":" and inside.family == "#":
        node.mark = "...  # …"
    below = _Inside(inside.family, lines[opener].level, inside.depth + 1)
    level = lines[opener].level
    clause = next(
        (n for n, one in enumerate(body) if one.indent <= base and one.free(level)), len(body)
    )
    node.children = _items(text, body[:clause], below) if clause else []
    if body[clause:]:
        node.children.append(_item(text, body[clause:], below))
        node.children[-1].sticky = lines[first].text.startswith("try")  # no syntax without it
    return node


def _quoted(text: str, node: Node) -> Node:
    """A statement that may be a text between quotes, which are shown with any part of it."""
    for quotes, closes in _CLOSES.items():
        if text.startswith(quotes, node.start) and text.endswith(closes, node.start, node.end):
            node.head = min(node.start + len(quotes), node.end)
            node.tail = max(node.head, node.end - len(closes))
    return node


def _opener(lines: Sequence[_Line], first: int) -> int:
    """The line with which the block of a statement begins; -1 without one."""
    before = lines[first].under
    signed = bool(_SIGNED.match(lines[first].text))
    for place, line in enumerate(lines[first:], first):
        if line.opens and (line.level <= before or (not signed and line.opens in "([")):
            return place
        if place > first and line.indent > lines[first].indent and line.free(before):
            return place - 1 if signed else -1
    return -1
