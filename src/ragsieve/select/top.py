"""TopK, token Budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragsieve.schema import Amount, Options
from ragsieve.select.base import Selector, past
from ragsieve.system import ReaderLike, fit
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
    by_rank: ClassVar = True
    ranked: ClassVar = True

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        record_cutoff(Cutoff("k", self.k, "best", tuple(segments)))
        return past(segments, self.k, f"k={self.k}")


@dataclass(frozen=True)
class Budget(Options):
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

    max_tokens: Amount
    reader: ReaderLike

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        return fit(segments, self.max_tokens, self.reader)
