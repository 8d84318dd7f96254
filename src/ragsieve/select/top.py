"""The best k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragsieve.schema import Amount, Options
from ragsieve.select.base import Selector, past
from ragsieve.trace import Cutoff, record_cutoff
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class TopK(Options, Selector):
    """Keep the ``k`` best segments, best first; unscored segments count as ranked in their order.

    Args:
        k: How many; 0 keeps none.

    Raises:
        InputError: If ``k`` is negative.
    """

    k: Amount
    ranked: ClassVar = True

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        record_cutoff(Cutoff("k", self.k, "best", tuple(segments)))
        return past(segments, self.k, f"k={self.k}")
