"""What is missing of what is kept in part: functions of code, and lists whose rows are alike."""

from collections.abc import Sequence, Set

from ragsieve.structure import outline, pieces
from ragsieve.structure.cells import runs
from ragsieve.structure.tree import CODE, places
from ragsieve.types import Key, Segment, in_order

_SIZE = 2500  # characters of a function that is completed
_KEPT = 0.4  # share of its characters that are kept, from which on it is
_UNSURE = 0.2  # score below which no row of a list stands out
_FEW = 20  # rows of a list of which all stay if one does; of longer ones half have to
_LEAST = 3  # rows that are compared


def of_functions(kept: Set[Key], segments: Sequence[Segment]) -> set[Key]:
    """Keys of what is missing of functions of which much is kept."""
    found: set[Key] = set()
    for ordered, spans in in_order(segments):
        for part in pieces(ordered[0].document.text):
            nodes = [*outline(part.text)]
            while nodes:
                node = nodes.pop()
                if not node.mark.endswith(CODE):
                    continue
                if node.head == node.start or node.size > _SIZE:
                    nodes += node.children
                    continue
                own = [ordered[n] for n in places(spans, *part.span(node.start, node.end))]
                size = sum(s.end - s.start for s in own)
                if sum(s.end - s.start for s in own if s.key in kept) >= _KEPT * size:
                    found |= {s.key for s in own}
    return found - kept


def of_lists(kept: Set[Key], segments: Sequence[Segment]) -> set[Key]:
    """Keys of what is missing of lists of which rows are kept, though none of them stands out."""
    found: set[Key] = set()
    for ordered, spans in in_order(segments):
        if {s.key in kept for s in ordered} != {True, False}:
            continue
        for run in runs(ordered[0].document.text):
            rows = {ordered[n].key: ordered[n] for row in run.rows for n in places(spans, *row)}
            held = sum(key in kept for key in rows)
            many = held if len(rows) <= _FEW else 2 * held >= len(rows)
            if len(rows) >= _LEAST and many and max(s.score for s in rows.values()) < _UNSURE:
                found |= rows.keys()
    return found - kept
