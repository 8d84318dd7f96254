"""Lines of source code: their family, and which strings, comments and brackets are open in each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ragsieve.structure.tree import line_spans, stripped

_SHARE = 0.4  # of its lines that look like code
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
_PROSE = re.compile(
    r"[*>]{0,3}[A-Z][\w’']*(?:[,.:;]? [\w’'(*)-]+)*[.?!:]\**$"
    r"|(?:\(?[a-zivx]{1,4}[.)]|\d[\d.]*) [\w’'(),.:; -]+$"  # a clause
)
_SQL = re.compile(
    r"SELECT\s|INSERT INTO|CREATE (?:TABLE|INDEX|VIEW|OR|FUNCTION|UNIQUE|TEMP)|ALTER TABLE|"
    r"UPDATE \w+ SET|DELETE FROM|WITH \w+ AS|DROP TABLE",
    re.IGNORECASE,
)
_SHEBANG = re.compile(r"#!.*\b(?:ba|da|k|z)?sh\b")
_SHELL = re.compile(
    r"(?:fi|done|esac|then|do)\b|\w+ ?\(\) ?\{?$|if \[|echo |export \w+=|\w+=\$?[\"'({]"
    r"|case .* in$|set -[eu]|\$\{?\w"
)
_PYTHON = re.compile(r"(?:async )?def \w+\(|class \w+\s*[(:]|from [\w.]+ import |import \w|self\.")
PREFIX = {
    "#": re.compile(r"#(?!!)|@"),
    "$": re.compile(r"#(?!!)"),
    "/": re.compile(r"//|/\*|\*[ /]|@|#\[|template ?<"),
    "-": re.compile("--"),
}
_TOKENS = {
    "#": re.compile(
        r'''"{3}|'{3}|"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|(?<![$\w{])#.*|[()\[\]{}"']'''
    ),
    "$": re.compile(
        r"\\.|(?<!<)<<-?\s*[\"'\\]?(\w+)[\"']?(?!<)|(?<![$\w{])#.*|\"|'|[()\[\]{}]"
    ),
    "/": re.compile(r'''/\*|//.*|`|"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|[()\[\]{}"']'''),
    "-": re.compile(r"/\*|--.*|'(?:''|[^'])*+'|[()\[\]{}]"),
}  # fmt: skip
_COMMENT = re.compile(r"(?:^|[;,{] *)/\*|(?<!/)\*/(?!\w)")  # where one begins or ends
CLOSES = {'"""': '"""', "'''": "'''", "/*": "*/", "`": "`"}
_QUOTES = {"'": re.compile("[^']*+'"), '"': re.compile(r'(?:[^"\\]|\\.)*+"')}  # of the shell
_BEGUN = re.compile(r"(?:^|[;&|(]\s*|\b(?:then|else|do|!)\s+)(?:if|case|while|until|for|select)\b")
_DONE = re.compile(r"(?:^|(?<=[;&|\s]))(?:fi|esac|done)\b(?=\s*(?:$|[;&|)<>]))")
_LEADS = re.compile(r"[)\]}]*|(?:fi|esac|done)\b")
_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|else|elif|endif)\b")
_SEMICOLONS = 0.5  # share of lines that end a statement by a sign, where signs end them


@dataclass(slots=True)
class Line:
    """A line that is not blank, and what is open around it."""

    start: int  # its first character that is not white space
    end: int
    indent: int
    text: str
    blank: bool  # whether a blank line stands above
    quoted: bool = False  # whether it begins in a string or a comment
    under: int = 0  # open round and square brackets where it begins
    opens: str = ""  # the colon or bracket with which it ends, where a block may begin
    level: int = 0  # the same at its end
    depth: int = 0  # blocks in which it stands, by their brackets, where these are even
    ended: bool = True  # whether a statement may begin behind it

    def free(self, level: int) -> bool:
        """Whether it may begin a statement of a block that has so many open brackets."""
        return not self.quoted and self.under <= level


def lines_of(text: str) -> Iterator[Line]:
    """The lines of a text that are not blank."""
    blank = False
    for start, end in line_spans(text):
        shown = text[start : min(end, start + _SHOWN)].expandtabs(4)
        if bare := shown.strip():
            first, last = stripped(text, start, end)
            yield Line(first, last, len(shown) - len(shown.lstrip()), bare, blank)
        blank = not bare


def family_of(lines: Sequence[Line]) -> str:
    """How comments begin in what the lines are written in, ``$`` for a shell; empty for no code."""
    if lines and _SHEBANG.match(lines[0].text):
        return "$"
    shown = [*_unquoted(lines[:400])]
    looked = [line.text for line in shown]
    if not looked:
        return ""

    def matching(pattern: re.Pattern[str], lines: Sequence[str] = looked) -> int:
        return sum(bool(pattern.match(line)) for line in lines)

    counts = {family: matching(pattern) for family, pattern in _FAMILIES.items()}
    first = next((one for one in looked if not one.startswith(("--", "/*", "*", "\\"))), "")
    if not _SQL.match(first) and matching(_SQL) < 2:
        counts["-"] = 0
    family = max(counts, key=counts.__getitem__)
    patterns = (_FAMILIES[family], _STRONG, PREFIX[family])
    like = sum(any(pattern.match(line) for pattern in patterns) for line in looked)
    prose = matching(_PROSE)
    margin = [line.text for line in shown if not line.indent]
    outer = matching(_PROSE, [line for line in margin if '"""' not in line])
    enough = counts[family] >= 2 and matching(_STRONG) >= 2 and like >= _SHARE * len(looked)
    plain = prose > 0.3 * len(looked) or (outer > 0.3 * len(margin) and prose == outer)
    if not enough or plain:
        return ""
    shell = matching(_SHELL) if family == "#" else 0
    return "$" if shell > 1 + matching(_PYTHON) else family


def _unquoted(lines: Sequence[Line]) -> Iterator[Line]:
    """Lines but for those inside a text between three quotes; items of a list begin with ``-``."""
    inside = False
    ends = [_COMMENT.findall(line.text) if "*" in line.text else [] for line in lines]
    comment = next(filter(None, ends), [""])[0] == "*/"
    for line, found in zip(lines, ends, strict=True):
        marks = line.text.count('"""') + line.text.count("'''")
        if not inside:
            item = line.text.startswith("* ") and not comment
            yield replace(line, text=f"-{line.text[1:]}") if item else line
        comment = found[-1] != "*/" if found else comment
        inside ^= marks % 2 == 1


def scanned(text: str, lines: Sequence[Line], family: str) -> tuple[list[Line], str, bool]:
    """The lines with what is open in them.

    Lines between conditions of a preprocessor that open or close a bracket are one line.

    Returns:
        The lines, what would close a text that is open at the end, and whether blocks are even, so
        that their brackets say where statements begin.
    """
    scan = _Scan(text, family)
    for line in lines:
        scan.read(line)
    if scan.closes and family == "$":
        return scanned(text, lines, "#")
    even = family in "/$" and scan.even and not scan.depth and not scan.conditions
    signs = sum(line.ended for line in scan.lines) >= _SEMICOLONS * len(scan.lines)
    for line in scan.lines:
        line.depth = line.depth if even else 0
        line.ended = line.ended or not (even and signs)
    return scan.lines, scan.closes, even


@dataclass(slots=True)
class _Scan:
    text: str
    family: str
    closes: str = ""  # what ends the string or comment at hand
    here: str = ""  # the line that ends the text at hand
    level: int = 0  # open round and square brackets
    depth: int = 0  # open blocks
    even: bool = True
    goes_on: bool = False  # whether a line ended with a backslash
    conditions: list[tuple[int, int, int, list[tuple[int, int]]]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def read(self, line: Line) -> None:
        """Add a line."""
        line.quoted, line.under = bool(self.closes or self.here or self.goes_on), self.level
        self.goes_on = line.text.endswith("\\") and self.family in "/$"
        self.lines.append(line)
        if self.here:
            self.here = "" if line.text == self.here else self.here
            line.level, line.depth, line.opens = self.level, self.depth, ""
            return
        leads = _LEADS.match(line.text)
        ends = 0 if line.quoted or not leads else leads[0].count("}") + (leads[0][:1] in "fed")
        line.depth = self.depth - (ends if leads and leads[0] else 0)
        last = self._signs(line)
        self.even = self.even and self.depth >= 0 and line.depth >= 0
        line.level = self.level
        word = line.text.rsplit(" ", 1)[-1] in ("do", "then", "in") and self.family in "#$"
        last = last[-1:] if not self.closes else ""
        line.opens = ":" if word else last if last and last in ":{([" else ""
        line.ended = not self.goes_on and (not last or last in ";{}:,)" or line.text[0] == "#")
        if self.family == "$":
            line.ended = not self.goes_on and last not in tuple("|&")
        condition = _CONDITION.match(line.text) if self.family == "/" and not line.quoted else None
        if condition:
            self._condition(line, condition[1])

    def _signs(self, line: Line) -> str:
        """The last sign of a line that is no comment."""
        at, last, bare = line.start, "", []
        tokens, triple = _TOKENS[self.family], '"""'
        while at < line.end:
            if self.closes:
                last = last if self.closes == "*/" else triple
                at = self._closed(at, line.end)
                continue
            match = tokens.search(self.text, at, line.end)
            code = self.text[at : match.start() if match else line.end].rstrip()
            bare.append(code)
            last = code[-1:] or last
            if not match:
                break
            at, sign = match.end(), match[0]
            if sign in CLOSES or (self.family == "$" and sign in _QUOTES):
                self.closes = CLOSES.get(sign, sign)
            elif self.family == "$" and match[1]:
                self.here, last = match[1], "x"
            elif sign in "()[]{}":
                self.level = max(0, self.level + (sign in "([") - (sign in ")]"))
                self.depth += (sign == "{") - (sign == "}")
                last = sign
                bare.append(sign)
            elif sign in ("'", '"'):  # it stays open, and so would each that follows in the line
                tokens = re.compile(tokens.pattern.replace(f"{sign}(?:", "(?!)(?:"))
                last = sign
            elif not sign.startswith(("#", "//", "--")):
                last = sign
        if self.family == "$":
            plain = "".join(bare).strip()
            self.depth += len(_BEGUN.findall(plain)) - len(_DONE.findall(plain))
        return last

    def _closed(self, at: int, end: int) -> int:
        """One past what ends the string or comment at hand; the end of the line without it."""
        if self.family == "$":
            found = _QUOTES[self.closes].match(self.text, at, end)
            stop = found.end() if found else -1
        else:
            stop = self.text.find(self.closes, at, end)
            stop += len(self.closes) if stop >= 0 else 0
        self.closes = self.closes if stop < 0 else ""
        return end if stop < 0 else stop

    def _condition(self, line: Line, word: str) -> None:
        """Conditions of a preprocessor are blocks, or one line where they open a bracket."""
        if word.startswith("if"):
            self.conditions.append((len(self.lines) - 1, self.depth, self.level, []))
            line.opens = "{"
            self.depth += 1
            return
        if not self.conditions:
            self.even = False
            return
        first, depth, level, ends = self.conditions[-1]
        ends.append((self.depth - 1, self.level))
        line.depth, line.under, line.level = depth, level, level
        if word != "endif":
            line.opens = "{"
            self.depth, self.level = depth + 1, level
            return
        self.conditions.pop()
        self.depth, self.level = ends[0]
        if any(end != (depth, level) for end in ends):
            one, inner = self.lines[first], self.lines[first + 1 : -1]
            opens = [other for other in inner if other.opens] if self.depth > depth else []
            one.text = opens[-1].text if opens else "}" if self.depth < depth else one.text
            one.opens, one.level, one.end = "{" * bool(opens), self.level, line.end
            one.depth = min(depth, self.depth)
            del self.lines[first + 1 :]
