"""Fences that are too long for a unit: cut by their statements, entries or lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragsieve.structure import indentation
from ragsieve.structure.tree import Node, leaf, line_spans, moved, over

_FENCED = 1000  # characters of a fence that is not cut
_FENCE = re.compile(r"^[ \t]*((`{3,}|~{3,})([^`\n]*))$", re.MULTILINE)


def regions(text: str, others: Sequence[Node]) -> Iterator[Node]:
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
                found = [*indentation.regions(text[start:end], [])]
                apart = [one for one in others if one.kind != "table" or not found]
                if not any(start <= one.start < end for one in apart):
                    yield _fence(text, found, opened, match)
            opened = None


def _fence(text: str, found: Sequence[Node], opened: re.Match[str], closed: re.Match[str]) -> Node:
    start = opened.end() + 1
    inside = text[start : closed.start()]
    lines = (leaf(a, b) for a, b in line_spans(inside) if inside[a:b].strip())
    node = moved(found[0] if found else over([*lines], merge=250), start)
    node.start, node.head = opened.span(1)
    node.tail, node.end = closed.start(1), closed.end(2)
    node.whole, node.each, node.mark = 0, True, node.mark.removesuffix(" {}") or "…"
    return node
