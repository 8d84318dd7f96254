"""Rows of one shape under their heads once: as JSON of columns and rows, or as CSV.

Values are the document's, character by character; the white space between the pieces of a nested
value, and around a cell, goes.
"""

import json
import re
from collections.abc import Iterator, Sequence

from ragsieve.structure.columns import is_rule
from ragsieve.structure.linearize import columns_of, row_begin
from ragsieve.structure.render import Kept
from ragsieve.structure.tree import KEY, Node
from ragsieve.types import Span

_FEWEST = 3  # rows
_PIECE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s"]+)+')  # of JSON, without white space

_MARKED = re.compile(r"[|│&<]")
_UNQUOTED = re.compile(r'["\r\n]')  # what a cell of CSV would have in other characters

Rows = tuple[str, list[Span]]
"""What is shown of rows, and the spans of the document in it."""


def compact(text: str, node: Node, kept: Kept) -> Rows | None:
    """Kept rows of a list or table; None of what is none, or where a row is kept in part."""
    rows = [child for child in node.children if any(kept.within(child.start, child.end))]
    short = kept.layout.is_short  # where rows of one line stay as they are
    wrapped = node.kind == "table" and any("\n" in text[one.start : one.end] for one in rows)
    if len(rows) < (1 if short else _FEWEST) or (short and node.kind != "grid" and not wrapped):
        return None
    if not all(kept.whole(one.start, one.end) for one in rows):
        return None
    left = kept.said(node, len(rows)) if len(rows) < len(node.children) else ""
    mark = kept.layout.mark
    if node.kind in ("array", "rows") and all(one.kind == "object" for one in rows):
        told = json.dumps({mark: left}, ensure_ascii=False)[1:-1] if left else ""
        return _json(text, node, rows, told)
    if node.kind in ("table", "grid") and not any(one.children for one in rows):
        return _csv(text, node, rows, left and f"{mark} {left}")
    return None


def _json(text: str, node: Node, rows: Sequence[Node], left: str) -> Rows | None:
    """``{"columns": […], "rows": [[…]]}``; further fields of a row are an object at its end."""
    objects = [dict(_fields(text, row)) for row in rows]
    common = [key for key in objects[0] if all(key in one for one in objects)]
    once = all(len(one) == len(row.children) for one, row in zip(objects, rows, strict=True))
    if not once or 2 * len(common) < max(map(len, objects)):
        return None
    spans: list[Span] = []

    def value(one: dict[str, list[Span]], key: str) -> str:
        spans.extend(one[key])
        return "".join(text[a:b] for a, b in one[key])

    lines = []
    for one in objects:
        values = [value(one, key) for key in common]
        more = ",".join(f"{key}:{value(one, key)}" for key in one if key not in common)
        lines.append(f"[{','.join(values)}{f',{{{more}}}' if more else ''}]")
    body = f'{{"columns":[{",".join(common)}],"rows":[{",".join(lines)}]{left and f",{left}"}}}'
    try:
        json.loads(body)
    except ValueError:  # as Python shows values, or cut off
        return None
    return text[node.start : node.head - (node.kind == "array")] + body, spans


def _fields(text: str, row: Node) -> Iterator[tuple[str, list[Span]]]:
    """The key of each field as it is written, and the pieces of its value."""
    for child in row.children:
        if match := KEY.match(text, child.start):
            pieces = [m.span() for m in _PIECE.finditer(text, match.end(), child.end)]
            yield match[0].rstrip().rstrip(":").rstrip(), pieces


def _csv(text: str, node: Node, rows: Sequence[Node], left: str) -> Rows | None:
    found = columns_of(text, node) if _MARKED.search(text, node.start, node.head) else None
    if not found:  # nor of columns of spaces, of which a comma for each costs more tokens
        return None
    names, divide = found
    begun = [(row_begin(text, row.start), row.end) for row in rows]
    cells = [names, *([(at + a, at + b) for a, b in divide(text[at:end])] for at, end in begun)]
    spans = [span for row in cells for span in row if span[0] < span[1]]
    ragged = any(len(row) % len(names) for row in cells)
    if ragged or any(_UNQUOTED.search(text, *span) for span in spans):
        return None
    columns = range(len(names))
    said = [[_said(text, row[n :: len(names)]) for n in columns] for row in cells]
    before = [line for line in text[node.start : names[0][0]].split("\n")[:-1] if not is_rule(line)]
    lines = [*before, *(",".join(row) for row in said), *([left] if left else [])]
    return "\n".join(lines), spans


def _said(text: str, lines: Sequence[Span]) -> str:
    """A cell, of several lines as one."""
    cell = " ".join(text[a:b] for a, b in lines if a < b)
    return f'"{cell}"' if "," in cell else cell
