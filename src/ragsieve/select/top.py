"""TopK, RandomK, token Budget."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.errors import InputError
from ragsieve.pipeline import Reader, best_first, fit
from ragsieve.text import safe
from ragsieve.trace import Cutoff, cut, record_drop
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class TopK:
    """Keep the ``k`` best segments, best first; unscored segments count as ranked as given.

    Args:
        k: How many; 0 keeps none.

    Raises:
        InputError: If ``k`` is negative.
    """

    k: int

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InputError(f"k must not be negative, got {self.k!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        ranked = best_first(segments)
        for place, segment in enumerate(ranked[self.k :], self.k + 1):
            record_drop(segment, f"rank {place} is past k={self.k}")
        cut(Cutoff("k", self.k, "best", tuple(segments)))
        return ranked[: self.k]


@dataclass(frozen=True)
class RandomK:
    """Keep a random number of the best segments, from none to all: what a learned cut must beat.

    Args:
        seed: With the question it settles the number.

    Source: FineFilter's first version (arXiv 2502.11811v1), table 5: random truncation.
    """

    seed: int = 0

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        k = random.Random(f"{self.seed}\n{safe(query.text)}").randint(0, len(segments))
        return TopK(k)(query, segments)


@dataclass(frozen=True)
class Budget:
    """Keep the best segments whose context is at most ``max_tokens`` long; the order stays.

    Counted in the reader's own tokenizer over the text as the reader lays it out, separators and
    titles included. Best first, each segment that still fits is kept; never exceeded, even where
    that keeps nothing.

    Args:
        max_tokens: Tokens of the context; not negative.
        reader: What will read it.

    Raises:
        InputError: If ``max_tokens`` is negative.
    """

    max_tokens: int
    reader: Reader

    def __post_init__(self) -> None:
        if self.max_tokens < 0:
            raise InputError(f"max_tokens must not be negative, got {self.max_tokens!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        return fit(segments, self.max_tokens, self.reader)
