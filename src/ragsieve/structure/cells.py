"""Runs of like rows as tables, whatever their layout: their columns, and the cells of each row.

Rows are those of tables, objects of a list, elements of one name, records of fields, and lines of
one template, as those of a log; there a column has the name of the word before it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import cycle, pairwise
from typing import TypeVar

from ragsieve.structure import outline
from ragsieve.structure.columns import cells as said
from ragsieve.structure.elements import TAG
from ragsieve.structure.linearize import columns_of, in_tags, row_begin
from ragsieve.structure.row_lines import line_runs
from ragsieve.structure.templates import LEAST, Cell, Cells, lined
from ragsieve.structure.tree import JSON, KEY, Node, stripped
from ragsieve.structure.values import Moment, Number, holds, moment, number, unit_of, year
from ragsieve.types import Span

_TYPED = 0.9  # share of a column's cells that are of its type
_PROSE = 8  # words of a cell of prose
_CHARS = 2000  # characters of a row that are looked at
_FIELD = re.compile(r"[ \t*>|-]*([^\s:|][^:|\n]{0,60}?)\**(?:[ \t]*[:|：])+\**[ \t]*(?=\S)")
_COMMIT = re.compile(r"(commit) (?=[0-9a-f]{4,64}\b)")
_ELEMENT = re.compile(r"<([\w:.-]+)[^>]*>\s*([^<]*)")
_ATTRIBUTE = re.compile(r"([\w:.-]+)=\"([^\"<]*)\"")
_LISTED = re.compile(r"[,;]\s+|\s[/+]\s|\s*[()]\s*")  # between parts of a cell

_T = TypeVar("_T")


@dataclass
class Column:
    """A column of a run: where each of its cells stands, and what it says.

    Args:
        name: Of its head, key, tag, or the word before it; empty where it has none.
        text: The document's.
        rows: Place of the row of each cell.
        spans: Each cell.
        first: Whether it is the first of its run.
    """

    name: str
    text: str = field(repr=False)
    rows: list[int] = field(default_factory=list, repr=False)
    spans: list[Span] = field(default_factory=list, repr=False)
    first: bool = False

    @cached_property
    def values(self) -> list[str]:
        """What each cell says, without tags."""
        cells = (self.text[start:end] for start, end in self.spans)
        return [TAG.sub("", cell).strip() if "<" in cell else cell for cell in cells]

    @cached_property
    def numbers(self) -> list[Number | None]:
        """The number of each cell; none of a column of something else."""
        comma = any(re.search(r"\d,\d{1,2}\b(?!,)", value) for value in self.values)
        unit = unit_of(self.name)
        found = [number(value, comma=comma, unit_=unit) for value in self.values]
        return _typed(found, self.values)

    @cached_property
    def moments(self) -> list[Moment | None]:
        """The date or time of each cell; none of a column of something else."""
        american = any(m and int(m[2]) > 12 for m in map(_SLASHES.match, self.values))
        return _typed([moment(value, american=american) for value in self.values], self.values)

    @cached_property
    def distinct(self) -> bool:
        """Whether each cell says something else, so that it names its row."""
        return len({*self.values}) == len(self.values)

    def is_name(self, text: str) -> bool:
        """Whether a text is all of a cell, or one without the s of many, that names its row."""
        said = text.casefold()
        ways = (said, f"{said}s", said.removesuffix("s"))
        return self.distinct and any(value.casefold() in ways for value in self.values)

    @cached_property
    def kind(self) -> str:
        """What its cells are: ``time``, ``number``, ``name`` (each has its own), ``prose``, …"""
        if any(self.moments):
            return "time"
        words = sum(len(value.split()) for value in self.values)
        if words > _PROSE * len(self.values):
            return "prose"
        own = self.distinct and len(self.values) > LEAST
        if not any(self.numbers):
            return "name" if own else "word"
        whole = all(value.isdecimal() for value in self.values)
        even = min(map(len, self.values)) == max(map(len, self.values)) > LEAST
        return "name" if own and whole and (even or self.first) else "number"

    def meets(self, sign: str, value: Number | Moment) -> list[bool] | None:
        """Whether each cell meets a comparison; None of a column of another type."""
        asked = value if isinstance(value, Moment) else year(value.raw)
        if asked and any(self.moments):
            return [holds(one, sign, asked) for one in self.moments]
        if isinstance(value, Moment) or not any(self.numbers):
            return None
        return [holds(one, sign, value) for one in self.numbers]


_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/\d{2,4}")


def _typed(found: list[_T | None], values: Sequence[str]) -> list[_T | None]:
    full = sum(bool(re.search(r"\w", value)) for value in values)
    return found if full and sum(map(bool, found)) >= _TYPED * full else [None] * len(found)


@dataclass
class Run:
    """Rows that have the same columns.

    Args:
        text: The document's.
        rows: Each of them, in order.
        columns: By name.
        lines: Whether they are lines of a template, and no part of a tree.
        head: The line that heads such lines.
    """

    text: str = field(repr=False)
    rows: list[Span]
    columns: list[Column]
    lines: bool = False
    head: Span | None = None

    @property
    def start(self) -> int:
        """Where its first row begins."""
        return self.rows[0][0]

    @property
    def end(self) -> int:
        """Where its last row ends."""
        return self.rows[-1][1]

    @cached_property
    def index(self) -> dict[str, dict[int, list[int]]]:
        """Places of the rows in which a cell says so, in small letters, by column."""
        found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place, column in enumerate(self.columns):
            for row, value in zip(column.rows, column.values, strict=True):
                for part in {value, *_LISTED.split(value)}:
                    found[part.casefold().strip("\"'`*_ ")][place].append(row)
        return found

    @cached_property
    def sections(self) -> dict[int, range]:
        """Rows below each one that has its first cell alone, as a title among them, with it."""
        cells = Counter(row for column in self.columns for row in column.rows)
        first = {*self.columns[0].rows} if len(self.columns) > 2 else set[int]()
        titles = [row for row in sorted(first) if cells[row] == 1]
        titles = titles if 1 < len(titles) <= len(self.rows) / 2 else []
        return {a: range(a, b) for a, b in pairwise([*titles, len(self.rows)])}


@lru_cache(maxsize=16)
def runs(text: str) -> tuple[Run, ...]:
    """The runs of like rows of a text, in order."""
    roots = outline(text, small=True)
    found = [run for root in roots for run in _of_tree(text, root)]
    # lines that have templates, outside trees or as entries of a log
    trees = [r for r in roots if r.kind != "lines" or any(c.children for c in r.children)]
    for lines in line_runs(text, trees):
        head, rows = lined(text, lines) if len(lines) >= LEAST else (None, [])
        found += [replace(_run(text, rows), lines=True, head=head)] if rows else []
    return tuple(sorted(found, key=lambda run: run.start))


def _run(text: str, rows: Sequence[tuple[Span, Cells]]) -> Run:
    columns: dict[str, Column] = {}
    for place, (_, cells) in enumerate(rows):
        for name, start, end in cells:
            if start < end:
                column = columns.setdefault(name, Column(name, text, first=not columns))
                column.rows.append(place)
                column.spans.append((start, end))
    return Run(text, [span for span, _ in rows], [*columns.values()])


def _of_tree(text: str, node: Node) -> Iterator[Run]:
    inside = node.children
    read: Callable[[str, Node], Iterator[Cell]] | None = None
    if node.kind in JSON and sum(child.kind == "object" for child in inside) == len(inside):
        read = _of_json
    elif node.kind == "xml" and len({_tag(text, child) for child in inside}) == 1:
        read = _of_elements
    elif node.kind == "table" and node.each and all(child.children for child in inside):
        read = _of_fields
    elif node.kind in ("table", "grid") and node.head > node.start:
        run = _run(text, [*_of_table(text, node)])
        if len(run.rows) >= LEAST:
            yield run
        return
    if read and len(inside) >= LEAST:
        yield _run(text, [((child.start, child.end), [*read(text, child)]) for child in inside])
        return
    for child in inside:
        yield from _of_tree(text, child)


def _of_json(text: str, node: Node, path: str = "") -> Iterator[Cell]:
    name = KEY.match(text, node.start) if node.start < node.head and not path else None
    if name and not path:
        yield "", *name.span(name.lastindex or 0)
    for child in node.children:
        key = KEY.match(text, child.start) if node.kind == "object" else None
        below = f"{path}.{key[key.lastindex or 0]}".strip(".") if key else path
        if child.kind in JSON:
            yield from _of_json(text, child, below or "…")
        else:
            start = key.end() if key else child.start
            quoted = text[start : start + 1] in ("'", '"')
            yield below, start + quoted, child.end - quoted


def _tag(text: str, node: Node) -> str:
    match = _ELEMENT.match(text, node.start)
    return match[1] if match else ""


def _of_elements(text: str, node: Node) -> Iterator[Cell]:
    for match in _ELEMENT.finditer(text, node.start, node.end):
        if match[2].strip():
            yield match[1], *stripped(text, *match.span(2))
        stop = text.find(">", match.start(), node.end)
        yield from ((m[1], *m.span(2)) for m in _ATTRIBUTE.finditer(text, match.end(1), stop))


def _of_fields(text: str, node: Node) -> Iterator[Cell]:
    for start, end in ((node.start, node.head), *((c.start, c.end) for c in node.children)):
        found = _COMMIT.match(text, start, end) or _FIELD.match(text, start, end)
        if found:
            yield found[1], *stripped(text, found.end(), end)
        elif text[start:end].strip():
            yield "", *stripped(text, start, end)


def _of_table(text: str, node: Node) -> Iterator[tuple[Span, Cells]]:
    """Rows with their cells; a blank cell below that of a row which heads them says the same."""
    heads, parted = columns_of(text, node) or ([], in_tags)
    found = (TAG.sub("", name).strip() for name in said(text, heads))
    names = [name or f"#{n + 1}" for n, name in enumerate(found)]

    def cells(span: Span, above: Cells) -> Cells:
        begin = row_begin(text, span[0])
        row = text[begin : span[1]]
        spans = [(begin + a, begin + b) for a, b in parted(row)]
        wrapped = "\n" in row.strip() and parted is not in_tags
        short = max(0, len(names) - len(spans)) if above and node.kind == "grid" else 0
        labels = cycle(names[short:]) if wrapped else names[short:]
        own = [(name, *span) for name, span in zip(labels, spans, strict=False)]
        blank = {name for name, a, b in own if a == b} | {*names[:short]}
        return [one for one in own if one[1] < one[2]] + [one for one in above if one[0] in blank]

    def rows(nodes: Sequence[Node], above: Cells) -> Iterator[tuple[Span, Cells]]:
        for one in nodes:
            if one.children and one.kind != "cells":
                own = cells((one.start, one.head), above)
                yield (one.start, one.head), own
                yield from rows(one.children, [] if one.each else own)
            else:
                yield (one.start, one.end), cells((one.start, one.end), above)

    yield from rows(node.children, [])
