"""Order of the segments in the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragsieve.schema import Options
from ragsieve.system import best_first
from ragsieve.types import Query, Segment

By = Literal["document", "score", "ends"]


@dataclass(frozen=True)
class Order(Options):
    """Put segments in the order in which the reader shall read them; keeps all.

    Args:
        by: ``"document"``: documents as they were retrieved, those of equal rank as given, spans
            as they stand in them; ``"score"``: best first; ``"ends"``: best at both ends, worst in
            the middle, where models read least (lost in the middle, arXiv 2307.03172).

    Raises:
        InputError: If ``by`` is none of these.
    """

    by: By = "document"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if self.by == "document":
            first = reversed([*enumerate(segments)])
            places = {s.document.id: (s.document.rank, n) for n, s in first}
            return sorted(segments, key=lambda s: (places[s.document.id], s.start, s.end))
        ranked = best_first(segments)
        return ranked if self.by == "score" else [*ranked[::2], *ranked[1::2][::-1]]
