"""Source code: functions, classes and statements, by indentation and brackets; long fences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragsieve.structure import entries
from ragsieve.structure.code_lines import CLOSES, PREFIX, Line, family_of, lines_of, scanned
from ragsieve.structure.tree import ALWAYS, DEEPEST, Node, leaf, line_spans, moved, over

_NO_CODE = ("```", "\n@@ -", "\nTraceback (most recent call last):")  # Markdown, a diff, a log
_FENCED = 1000  # characters of a fence that is not cut
_LEAST = 3  # lines of a text that is code
_CLASS = 400  # characters of a class that is not cut
_MERGED = 160  # characters of neighbouring statements that make one unit
_FENCE = re.compile(r"^[ \t]*((`{3,}|~{3,})([^`\n]*))$", re.MULTILINE)
_CLOSER = re.compile(r"[)\]}]+[;,)]*$|(?:fi|done|esac|end|END)\b;?$|;;$|#\s*endif\b")
_WORDS = re.compile(r"(?:fi|done|esac|end)\b;?$")
_GOES_ON = re.compile(
    r"(?:\}\s*)?(?:else|elif|elsif|except|finally|catch|rescue|fi|done|esac)\b|\{$|#\s*(?:else|elif|endif)\b|"
    r"[.?:&|+]{1,2}[ \w]|[)\]}]"
)
_SIGNED = re.compile(
    r"(?:\w+ )*(?:def|class|function|func|fn|if|for|while|with|switch|impl|struct|enum|"
    r"interface|trait|elif|else|case|#\s*if|#\s*el|try|except|match|namespace|void|int|public|private|static|protected)\b|"
    r".*\)\s*(?:\{|:)?$"
)
_HOLDS = re.compile(r"(?:\w+ )*(?:class|impl|namespace|interface|trait|module|mod)\b")
_APART = re.compile(r"#(?!\[)|(?!default|public|private|protected)\w+\s*:;?$")
_MARKS = {"#": "# …", "$": "# …", "/": "// …", "-": "-- …"}  # where statements are left out


class _Inside(NamedTuple):
    """The block in which statements stand."""

    family: str  # how comments begin
    even: bool  # whether brackets say where blocks end
    level: int = 0  # open round and square brackets
    depth: int = 0


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The whole text, where it is code; adds what is unread."""
    if any(one in text for one in _NO_CODE):
        return
    lines = list(lines_of(text))
    if len(lines) < _LEAST or not (family := family_of(lines)):
        return
    lines, closes, even = scanned(text, lines, family)
    if closes:
        faults.append(f"code cannot be read to its end ({closes} is missing): cut as one text")
    items = _items(text, lines, _Inside(family, even))
    if len(items) > 1 or items[0].children:
        yield over(items, whole=0, mark=_MARKS[family], merge=_MERGED, each=True)


def fences(text: str, others: Sequence[Node]) -> Iterator[Node]:
    """Fences that are too long for a unit, by their statements or entries, else by their lines.

    Those are left out in which other regions stand: of what is read, any but tables.
    """
    opened = None
    for match in _FENCE.finditer(text):
        if not opened:
            opened = match
        elif match[2].startswith(opened[2]) and not match[3].strip():
            start, end = opened.end() + 1, match.start()
            if end - start > _FENCED and text[start:end].strip():
                inside = text[start:end]
                found = [*regions(inside, [])] or [*entries.regions(inside, [])]
                apart = [one for one in others if one.kind != "table" or not found]
                if not any(start <= one.start < end for one in apart):
                    yield _fence(text, found, opened, match)
            opened = None


def _fence(text: str, found: Sequence[Node], opened: re.Match[str], closed: re.Match[str]) -> Node:
    start = opened.end() + 1
    inside = text[start : closed.start()]
    lines = (leaf(a, b) for a, b in line_spans(inside) if inside[a:b].strip())
    node = moved(found[0] if found else over([*lines], merge=_MERGED), start)
    node.start, node.head = opened.span(1)
    node.tail, node.end = closed.start(1), closed.end(2)
    node.whole, node.each, node.mark = 0, True, node.mark.removesuffix(" {}") or "…"
    return node


def _items(text: str, lines: Sequence[Line], inside: _Inside) -> list[Node]:
    """The statements of a block."""
    free = [line for line in lines if line.free(inside.level)]
    outer = min((line.depth for line in free), default=0)
    own = [line.indent for line in free if line.depth == outer and not _apart(line, inside)]
    base = min(own, default=0)
    begins = [0]
    prefixed = False
    for place, line in enumerate(lines):
        starts = line.free(inside.level) and line.depth <= outer
        starts = starts and (line.indent <= base or _apart(line, inside))
        starts = starts and (not place or lines[place - 1].ended or line.blank)
        if inside.family == "-" and place:
            starts = starts and (lines[place - 1].text.endswith((";", ",")) or prefixed)
        if starts and _GOES_ON.match(line.text):
            if prefixed and len(begins) > 1:
                begins.pop()  # a comment on the clause that begins here
            prefixed = False
        elif starts:
            if place and (not prefixed or line.blank):
                begins.append(place)
            prefixed = bool(PREFIX[inside.family].match(line.text))
    return [_item(text, lines[a:b], inside) for a, b in pairwise([*begins, len(lines)])]


def _apart(line: Line, inside: _Inside) -> bool:
    """Whether it is a directive of a preprocessor or a label, which no indentation has."""
    return inside.family == "/" and bool(_APART.match(line.text))


def _item(text: str, lines: Sequence[Line], inside: _Inside) -> Node:
    """A statement; with parts where it holds a block."""
    end = lines[-1].end
    node = leaf(lines[0].start, end, mark=_MARKS[inside.family], merge=_MERGED, each=True)
    prefix = PREFIX[inside.family]
    own = (n for n, one in enumerate(lines) if not one.quoted and not prefix.match(one.text))
    first = next(own, 0)
    opener = _opener(lines, first, braces=inside.family == "/")
    if opener < 0 or opener + 1 >= len(lines) or inside.depth >= DEEPEST:
        return _quoted(text, node)
    base, body = lines[first].indent, lines[opener + 1 :]
    bracket = lines[opener].opens != ":"
    closed = _closed(lines[first], body[-1], inside, bracket=bracket)
    if lines[opener].opens in "([" and not closed:
        return _quoted(text, node)
    if closed:
        node.tail, body = body[-1].start, body[:-1]
    node.tail = node.tail if body else end
    if not body:
        return node
    node.head = lines[opener].end
    node.whole = _CLASS if _HOLDS.match(lines[first].text) else ALWAYS
    if lines[opener].opens == ":" and inside.family == "#":
        node.mark = "...  # …"
    below = _Inside(inside.family, inside.even, lines[opener].level, inside.depth + 1)
    level = lines[opener].level
    outer = [one.depth <= lines[first].depth if inside.even else one.indent <= base for one in body]
    clause = next((n for n, one in enumerate(body) if outer[n] and one.free(level)), len(body))
    node.children = _items(text, body[:clause], below) if clause else []
    if body[clause:]:
        node.children.append(_item(text, body[clause:], below))
        node.children[-1].sticky = lines[first].text.startswith("try")  # no syntax without it
    return node


def _closed(first: Line, last: Line, inside: _Inside, *, bracket: bool) -> bool:
    """Whether the last line of a statement closes its block."""
    closes = bool((_CLOSER if bracket or inside.even else _WORDS).match(last.text))
    if inside.even:
        closes = closes or (last.text[0] in ")]}" and not last.opens)
        return closes and not last.quoted and last.depth <= first.depth
    return closes and not last.quoted and (bracket or last.indent <= first.indent)


def _quoted(text: str, node: Node) -> Node:
    """A statement that may be a text between quotes, which are shown with any part of it."""
    for quotes, closes in CLOSES.items():
        if text.startswith(quotes, node.start) and text.endswith(closes, node.start, node.end):
            node.head = min(node.start + len(quotes), node.end)
            node.tail = max(node.head, node.end - len(closes))
    return node


def _opener(lines: Sequence[Line], first: int, *, braces: bool) -> int:
    """The line with which the block of a statement begins; -1 without one."""
    before = lines[first].under
    signed = bool(_SIGNED.match(lines[first].text))
    for place, line in enumerate(lines[first:], first):
        inner = (braces and line.opens == "{") or (not signed and line.opens in "([")
        if line.opens and (line.level <= before or inner):
            return place
        if place > first and line.indent > lines[first].indent and line.free(before):
            return place - 1 if signed else -1
    return -1
