"""Thresholds: fixed ones, and ones relative to the best score of a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ragsieve.errors import InputError, check_range
from ragsieve.models.base import SentencePruner
from ragsieve.pipeline import best_first
from ragsieve.trace import Cutoff, Promises, note, record_cutoff, record_drop
from ragsieve.types import Query, Segment, rounded

PROMISED = tuple(n / 100 for n in range(80, 100))  # values of keep_answer that a trace names
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
        promises: What ``min_score`` promises, and the values for other promises; for the trace.

    Raises:
        InputError: If an option breaks its rule, or a segment has no score yet.
    """

    min_score: float
    min_keep: int = 0
    relative: float = 0.0
    promises: Promises | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.min_score):
            raise InputError(f"min_score must be finite, got {self.min_score!r}")
        check_range(self, min_keep=(0, None), relative=(0, 1))

    @classmethod
    def promised(cls, pruner: SentencePruner, keep_answer: float, min_keep: int = 0) -> Threshold:
        """The threshold of a sentence pruner's probabilities that keeps a promise.

        Args:
            pruner: What scores.
            keep_answer: The probability that the evidence survives.
            min_keep: As of any threshold.

        Raises:
            InputError: If the pruner promises no such thing.
        """
        min_score, numbers = pruner.threshold(keep_answer), {}
        for promise in sorted({*PROMISED, keep_answer}):
            with suppress(InputError):  # a table of other promises
                numbers[promise] = pruner.threshold(promise)
        promises = Promises(keep_answer, (*numbers.items(),))
        return cls(min_score, min_keep, pruner.relative, promises)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        ranked = best_first(segments)
        spared = {s.key for s in ranked[: self.min_keep]}
        best = rounded(ranked[0].score) if ranked else 0.5
        least = self._level(self.min_score, best)
        kept = []
        for segment in segments:
            if rounded(segment.score) >= rounded(least) or segment.key in spared:
                kept.append(segment)
            else:
                record_drop(segment, self._reason(segment.score, least))
        if ranked and (self.promises or self.relative):
            note(self._origin(best, least))
        record_cutoff(
            Cutoff(
                option="min_score",
                at=rounded(least),
                keeps="at least",
                segments=tuple(segments),
                min_keep=self.min_keep,
                promises=self._promises(best),
            )
        )
        return kept

    def _level(self, threshold: float, best: float) -> float:
        """The score from which segments of a question stay, by its best one."""
        return shifted(threshold, best, self.relative) if self.relative else threshold

    def _reason(self, score: float, least: float) -> str:
        if not self.promises and not self.relative:
            return f"score {score:.3f} is below min_score={least:.6g}"
        digits = 3 if f"{score:.3f}" != f"{least:.3f}" else 6
        return f"score {score:.{digits}f} is below {least:.{digits}f}"

    def _origin(self, best: float, least: float) -> str:
        """Where the level of a question comes from."""
        origin = f"min_score={self.min_score:.3g}"
        if self.promises:
            origin = f"keep_answer={self.promises.keep_answer} → {self.min_score:.3g}"
        if self.relative:
            origin += f", relative {self.relative:g}, best {best:.3f} → {least:.3g}"
        return origin

    def _promises(self, best: float) -> Promises | None:
        """The levels of a question at other promises."""
        if not self.promises:
            return None
        keep_answer, numbers = self.promises
        levels = ((promise, rounded(self._level(number, best))) for promise, number in numbers)
        return Promises(keep_answer, (*levels,))


def shifted(probability: float, best: float, share: float) -> float:
    """The probability whose log-odds are higher by ``share`` of those of ``best``."""
    sure = min(max(best, _SURE), 1 - _SURE)
    odds = _log_odds(min(max(probability, _TINY), 1 - _TINY)) + share * _log_odds(sure)
    return 1 / (1 + math.exp(-odds))


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))
