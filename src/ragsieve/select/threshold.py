"""Fixed cutoffs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.errors import InputError
from ragsieve.pipeline import best_first
from ragsieve.trace import Cutoff, cut, explain
from ragsieve.types import Query, Segment, rounded


@dataclass(frozen=True)
class Threshold:
    """Keep segments whose `rounded` score is at least ``min_score``; the order stays.

    Args:
        min_score: In the units of the score given last; finite.
        min_keep: Keep this many of the best even below it; not negative.

    Raises:
        InputError: If an option breaks its rule, or a segment has no score yet.
    """

    min_score: float
    min_keep: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.min_score):
            raise InputError(f"min_score must be finite, got {self.min_score!r}")
        if self.min_keep < 0:
            raise InputError(f"min_keep must not be negative, got {self.min_keep!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        spared = {s.key for s in best_first(segments)[: self.min_keep]}
        least, kept = rounded(self.min_score), []
        for segment in segments:
            if rounded(segment.score) >= least or segment.key in spared:
                kept.append(segment)
            else:
                explain(segment, f"score {segment.score:.3f} is below min_score={self.min_score}")
        given = tuple(segments)
        cut(Cutoff("min_score", least, "at least", given, min_keep=self.min_keep))
        return kept
