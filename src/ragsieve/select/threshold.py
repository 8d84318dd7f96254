"""Thresholds: fixed ones, and ones relative to the best score of a question."""

import math
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

from ragsieve.errors import InputError
from ragsieve.models.base import LEADS, SentencePruner, promised
from ragsieve.schema import Amount, Probability, check_options
from ragsieve.select.base import Selector
from ragsieve.structure import is_plain, missing
from ragsieve.structure.notes import companions
from ragsieve.structure.odd import odd_keys
from ragsieve.system import Cuts, best_first
from ragsieve.text import repeats
from ragsieve.trace import Cutoff, Promises, note, record_cutoff
from ragsieve.types import Query, Segment, rounded

PROMISED = tuple(n / 100 for n in range(50, 100))  # values of keep_answer that a trace names
_TINY = 1e-6  # probabilities lie at least so far from 0 and 1
_LEADING = 3  # documents whose best segments a relative threshold goes with


@dataclass(frozen=True)
class Threshold(Selector):
    """Keep segments whose `rounded` score is at least ``min_score``; the order stays.

    Args:
        min_score: In the units of the last score; finite.
        min_keep: Keep this many of the best even below it; not negative.
        relative: For scores that are probabilities, in [0, 1]: the threshold's log-odds are higher
            by this share of those of what leads, see `lead`. A question with sure segments keeps
            fewer others, one without keeps more.
        promises: What ``min_score`` promises, and the values for other promises; for the trace.
        leads: Between which scores what leads counts, over 0 and below 1.
        odd: Whether rows and lines that are unlike their neighbours stay whatever they score, where
            the question picks none of these, notes with what they are on, functions whole of which
            much is kept and, with a relative threshold, lists whole of which rows are kept though
            none stands out; see `odd`, `notes` and `missing` in `ragsieve.structure`.

    Raises:
        InputError: If an option breaks its rule, or a segment has no score yet.
    """

    min_score: float
    min_keep: Amount = 0
    relative: Probability = 0.0
    promises: Promises | None = None
    leads: tuple[float, float] = LEADS
    odd: bool = False

    def __post_init__(self) -> None:
        if not math.isfinite(self.min_score):
            raise InputError(f"min_score must be finite, got {self.min_score!r}")
        check_options(self)

    @classmethod
    def promised(cls, pruner: SentencePruner, keep_answer: float, min_keep: int = 0) -> Self:
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
        return cls(min_score, min_keep, pruner.relative, promises, pruner.leads)

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """See `ragsieve.system.Cutting`; a promise is kept where there was one.

        Raises:
            InputError: If ``keep_answer`` is beyond those that the model promises.
        """
        if cuts.min_score is not None:
            plain = type(self)(cuts.min_score, self.min_keep, odd=self.odd)
            return plain, cuts._replace(min_score=None)
        if cuts.keep_answer is None or not self.promises:
            return self, cuts
        least = promised(dict(self.promises.numbers), cuts.keep_answer)
        promises = Promises(cuts.keep_answer, self.promises.numbers)
        return replace(self, min_score=least, promises=promises), cuts._replace(keep_answer=None)

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        laid_out = self.odd and not all(map(is_plain, {s.document.text for s in segments}))
        odd = odd_keys(query.text, segments) if laid_out else {}
        if odd:
            why = ", ".join(dict.fromkeys(odd.values()))
            note(f"lines unlike their neighbours stay: odd, {why}")
        ranked = best_first(segments)
        spared = odd.keys() | {s.key for s in ranked[: self.min_keep]}
        units = ((s.document.id, s.text, rounded(s.score)) for s in ranked)
        best = lead(query.text, units, self.leads) if self.relative else 0.5
        least = self._level(self.min_score, best)
        if ranked and (self.promises or self.relative):
            note(self._origin(best, least))
        cut = tuple(s for s in segments if s.key not in odd) if odd else tuple(segments)
        cutoff = Cutoff("min_score", rounded(least), "at least", cut, self.min_keep)
        record_cutoff(replace(cutoff, promises=self._promises(best)))
        kept = spared | {s.key for s in segments if rounded(s.score) >= rounded(least)}
        if laid_out and self.relative and (rows := missing.of_lists(kept - odd.keys(), segments)):
            note(f"rows of which none stands out stay together: {len(rows)} more")
            kept |= rows
        if self.odd and (beside := companions(kept, segments)):
            note(f"notes stay with what they are on: {', '.join(dict.fromkeys(beside.values()))}")
            kept |= beside.keys()
        if laid_out and (parts := missing.of_functions(kept, segments)):
            note(f"functions of which much is kept are whole: {len(parts)} more parts")
            kept |= parts
        return ["" if s.key in kept else self._reason(s.score, least) for s in segments]

    def _level(self, threshold: float, best: float) -> float:
        """The score from which segments of a question stay, by what leads in it."""
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
            origin += f", and {self.relative:g} (relative) of the log-odds of {best:.3f}, "
            origin += f"the mean of the best of up to {_LEADING} documents → {least:.3g}"
        return origin

    def _promises(self, best: float) -> Promises | None:
        """The levels of a question at other promises."""
        if not self.promises:
            return None
        levels = ((p, rounded(self._level(number, best))) for p, number in self.promises.numbers)
        return self.promises._replace(numbers=(*levels,))


def lead(
    question: str, ranked: Iterable[tuple[Hashable, str, float]], leads: tuple[float, float] = LEADS
) -> float:
    """Probability of what stands best in a question's documents, which none of them sets alone.

    It is that of the mean log-odds of the best segments of three documents, or of as many as there
    are; each counts as ``leads`` at least and at most. A segment that `repeats` the question does
    not count: whoever writes a document could put one there.

    Args:
        question: What is asked.
        ranked: Document, text and probability of each segment, the best first.
        leads: The least and the largest probability, over 0 and below 1.
    """
    least, most = leads
    bests: dict[Hashable, float] = {}
    for document, text, probability in ranked:
        if document not in bests and not repeats(text, question):
            bests[document] = _log_odds(min(max(probability, least), most))
            if len(bests) == _LEADING:
                break
    mean = sum(bests.values()) / len(bests) if bests else _log_odds(least)
    return 1 / (1 + math.exp(-mean))


def shifted(probability: float, best: float, share: float) -> float:
    """The probability whose log-odds are higher by ``share`` of those of ``best``."""
    odds = _log_odds(min(max(probability, _TINY), 1 - _TINY)) + share * _log_odds(best)
    return 1 / (1 + math.exp(-odds))


def _log_odds(probability: float) -> float:
    return math.log(probability / (1 - probability))
