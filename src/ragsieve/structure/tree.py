"""A structured text as a tree: what is a unit, what goes with it, and what is shown of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragsieve.types import USUAL, Layout, Listed, Span

ALWAYS = 10**9  # characters: a node that is whole wherever a segment may be that long
MERGED = 250  # characters of neighbouring scalars that make one unit
DEEPEST = 40  # levels that have nodes of their own
ELEMENTS = ("tags", "xml", "items", "grid", "group", "cells", "inline")  # nodes with tags
TABLES = ("table", "grid", "group", "cells")  # whose parts are rows or cells
ROWSPAN = re.compile(r"(\browspan\s*=\s*[\"']?)([1-9]\d{0,4})", re.IGNORECASE)
JSON = ("array", "object", "rows")
_GOES_ON = re.compile(r"[|│][ ]*[|│]|[,;&]|(?<=\t)")  # behind a first cell that is blank
_SECTION = re.compile(r"[|│][^|│\n]*\w[^|│\n]*(?:[|│][ ]*){2,}")
_PADDING = re.compile(r"([^\w\s]|_)\1{3,}|[ ]+(?= [|│┃║])")  # of a table's head
COMMANDS = r"(?:\s*\\[A-Za-z]+\*?(?:\{(?:[^{}]|\{[^{}]*\})*\}|\[[^]]*\]|\([^)]*\))*)+\s*$"  # of TeX
_COMMANDED = re.compile(rf"^{COMMANDS}\n?", re.MULTILINE)
_BREAK = re.compile(r"\s*[\r\n]\s*")
KEY = re.compile(
    r"""(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|'([^'\\]*+(?:\\.[^'\\]*+)*+)'|(?<!["']):?([A-Za-z_$][\w$]*+))"""
    r"""\s*+(?::|=>?)\s*+"""
)


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


class Kept:
    """What is kept of a text, as merged spans, and how it is shown."""

    def __init__(self, text: str, spans: Iterable[Span], layout: Layout = USUAL) -> None:
        self.layout = layout
        self.numbers: Callable[[int, int], str] = lambda *_: ""  # of lines between places
        self.compact: Callable[[str, Node, Kept], tuple[str, list[Span]] | None] | None = None
        self.compacted: list[tuple[Node, list[Span]]] = []  # with the cells of each
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(spans):
            if self.ends and not text[self.ends[-1] : start].strip():
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def whole(self, start: int, end: int) -> bool:
        """Whether all of it is kept."""
        place = bisect_right(self.starts, start) - 1
        return place >= 0 and self.ends[place] >= end

    def rows(self, listed: Listed) -> int:
        """How many of some rows have something that is kept."""
        return sum(next(self.within(*row), None) is not None for row in listed.rows)

    def said(self, node: Node, parts: int) -> str:
        """What the mark of a node says of which so many parts are shown."""
        inside = node.children
        for one in self.layout.lists:
            if (inside[0].start, inside[-1].end) == (one.rows[0][0], one.rows[-1][1]):
                return one.shown(self.rows(one))
        return f"{parts} of {len(inside)} shown"

    def within(self, start: int, end: int) -> Iterator[Span]:
        """The kept parts of it."""
        place = max(0, bisect_right(self.starts, start) - 1)
        while place < len(self.starts) and self.starts[place] < end:
            if self.ends[place] > start:
                yield max(start, self.starts[place]), min(end, self.ends[place])
            place += 1


def shown(text: str, node: Node, kept: Kept) -> str:
    """What is shown of a node: its kept parts, each below the heads that lead to it.

    Or its rows with their heads once, where ``kept.compact`` makes a shorter text of them.
    """
    usual = _shown(text, node, kept)
    if kept.compact and (found := kept.compact(text, node, kept)) and len(found[0]) < len(usual):
        kept.compacted.append((node, found[1]))
        return found[0]
    return usual


def _shown(text: str, node: Node, kept: Kept) -> str:
    if kept.layout.json_as == "paths" and node.kind in JSON and not node.ends_early:
        return "\n".join(_paths(text, node, kept, ""))
    beside = not _hit(node, kept) and not any(child.sticky for child in node.children)
    if beside or (kept.whole(node.start, node.end) and not (kept.compact and node.children)):
        return text[node.start : node.end]
    if not node.children:
        return _cut_leaf(text, node, kept)
    chosen = _chosen(node, kept)
    if node.kind in ("lines", "table"):
        return _lines(text, node, kept, chosen)
    return (_tags if node.kind in ELEMENTS else _json)(text, node, kept, chosen)


def _chosen(node: Node, kept: Kept) -> list[int]:
    """The places of the parts that are shown: what is kept, and what is shown with it."""
    stay = [n for n, one in enumerate(node.children) if one.sticky]
    if kept.layout.is_short:  # of a record its name, where it has no key
        named = node.kind == "object" and (stay[:1] != [0] or node.head - node.start > 1)
        stay = [] if named else stay[:1]
    return sorted({*stay, *(n for n, one in enumerate(node.children) if _reached(one, kept))})


def _reached(node: Node, kept: Kept) -> bool:
    """Whether something of it is kept beside the heads of what follows it."""
    inside = node.children
    return _hit(node, kept) and (
        not inside or inside[-1].sticky or any(_reached(child, kept) for child in inside)
    )


def _hit(node: Node, kept: Kept) -> bool:
    return next(kept.within(node.start, node.end), None) is not None


def _cut_leaf(text: str, node: Node, kept: Kept) -> str:
    shown, last, mark = text[node.start : node.head], node.head, kept.layout.mark
    for start, end in kept.within(node.head, node.tail):
        inside = text[last:start]
        space = "\n" if inside.endswith("\n") else " "
        shown += inside if not inside.strip() else space * (last > node.head) + mark + space
        shown += text[start:end]
        last = end
    shown += f" {mark}" if text[last : node.tail].strip() else ""
    return shown + text[node.tail : node.end]


def _indent(text: str, start: int) -> str:
    before = text[max(text.rfind("\n", max(0, start - 500), start) + 1, start - 500, 0) : start]
    if not before.strip():
        return before
    return "" if before.strip(" -") else " " * len(before)  # below the dash of a list


def _lines(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    out, last, mark = text[node.start : node.head], -1, kept.layout.of(node.mark)
    if node.kind == "table" and not kept.whole(node.start, node.head):
        out = _PADDING.sub(lambda run: (run[1] or "") * 3, out)
        out = _COMMANDED.sub("", out) if kept.layout.is_short else out
    end = node.head
    for place in chosen:
        child = node.children[place]
        indent = _indent(text, child.start)
        if place == last + 1:
            out += text[end : child.start]
        else:
            left = _indent(text, node.children[last + 1].start)
            said = mark + kept.numbers(end, child.start)
            out += f"\n{left}{said}\n{indent}" if node.each else f"\n{indent}"
        out += shown(text, child, kept)
        last, end = place, child.end
    fewer = len(chosen) < len(node.children) and not out.endswith(kept.layout.mark)
    if fewer and mark and (not node.each or node.children[last + 1 :]):
        indent = _indent(text, node.children[last + 1 if node.each else -1].start)
        out += f"\n{indent}" + mark.format(kept.said(node, len(chosen)))
        out += kept.numbers(end, node.tail) * node.each
    if node.tail < node.end:
        gap = text[end : node.tail]
        out += gap if not gap.strip() else "\n" + _indent(text, node.tail)
        out += text[node.tail : node.end]
    return out if node.head > node.start else out.lstrip("\n")


def _tags(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    """Elements inside their tags; of what stands between them only the white space."""
    out, last, end = text[node.start : node.head], -1, node.head
    if node.kind == "group":
        rows = _rows(text, node, kept)
        out = ROWSPAN.sub(lambda cell: f"{cell[1]}{sum(rows[: int(cell[2])])}", out)
    mark, places = kept.layout.of(node.mark), {*chosen}
    for place, child in enumerate(node.children):
        if place not in places:
            if node.kind == "cells":
                out += text[child.start : child.head] + kept.layout.mark
                out += text[child.tail : child.end]
            continue
        gap = text[end : child.start]
        line = f"\n{_indent(text, child.start)}" if "\n" in gap and out else ""
        line = " " * (out[-1:] not in ("", " ")) if node.kind == "inline" else line
        if place != last + 1 and node.each and not out.endswith(mark):
            out += line + mark
            line = " " if node.kind == "inline" else line or "\n"
        part = shown(text, child, kept)
        if node.each and out.endswith(mark):
            part = part.removeprefix(mark).lstrip()
        out += (gap if place == last + 1 and not gap.strip() and out else line) + part
        last, end = place, child.end
    left = len(chosen) < len(node.children) and node.kind != "cells"
    if left and not node.each:
        out += "\n" + mark.format(kept.said(node, len(chosen)))
    elif left and node.children[last + 1 :] and not out.endswith(mark):
        out += (" " if node.kind == "inline" else "\n") + mark
    gap = text[end : node.tail] if node.tail < node.end else ""
    out += gap if not gap.strip() else "\n" * ("\n" in gap and node.kind != "inline")
    return out + text[node.tail : node.end]


def _rows(text: str, node: Node, kept: Kept) -> list[bool]:
    """Whether each row of a group, the first of which heads the others, is shown."""
    inside = node.children if node.kind == "group" else []
    head = text[node.start : node.head if inside else node.end].lower()
    below = (row for child in inside for row in _rows(text, child, kept))
    return [*[_reached(node, kept)] * head.count("<tr"), *below]


def _json(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    children = node.children
    out, last, end = text[node.start : node.head], -1, node.head
    comma = "" if node.kind == "rows" else ","
    for place in chosen:
        child = children[place]
        if place == last + 1:
            out += text[end : child.start]
        else:
            out += comma + _space(text, child.start) if last >= 0 else text[end : children[0].start]
        out += shown(text, child, kept)
        last, end = place, child.end
    if len(chosen) < len(children):
        said = kept.said(node, len(chosen)).replace("\\", "/").replace('"', "'")
        braced = node.kind == "object" and text[node.head - 1] == "{"
        mark = kept.layout.of('"…": "{}"' if braced else '"… {}"').format(said)
        out += (comma if chosen else "") + (_space(text, children[-1].start) or " ") + mark
    if node.ends_early:
        return out + {"[": "]", "(": ")"}.get(text[node.head - 1], "}")
    return out + _space(text, node.tail) + text[node.tail : node.end]


def _paths(text: str, node: Node, kept: Kept, path: str) -> Iterator[str]:
    """A line ``path: value`` for each value that is shown of JSON."""
    key = KEY.match(text, node.start) if path and node.start < node.head else None
    nested = any(child.kind in JSON for child in node.children)
    chosen = _chosen(node, kept)
    if not node.children or (node.kind == "array" and not nested):
        value = text[node.start : node.end]
        if not (kept.whole(node.start, node.end) or node.sticky):
            value = _json(text, node, kept, chosen) if chosen else _cut_leaf(text, node, kept)
        value = value[len(key[0]) :] if key else value
        yield f"{path}: {_BREAK.sub(' ', value)}".removeprefix(": ")
        return
    for place in chosen:
        child = node.children[place]
        name = KEY.match(text, child.start) if node.kind == "object" else None
        own = name[name.lastindex or 0] if name else ""
        step = "." * bool(path) + own if own.isidentifier() else f'["{own}"]'
        step = step if name else f"[{place}]"
        yield from _paths(text, child, kept, path + step)
    if len(chosen) < len(node.children) and not (path and kept.layout.is_short):
        mark = kept.layout.of("… {}").format(kept.said(node, len(chosen)))
        yield f"{path}: {mark}".removeprefix(": ")


def _space(text: str, start: int) -> str:
    """The white space before a place."""
    first = start
    while first and text[first - 1] in " \t\r\n":
        first -= 1
    return text[first:start]


def line_spans(text: str, first: int = 0, last: int | None = None) -> Iterator[Span]:
    """Start and end of each line between two places, without its line break."""
    last = len(text) if last is None else last
    while first < last:
        stop = text.find("\n", first, last)
        stop = last if stop < 0 else stop
        yield first, stop - (stop > first and text[stop - 1] == "\r")
        first = stop + 1
