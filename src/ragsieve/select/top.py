"""TopK, token Budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragsieve.errors import check_range
from ragsieve.pipeline import ReaderLike, fit
from ragsieve.select.base import Selector, past
from ragsieve.trace import Cutoff, record_cutoff
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class TopK(Selector):
    """Keep the ``k`` best segments, best first; unscored segments count as ranked in their order.

    Args:
        k: How many; 0 keeps none.

    Raises:
        InputError: If ``k`` is negative.
    """

    k: int
    by_rank: ClassVar = True
    ranked: ClassVar = True

    def __post_init__(self) -> None:
        check_range(self, k=(0, None))

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        record_cutoff(Cutoff("k", self.k, "best", tuple(segments)))
        return past(segments, self.k, f"k={self.k}")


@dataclass(frozen=True)
class Budget:
    """Keep the best segments whose context is at most ``max_tokens`` long; the order stays.

    Counted in the reader's own tokenizer over the text as the reader lays it out, separators and
    titles included. Best first, each segment that still fits is kept; never exceeded, even where
    that keeps nothing, and the trace warns where the best segment does not fit. A `System` cuts it
    then, by its own parts.

    Args:
        max_tokens: Tokens of the context; not negative.
        reader: What will read it.

    Raises:
        InputError: If ``max_tokens`` is negative.
    """

    max_tokens: int
    reader: ReaderLike

    def __post_init__(self) -> None:
        check_range(self, max_tokens=(0, None))

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        return fit(segments, self.max_tokens, self.reader)
