"""Configuration and code: entries and statements below their heads, by indentation and brackets.

A line that opens a block, by a bracket or a colon at its end or by a section's name, heads what is
indented below it or stands in its bracket; a closing bracket, or a word alone behind what is
indented, ends it. A text is read so where every line is an entry, or where its lines look like
statements and few like prose.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ragsieve.structure.beside import name_first
from ragsieve.structure.entry_lines import COMMENT, RULE, SECTION, YAML, EntryLines, Line
from ragsieve.structure.tree import ALWAYS, CODE, DEEPEST, Node, leaf, line_spans, over, stripped

_NO_CODE = ("```", "\n@@ -", "\nTraceback (most recent call last):")  # Markdown, a diff, a log
_LEAST = 3  # lines or entries of a text that is read so
_HOLDER = 400  # characters of what holds blocks or entries that is not cut
_MERGED = 160  # characters of neighbouring statements that make one unit
_SHOWN = 500  # characters of a line that are looked at
_LIKE, _PROSAIC = 0.4, 0.3  # shares of lines that look like code, at least, and like prose, at most
_FRONT = re.compile(r"---[ \t]*\r?\n((?:[^\n]*+\n){1,200}?)---[ \t]*(?:\r?\n|\Z)")
_STATEMENT = re.compile(
    r".*(?:[;{}\[(]|\)?:|[)\]}'\"],|\)|=)(?:\s*(?:#|//).*)?$|.* (?:[-+*/|&:]?=|=>|->|<-|&&|\|\|) |"
    r"\w+(?:\.\w+)*\(|[@})\]]|#!|#\w|(?:import|from|package|use|return|def|class|func|fn)\b.*[^.]$"
)
_PROSE = re.compile(
    r"[*>]{0,3}[A-Z][\w’']*(?:[,.:;]? [\w’'(*)-]+)*[.?!:]\**$"
    r"|(?:\(?[a-zivx]{1,4}[.)]|\d[\d.]*|[-*•]) [\w’'(),.:;/ -]+$"  # a clause, an item
)
_HEADING = re.compile(r"#{1,6} ")
_CAPITALS = re.compile(r"[A-Z]{2,}\b")
_PREFIX = re.compile(r"#(?![!\w])|#\[|//|/\*|\*[ /]|--|@|;|!|template ?<")  # goes with what follows
_CLAUSE = re.compile(r"\}?\s*(?:else|elif|elsif|except|catch|finally|rescue)\b|\{$|[)\]}]")
_CLOSER = re.compile(r"[a-z]{2,8};?$|#\s*endif\b")
_CLOSES = {'"""': '"""', "'''": "'''", "/*": "*/", "`": "`"}
_TOKENS = {  # strings, comments and brackets, by how comments begin
    "#": re.compile(
        r""""{3}|'{3}|"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|(?<![$\w{])#.*|\\.|[()\[\]{}]"""
    ),
    "/": re.compile(r"""/\*|//.*|`|"(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|[()\[\]{}]"""),
    "-": re.compile(r"/\*|--.*|'(?:''|[^'])*+'|[()\[\]{}]"),
}
_BARE = re.compile(r"[\w$./@*+<>~\"'\[\]{}-]+$")


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The whole text where it is configuration or code, else its front matter; adds the unread."""
    front = _FRONT.match(text)
    lines = [*_lines(text)]
    if root := _entries(text, lines, [] if front else faults) or _code(text, lines, faults):
        yield root
    elif front:
        inside = [line for line in lines if 0 < line.start < front.end(1)]
        root = _entries(text, inside, faults, least=1)
        stop = len(front[0].rstrip())
        children = root.children if root else [leaf(one.start, one.end) for one in inside]
        yield Node(0, 3, stop - 3, stop, mark="# … {}", whole=_HOLDER, children=children)


def _lines(text: str) -> Iterator[Line]:
    blank = False
    for start, end in line_spans(text):
        shown = text[start : min(end, start + _SHOWN)].expandtabs(4)
        if bare := shown.strip():
            yield Line(*stripped(text, start, end), len(shown) - len(shown.lstrip()), bare, blank)
        blank = not bare


def _code(text: str, lines: Sequence[Line], faults: list[str]) -> Node | None:
    """The statements of a text that is code."""
    if len(lines) < _LEAST or any(mark in text for mark in _NO_CODE):
        return None
    looked = [line.text for line in lines[:400]]
    braces = sum(one[-1] in ";{}" or one.startswith(("//", "/*", "* ")) for one in looked)
    hashes = sum(one[-1] == ":" or one.startswith(("# ", "#!")) for one in looked)
    dashes = sum(bool(_CAPITALS.match(one)) or one.startswith("--") for one in looked)
    marks = dict(zip("#/-", CODE, strict=True))
    family = "-" if 3 * dashes > len(looked) else "/" if braces > hashes else "#"
    closes = _scan(text, lines, _TOKENS[family])
    shown = [line.text for line in lines[:400] if not line.quoted]
    own = [one for one in shown if not _PREFIX.match(one) or one[0] == "@"] or [""]
    like = sum(bool(_STATEMENT.match(one)) for one in own)
    prose = sum(bool(_PROSE.match(one)) for one in own)
    if like < max(2, _LIKE * len(own)) or prose > _PROSAIC * len(own):
        return None
    if closes:
        faults.append(f"code cannot be read to its end ({closes} is missing): cut as one text")
    items = _items(text, lines, 0, marks[family])
    ended = sum(one[-1] == ";" for one in shown)
    if any(item.children for item in items) or 5 * ended > len(shown):
        return over(items, whole=0, mark=marks[family], merge=_MERGED, each=True)
    return None


def _scan(text: str, lines: Sequence[Line], tokens: re.Pattern[str]) -> str:
    """Find the brackets and strings that are open in each line; what would close the last one."""
    closes, level = "", 0
    for line in lines:
        line.quoted, line.before, line.low = bool(closes), level, level
        at, last = line.start, ""
        while at < line.end:
            if closes:
                found = text.find(closes, at, line.end)
                at = line.end if found < 0 else found + len(closes)
                closes, last = (closes, last) if found < 0 else ("", "x")
                continue
            match = tokens.search(text, at, line.end)
            code = text[at : match.start() if match else line.end].rstrip()
            last = code[-1:] or last
            if not match:
                break
            at, sign = match.end(), match[0]
            closes = _CLOSES.get(sign, "")
            if sign in "()[]{}":
                level = max(0, level + (1 if sign in "([{" else -1))
                line.low = min(line.low, level)
            last = sign if sign[0] not in "#-/" or closes else last
        line.after = level
        line.opens = last if last in (*":{([",) and not closes else ""
    return closes


def _items(text: str, lines: Sequence[Line], level: int, mark: str, depth: int = 0) -> list[Node]:
    """The statements or entries of a block in so many brackets, each with what it heads."""
    free = [line.indent for line in lines if not line.quoted and line.before <= level]
    base = min(free, default=0)
    begins, prefixed = [0], False
    for n, (above, line) in enumerate(pairwise(lines), 1):
        begin = not line.quoted and line.before <= level and line.indent <= base
        clause = _CLAUSE.match(line.text) and (not prefixed or line.text[0] in ")]}")
        below = above.indent > line.indent
        closer = _CLOSER.match(line.text) and below and lines[begins[-1]].opens != ":"
        if begin and not clause and not closer and (not prefixed or line.blank):
            begins.append(n)
        if begin:
            prefixed = bool(_PREFIX.match(line.text)) and not RULE.match(line.text)
    runs = [lines[a:b] for a, b in pairwise([*begins, len(lines)])]
    headless = runs.pop(0) if len(runs) > 1 and lines[0].indent > base else []
    nodes = _items(text, headless, level, mark, depth) if headless else []
    if headless and RULE.match(runs[0][0].text):  # the first of several documents
        nodes = [over(nodes, mark=mark, whole=_HOLDER)]
        name_first(nodes[0].children)
    return nodes + [_item(text, run, level, mark, depth) for run in runs]


def _item(text: str, lines: Sequence[Line], level: int, mark: str, depth: int) -> Node:
    """A statement or entry, with parts where it heads a block."""
    node = leaf(lines[0].start, lines[-1].end, mark=mark, each="{}" not in mark)
    node.merge = _MERGED * node.each
    own = (n for n, one in enumerate(lines) if not one.quoted and not _PREFIX.match(one.text))
    first = next(own, 0)
    opener, closed = _block(lines, first, level)
    if opener < 0 or opener + 1 >= len(lines) or depth >= DEEPEST:
        return _in_quotes(text, node)
    node.head = lines[opener].end
    body = lines[opener + 1 :]
    if closed:
        node.tail, body = body[-1].start, body[:-1]
    if not body:
        return node
    inner = level if lines[opener].opens in ("", ":") else lines[opener].after
    base = lines[first].indent
    clauses = (n for n, one in enumerate(body) if one.low <= level and one.indent <= base)
    clause = next((n for n in clauses if not body[n].quoted), len(body))
    node.children = _items(text, body[:clause], inner, mark, depth + 1) if clause else []
    if body[clause:]:
        node.children.append(_item(text, body[clause:], level, mark, depth + 1))
        node.children[-1].sticky = lines[first].text.startswith("try")  # no syntax without it
    if not node.each and text.startswith(("-", "[["), node.start):  # a record of a list
        name_first(node.children)
    holds = sum(child.size for child in node.children if child.children)
    node.whole = _HOLDER if 2 * holds > node.size or not node.each else ALWAYS
    if node.each and mark[0] == "#" and lines[opener].opens == ":":
        node.mark = f"...  {mark}"
    return node


def _block(lines: Sequence[Line], first: int, level: int) -> tuple[int, bool]:
    """The line that opens a statement's block, -1 without one; whether the last line closes it."""
    last = lines[-1]
    closes = len(lines) > first + 1 and not last.quoted and last.low <= level < last.before
    closes = closes and last.text[0] in ")]}" and last.after <= level
    for n, line in enumerate(lines[first:], first):
        opens = line.opens in ("{", "(", "[") and line.after > level
        follows = lines[n + 1 :]
        if opens and line.opens != "{" and follows:  # a signature over lines opens the block
            ends = next((m for m, one in enumerate(follows, n + 1) if one.low <= level), n)
            if ends > n and lines[ends].opens in ("{", ":") and lines[ends].text[0] in ")]":
                continue
            if ends < n + 1 or not closes:
                return -1, False
        if opens or (line.opens == ":" and line.after <= level):
            return n, opens and closes
    word = len(lines) > first + 2 and last.indent <= lines[first].indent
    word = word and bool(_CLOSER.match(last.text))
    return (first, True) if word and lines[first + 1].indent > lines[first].indent else (-1, False)


def _in_quotes(text: str, node: Node) -> Node:
    """A statement that may be a text between quotes, which are shown with any part of it."""
    for quotes, closes in _CLOSES.items():
        if text.startswith(quotes, node.start) and text.endswith(closes, node.start, node.end):
            node.head = min(node.start + len(quotes), node.end)
            node.tail = max(node.head, node.end - len(closes))
    return node


def _entries(
    text: str, lines: Sequence[Line], faults: list[str], least: int = _LEAST
) -> Node | None:
    """The entries of a text, every line of which is one, a part of one, a section or a comment."""
    looked = [line.text for line in lines[:200] if not COMMENT.match(line.text)]
    sections = sum(bool(SECTION.match(one)) for one in looked)
    colons = any(":" in one and "=" not in one.split(":")[0] for one in looked)
    pairs = bool(sections) or (not colons and any("=" in one for one in looked))
    if len(lines) < least or _is_page(lines):
        return None
    read = EntryLines(pairs)
    stop = next((n for n, line in enumerate(lines) if not read.add(line)), len(lines))
    names = [key for key in read.names if key]
    if stop < len(lines) or read.depth:
        if len(read.names) >= _LEAST and 2 * stop > len(lines) and (sections or read.nested):
            line = text.count("\n", 0, lines[min(stop, len(lines) - 1)].start) + 1
            why = "a bracket stays open" if read.depth else f"line {line:,} is no entry"
            faults.append(f"configuration cannot be read ({why}): split as text")
        return None
    bare = sum(bool(_BARE.match(name)) for name in names) + sections
    keys = len(names) + sections
    outer = [name for name in read.outer if name]
    records = not pairs and len({*outer}) < len(outer)
    lists = 4 * keys < keys + read.dashes and bare < keys
    if keys < least or 5 * bare < 4 * keys or records or lists:
        return None
    children = _items(text, read.lines, 0, "# … {}")
    if least > 1 and not pairs and not any(child.children for child in children):
        return None  # lines of `name: value` are a record
    return over(children, whole=0, mark="# … {}")


def _is_page(lines: Sequence[Line]) -> bool:
    """Whether headings of Markdown lead to lists, whose items are one entry each."""
    rules = [n for n, line in enumerate(lines) if RULE.match(line.text)]
    lines = lines[rules[-1] + 1 if any(rules) else 0 :]  # behind front matter
    leads = (_HEADING.match(a.text) and b.text.startswith("- ") for a, b in pairwise(lines))
    parts = (line for line in lines if not line.text.startswith(("- ", "#")))
    return any(leads) and all(line.indent and not YAML.match(line.text) for line in parts)
