"""Thresholds: fixed ones, and ones relative to the best score of a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.errors import InputError, check_range
from ragsieve.pipeline import best_first
from ragsieve.trace import Cutoff, record_cutoff, record_drop
from ragsieve.types import Query, Segment, rounded

_TINY = 1e-6  # probabilities lie at least so far from 0 and 1
_SURE = 0.01  # the best one counts as at least so far from them


@dataclass(frozen=True)
class Threshold:
    """Keep segments whose `rounded` score is at least ``min_score``; the order stays.

    Args:
        min_score: In the units of the last score; finite.
        min_keep: Keep this many of the best even below it; not negative.
        relative: For scores that are probabilities, in [0, 1]: the threshold's log-odds are higher
            by this share of the best segment's. A question with a sure segment keeps fewer others,
            one without keeps more. The best counts as 0.99 at most, 0.01 at least.

    Raises:
        InputError: If an option breaks its rule, or a segment has no score yet.
    """

    min_score: float
    min_keep: int = 0
    relative: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.min_score):
            raise InputError(f"min_score must be finite, got {self.min_score!r}")
        check_range(self, min_keep=(0, None), relative=(0, 1))

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        ranked = best_first(segments)
        spared = {s.key for s in ranked[: self.min_keep]}
        least = self.min_score
        if self.relative and ranked:
            least = shifted(least, rounded(ranked[0].score), self.relative)
        kept = []
        for segment in segments:
            if rounded(segment.score) >= rounded(least) or segment.key in spared:
                kept.append(segment)
            else:
                record_drop(segment, f"score {segment.score:.3f} is below min_score={least:.6g}")
        seen = tuple(segments)
        record_cutoff(Cutoff("min_score", rounded(least), "at least", seen, min_keep=self.min_keep))
        return kept


def shifted(probability: float, best: float, share: float) -> float:
    """The probability whose log-odds are higher by ``share`` of those of ``best``."""
    sure = min(max(best, _SURE), 1 - _SURE)
    odds = _log_odds(min(max(probability, _TINY), 1 - _TINY)) + share * _log_odds(sure)
    return 1 / (1 + math.exp(-odds))


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))
