"""Configuration: YAML, TOML, INI, .env and properties, by their indentation and sections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from ragsieve.structure.lines import Line, lines_of
from ragsieve.structure.tree import ALWAYS, DEEPEST, Node, leaf, over, stick, stripped

SMALLEST = 3  # entries of a text that is configuration
_WHOLE = 400  # characters of an entry with entries of its own that is not cut
_MARK = "# … {}"
_KEY = (
    r"(?:(?:[\w-][\w.-]{0,60}\.)?(?:\"[^\"\n]{1,80}\"|'[^'\n]{1,80}')(?:\.[\w.-]{1,40})?"
    r"|[\w$./@*+<>~-][\w$./@*+<>~\[\]{}-]{0,80}(?: [\w./-]+){0,2})"
)
_YAML = re.compile(rf"(?P<key>{_KEY})[ ]?:(?=\s|$)[ \t]*(?P<value>.*)")
_ITEMS = re.compile(r"(?:-(?:[ ]+|$))*")
_PAIR = re.compile(rf"(?:export )?(?P<key>{_KEY})[ \t]*[=:](?![=>])[ \t]*(?P<value>.*)")
_SECTION = re.compile(r"\[(?P<each>\[)?(?P<name>[^\[\]\n]{1,120})\]\]?[ \t]*(?:[#;].*)?$")
_COMMENT = re.compile(r"[#;!]|---[ \t]*(?:#.*)?$|\.\.\.[ \t]*$|%YAML")
_BLOCK = re.compile(r"(?:[&!]\S+[ \t]+)*[|>][-+\d]*[ \t]*(?:#.*)?$")
_HEADING = re.compile(r"#{1,6} ")
_FRONT = re.compile(r"---[ \t]*\r?\n((?:[^\n]*+\n){1,200}?)---[ \t]*(?:\r?\n|\Z)")
_BARE = re.compile(r"[\w$./@*+<>~\"'\[\]{}-]+$")


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The whole text where it is configuration, else its front matter; adds what is unread."""
    front = _FRONT.match(text)
    if root := _read(text, 0, len(text), [] if front else faults):
        yield root
    elif front:
        stop = len(front[0].rstrip())
        root = _read(text, front.start(1), front.end(1), faults, front=True)
        lines = [*_lines(text, front.start(1), front.end(1))]
        children = root.children if root else [leaf(a.start, a.end) for a in lines]
        yield Node(0, 3, stop - 3, stop, mark=_MARK, whole=_WHOLE, children=children)


def _read(
    text: str, start: int, end: int, faults: list[str], *, front: bool = False
) -> Node | None:
    """The entries of lines; None on the first line that is none."""
    least = 1 if front else SMALLEST
    lines = list(_lines(text, start, end))
    sections = sum(bool(_SECTION.match(line.text)) for line in lines[:200])
    reader = _Reader(text, pairs=bool(sections) or _mostly_pairs(lines))
    if len(lines) < least or _is_page(lines):
        return None
    stop = next((n for n, line in enumerate(lines) if not reader.add(line)), len(lines))
    if stop < len(lines) or reader.depth:
        nested = any(child.children for child in reader.root.children)
        if (sections or nested) and reader.keys >= SMALLEST and 2 * stop > len(lines):
            line = text.count("\n", 0, lines[min(stop, len(lines) - 1)].start) + 1
            why = "a bracket stays open" if reader.depth else f"line {line:,} is no entry"
            faults.append(f"configuration cannot be read ({why}): split as text")
        return None
    root = reader.root
    if len({*reader.names}) < len(reader.names):
        return None  # records below one another
    if reader.keys < least or 5 * reader.bare < 4 * reader.keys:
        return None
    if 4 * reader.keys < reader.entries and reader.bare < reader.keys:
        return None  # lists below headings of prose
    if not (front or reader.pairs or any(child.children for child in root.children)):
        return None  # lines of `name: value` are a record
    others = (n for n, one in enumerate(root.children) if n and text.startswith("---", one.start))
    if (first := next(others, 0)) > 1:  # the first of several documents
        root.children[:first] = [over(root.children[:first], mark=_MARK)]
    _finish(text, root, 0)
    root.whole = 0
    return root


def _lines(text: str, start: int, end: int) -> Iterator[Line]:
    for line in lines_of(text, start, end):
        if line.text:
            yield line._replace(end=stripped(text, line.start, line.end)[1])


def _is_page(lines: list[Line]) -> bool:
    """Whether headings of Markdown lead to lists, whose items are one entry each."""
    rules = [n for n, line in enumerate(lines) if line.text.startswith("---")]
    page = lines[rules[-1] + 1 if any(rules) else 0 :]  # behind front matter
    return any(
        _HEADING.match(one.text) and following.text.startswith("- ")
        for one, following in pairwise(page)
    ) and all(
        line.text.startswith(("- ", "#")) or (line.indent and not _YAML.match(line.text))
        for line in page
    )


def _mostly_pairs(lines: list[Line]) -> bool:
    """Whether lines are `key=value`."""
    first = [line.text for line in lines[:200] if not _COMMENT.match(line.text)]
    other = any(":" in one and "=" not in one.split(":")[0] for one in first)
    return not other and any("=" in one for one in first)


class _Reader:
    """Makes a tree of lines: an entry holds the entries that are indented below it."""

    def __init__(self, text: str, *, pairs: bool) -> None:
        self.text, self.pairs = text, pairs
        self.root = Node(-1, -1, -1, -1, mark=_MARK)
        self.stack: list[tuple[float, Node]] = [(-2, self.root)]
        self.arrays: list[str] = []  # TOML's arrays of tables in which the last section stands
        self.comment = -1  # where a comment begins that belongs to the entry below
        self.names: list[str] = []  # of the entries below none, but in TOML and its like
        self.entries = self.keys = self.bare = 0
        self.depth = 0  # brackets of a value that are still open
        self.quoted = ""  # what ends a value of several lines
        self.block = -1  # indentation of a key whose value is the lines below

    def add(self, line: Line) -> bool:
        """Read a line; False where it is no entry."""
        if self.root.start < 0:
            self.root.start = self.root.head = line.start
        self.root.tail = self.root.end = line.end
        if self.depth or self.quoted or (self.block >= 0 and line.indent > self.block):
            self._goes_on(line.text)
            self._extend(line.end)
            return True
        self.block = -1
        if _COMMENT.match(line.text):
            if self.entries and not self.pairs and line.text[0] == "-":
                self._push(-1, leaf(line.start, line.end))  # another document
                self.comment = -1
                return True
            self.comment = line.start if self.comment < 0 else self.comment
            return True
        if self.pairs and line.indent > self.stack[-1][0] >= 0 and self._continued(line):
            return True
        return self._entry(line)

    def _entry(self, line: Line) -> bool:
        if len(self.stack) > DEEPEST:
            self._extend(line.end)
            return True
        section = self.pairs and _SECTION.match(line.text)
        items = "" if self.pairs else _ITEMS.match(line.text)[0]  # type: ignore[index]
        rest = line.text[len(items) :]
        match = (_PAIR if self.pairs else _YAML).match(rest)
        if not (section or match or items):
            return self._continued(line)
        start = line.start if self.comment < 0 else self.comment
        self.comment = -1
        for place, sign in enumerate(items):
            if sign == "-":
                head = line.start + place + 1 if rest else line.end
                first = start if place == 0 else line.start + place
                self._push(line.indent + place + 0.5, Node(first, head, line.end, line.end))
        start = line.start + len(items) if items else start
        if match or section:
            level = self._level(**section.groupdict()) if section else line.indent + len(items)
            self._push(level, leaf(start, line.end))
            if match and not self.pairs and len(self.stack) == 2:
                self.names.append(match["key"])
            self.keys += 1
            self.bare += bool(section or (match and _BARE.match(match["key"])))
            self._value(match["value"] if match and not section else "", line.indent + len(items))
        elif rest:
            self._extend(line.end)
        return True

    def _level(self, name: str, each: str | None) -> float:
        """How deep a section is: `[a.b]` below the `[[a]]` before it."""
        while self.arrays and not name.startswith(f"{self.arrays[-1]}."):
            self.arrays.pop()
        level = len(self.arrays) / 100 - 1
        self.arrays += [name] * bool(each)
        return level

    def _push(self, level: float, node: Node) -> None:
        """An entry below those that are indented less."""
        while self.stack[-1][0] >= level:
            self.stack.pop()
        node.mark = _MARK
        self.stack[-1][1].children.append(node)
        self.stack.append((level, node))
        self.entries += 1

    def _continued(self, line: Line) -> bool:
        """A plain value that goes on below its key."""
        if len(self.stack) < 2 or line.indent <= max(self.stack[-1][0], 0):
            return False
        node = self.stack[-1][1]
        if node.children:
            return False
        self._extend(line.end)
        return True

    def _extend(self, end: int) -> None:
        node = self.stack[-1][1]
        node.head = node.tail = node.end = end
        self.comment = -1

    def _value(self, value: str, indent: int) -> None:
        """Whether a value goes on in the next lines."""
        if not self.pairs and _BLOCK.match(value):
            self.block = indent
        elif self.pairs and value.endswith("\\"):
            self.quoted = "\\"
        elif value[:3] in ('"""', "'''") and value.count(value[:3]) == 1:
            self.quoted = value[:3]
        elif value[:1] in ("[", "{"):
            self._goes_on(value)

    def _goes_on(self, line: str) -> None:
        if self.quoted == "\\":
            self.quoted = "\\" if line.endswith("\\") else ""
        elif self.quoted:
            self.quoted = "" if self.quoted in line else self.quoted
        elif self.block < 0:
            plain = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#.*", "", line)
            opened = sum(plain.count(one) for one in "[{") - sum(plain.count(one) for one in "]}")
            self.depth = max(0, self.depth + opened)


def _finish(text: str, node: Node, level: int) -> int:
    """Ends of entries, which are those of their last parts."""
    for child in node.children:
        node.end = max(node.end, _finish(text, child, level + 1))
    node.tail = node.end
    node.whole = _WHOLE if node.children else ALWAYS
    if level:
        stick(text, node.children)
    return node.end
