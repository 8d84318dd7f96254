"""A structured text as a tree: what is a unit, what goes with it, and what is shown of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragsieve.types import Span

ALWAYS = 10**9  # characters: a node that is whole wherever a segment may be that long
MERGED = 250  # characters of neighbouring scalars that make one unit
DEEPEST = 40  # levels that have nodes of their own
ELEMENTS = ("tags", "xml", "items", "grid", "group", "cells", "inline")  # nodes with tags
TABLES = ("table", "grid", "group", "cells")  # whose parts are rows or cells
ROWSPAN = re.compile(r"(\browspan\s*=\s*[\"']?)([1-9]\d{0,4})", re.IGNORECASE)
JSON = ("array", "object", "rows")
CODE = ("# …", "// …", "-- …")  # marks of what is left out of code: its trees are known by them
_GOES_ON = re.compile(r"[|│][ ]*[|│]|[,;&]|(?<=\t)")  # behind a first cell that is blank
_SECTION = re.compile(r"[|│][^|│\n]*\w[^|│\n]*(?:[|│][ ]*){2,}")
COMMANDS = r"(?:\s*\\[A-Za-z]+\*?(?:\{(?:[^{}]|\{[^{}]*\})*\}|\[[^]]*\]|\([^)]*\))*)+\s*$"  # of TeX
KEY = re.compile(
    r"""(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|'([^'\\]*+(?:\\.[^'\\]*+)*+)'|(?<!["']):?([A-Za-z_$][\w$]*+))"""
    r"""\s*+(?::|=>?)\s*+"""
)

_T = TypeVar("_T")


@dataclass(slots=True)
class Node:
    """A span of a text that holds others.

    Args:
        start: First character that is not white space.
        head: One past what is shown with every part: a key, a bracket, a header, a signature.
        tail: First character of what closes it; ``end`` where nothing does.
        end: One past the last character that is not white space.
        kind: How parts are put together: ``lines``, ``table``; ``array``, ``object``, ``rows`` of
            JSON; one of `ELEMENTS`, of which a ``group`` is rows below one whose cells reach them.
        whole: Up to so many characters it is not cut.
        mark: What stands where parts are left out, with ``{}`` for "2 of 8".
        merge: Characters of neighbouring leaves that make one unit.
        each: Whether every gap has its mark, or one at the end counts.
        sticky: Whether it is shown with whatever is kept beside it.
        children: Its parts in order.
    """

    start: int
    head: int
    tail: int
    end: int
    kind: str = "lines"
    whole: int = ALWAYS
    mark: str = ""
    merge: int = 0
    each: bool = False
    sticky: bool = False
    children: list[Node] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Its characters."""
        return self.end - self.start

    @property
    def is_row(self) -> bool:
        """Whether it is a row of HTML that is not cut, however many cells it has."""
        return self.kind == "cells" and self.size <= self.whole

    @property
    def ends_early(self) -> bool:
        """Whether it is a container of JSON without its end: what could be read of it is there."""
        return self.kind in ("array", "object") and self.tail == self.end


def leaf(start: int, end: int, **options: Any) -> Node:
    """A part without parts."""
    return Node(start, end, end, end, **options)


def over(children: list[Node], **options: Any) -> Node:
    """A node that is nothing but its parts."""
    start, end = children[0].start, children[-1].end
    return Node(start, start, end, end, children=children, **options)


def grouped(text: str, rows: Iterable[Node], mark: str) -> list[Node]:
    """Rows of a table, those with a blank first cell as parts of the one above that has it.

    Where the first row and another have nothing but a first cell, they head the others.
    """
    groups: list[Node] = []
    for row in rows:
        named = groups and not _GOES_ON.match(text, groups[-1].start)
        if named and _GOES_ON.match(text, row.start):
            groups[-1].children.append(row)
            groups[-1].tail = groups[-1].end = row.end
        else:
            groups.append(row)
    heads = (bool(_SECTION.fullmatch(text, group.start, group.end)) for group in groups)
    return sections([*zip(groups, heads, strict=True)], mark)


def sections(rows: Sequence[tuple[Node, bool]], mark: str) -> list[Node]:
    """Rows as parts of the one above that heads them, if the first one and another do."""
    if not rows or not rows[0][1] or sum(heads for _, heads in rows) < 2:
        return [row for row, _ in rows]
    known: list[Node] = []
    for row, heads in rows:
        if heads:
            known.append(row)
            row.whole, row.mark = 0, mark
        else:
            known[-1].children.append(row)
            known[-1].tail = known[-1].end = row.end
    return known


def stripped(text: str, start: int, end: int) -> Span:
    """A span, which is not all white space, without that around it."""
    inner = text[start:end]
    return end - len(inner.lstrip()), start + len(inner.rstrip())


def within(nodes: Sequence[Node], start: int, end: int) -> Sequence[Node]:
    """Those of nodes side by side of which a span has something."""
    first = bisect_right(nodes, start, key=lambda one: one.end)
    return nodes[first : bisect_left(nodes, end, first, key=lambda one: one.start)]


def places(spans: Sequence[Span], start: int, end: int) -> range:
    """Places of those of spans side by side of which another one has something."""
    first = bisect_right(spans, start, key=lambda one: one[1])
    return range(first, bisect_left(spans, end, first, key=lambda one: one[0]))


def in_runs(items: Iterable[_T], joins: Callable[[_T, _T], bool]) -> list[list[_T]]:
    """Items in runs, in which each joins the one before it."""
    found: list[list[_T]] = []
    for item in items:
        if found and joins(found[-1][-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def merged(spans: Iterable[Span], between: Callable[[int, int], str]) -> list[Span]:
    """Spans in order, those as one between which stands nothing but white space."""
    one: list[Span] = []
    for start, end in sorted(spans):
        if one and not between(one[-1][1], start).strip():
            one[-1] = one[-1][0], max(end, one[-1][1])
        else:
            one.append((start, end))
    return one


def line_spans(text: str, first: int = 0, last: int | None = None) -> Iterator[Span]:
    """Start and end of each line between two places, without its line break."""
    last = len(text) if last is None else last
    while first < last:
        stop = text.find("\n", first, last)
        stop = last if stop < 0 else stop
        yield first, stop - (stop > first and text[stop - 1] == "\r")
        first = stop + 1
