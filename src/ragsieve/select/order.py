"""Order of the segments in the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragsieve.schema import Options
from ragsieve.system import best_first
from ragsieve.types import Query, Segment, in_order

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
            documents = sorted(in_order(segments), key=lambda one: one[0][0].document.rank)
            return [segment for ordered, _ in documents for segment in ordered]
        ranked = best_first(segments)
        return ranked if self.by == "score" else [*ranked[::2], *ranked[1::2][::-1]]
