"""Functions of code: whole, or their head with what answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ragsieve.structure import outline, pieces
from ragsieve.structure.tree import CODE, Node, places
from ragsieve.types import Key, Segment, grouped

_SIZE = 2500  # characters of a function that is completed
_KEPT = 0.4  # share of its characters that are kept, from which on it is


def completed(kept: Set[Key], segments: Sequence[Segment]) -> set[Key]:
    """Keys of what is missing of functions of which much is kept."""
    found: set[Key] = set()
    for some in grouped(segments, lambda s: s.document.id).values():
        ordered = sorted(some, key=lambda s: s.start)
        spans = [(s.start, s.end) for s in ordered]
        for part in pieces(ordered[0].document.text):
            for node in _functions(outline(part.text)):
                own = [ordered[n] for n in places(spans, *part.span(node.start, node.end))]
                size = sum(s.end - s.start for s in own)
                if sum(s.end - s.start for s in own if s.key in kept) >= _KEPT * size:
                    found |= {s.key for s in own}
    return found - kept


def _functions(nodes: Sequence[Node]) -> Iterator[Node]:
    """The largest blocks of code below a head that are small enough."""
    for node in nodes:
        if node.mark.endswith(CODE) and node.head > node.start and node.size <= _SIZE:
            yield node
        elif node.mark.endswith(CODE):
            yield from _functions(node.children)
