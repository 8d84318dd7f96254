"""Conformal risk control: the threshold at which the answer survives as often as promised.

A cut loses the answer of a question if no sentence that holds it is kept. The higher the cut, the
fewer sentences stay, so what is lost once stays lost: the loss never falls as the cut rises, which
is what conformal risk control asks for. All that is assumed beside is exchangeability: the
questions to come are of the same kind as those calibrated on, in any order.

Only questions with an answer in their sentences count: no cut can lose what was not retrieved.

Source: Conformal risk control (arXiv 2208.02814), section 2.1, for the loss of the answer.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, needs_extra

with needs_extra("train"):
    from scipy.special import bdtr


@dataclass(frozen=True, eq=False)
class ScoredQuestion:
    """One question's sentences: what each scored, and which hold an answer.

    Args:
        scores: Finite, higher is better, ``(n_sentences,)``; of equal ones the first ranks higher.
        holds: Whether a sentence holds a gold answer, ``(n_sentences,)``.

    Raises:
        InputError: If the lengths differ or a score is not finite.
    """

    scores: NDArray[np.float64]
    holds: NDArray[np.bool_]

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", np.asarray(self.scores, np.float64))
        object.__setattr__(self, "holds", np.asarray(self.holds, np.bool_))
        if self.scores.ndim != 1 or self.scores.shape != self.holds.shape:
            shapes = f"{self.scores.shape} and {self.holds.shape}"
            raise InputError(f"scores and holds must be of one length, got shapes {shapes}")
        if not np.isfinite(self.scores).all():
            raise InputError(f"scores must be finite, got {self.scores[~np.isfinite(self.scores)]}")


@dataclass(frozen=True)
class Promise:
    """A cut, what was promised of it, and what was measured where it was calibrated.

    Args:
        cut: The threshold: sentences scoring at least this stay.
        promised: The answer survives with at least this probability.
        confidence: With this probability over the draw of the calibration questions; where None,
            ``promised`` holds on average over such draws.
        questions: That it was calibrated on: those with an answer in their sentences.
        measured: Share of these whose answer survives, in [0, 1].
        kept: Mean share of sentences kept, over all questions given, in [0, 1].
    """

    cut: float
    promised: float
    confidence: float | None
    questions: int
    measured: float
    kept: float


def calibrate(
    questions: Sequence[ScoredQuestion],
    *,
    keep_answer: float = 0.95,
    confidence: float | None = None,
) -> Promise:
    """The cut that keeps least and still loses the answer at most as often as is promised.

    It is the largest observed score t for which
    ``n / (n + 1) * risk + 1 / (n + 1) <= 1 - keep_answer``, where ``risk`` is the share of the n
    questions that lose their answer. The promise then holds in expectation: on average over
    draws of calibration questions, not for each draw. With ``confidence`` it holds for each draw
    with that probability, too: the Clopper-Pearson upper bound of the risk is at most
    ``1 - keep_answer``.

    Args:
        questions: Held back: no part of the filter was trained on them. Those without an answer
            in their sentences count for ``kept`` only.
        keep_answer: Probability that the answer survives, over 0 and below 1.
        confidence: Over 0 and below 1; stricter.

    Raises:
        InputError: If an option breaks its rule, or there are too few questions for the promise;
            it names the number that would do.
    """
    for name, value in (("keep_answer", keep_answer), ("confidence", confidence)):
        if value is not None and not 0 < value < 1:
            raise InputError(f"{name} must be over 0 and below 1, got {value!r}")
    best = _best(questions)
    losses = _losses(len(best), keep_answer, confidence)
    cut = float(best[losses])  # as many lie below it, at most: fewer where scores are equal
    return Promise(
        cut, keep_answer, confidence, len(best), float((best >= cut).mean()), _kept(questions, cut)
    )


def _best(questions: Sequence[ScoredQuestion]) -> NDArray[np.float64]:
    """The highest score of each answer, rising: a cut above it loses that answer."""
    return np.sort([q.scores[q.holds].max() for q in questions if q.holds.any()])


def _kept(questions: Sequence[ScoredQuestion], cut: float) -> float:
    return float(np.mean([(q.scores >= cut).mean() for q in questions if q.scores.size]))


def _losses(n: int, keep_answer: float, confidence: float | None) -> int:
    """Number of ``n`` questions that may lose their answer."""
    allowed = math.floor(round((n + 1) * (1 - keep_answer) - 1, 9))  # 10 * (1 - 0.9) is below 1
    if confidence is not None:  # both promises are kept: the average one is stricter for some
        # Beta(1 - a; l + 1, n - l) <= r says the same as Binomial(l; n, r) <= a
        tails = bdtr(np.arange(n), n, 1 - keep_answer)
        allowed = min(allowed, int(np.searchsorted(tails, 1 - confidence, side="right")) - 1)
    if allowed < 0:
        also = "" if confidence is None else f" with confidence={confidence!r}"
        needed = least_questions(keep_answer, confidence)
        raise InputError(
            f"keep_answer={keep_answer!r}{also} needs at least {needed} questions with an answer "
            f"in their sentences, got {n}"
        )
    return min(allowed, n - 1)


def least_questions(keep_answer: float, confidence: float | None = None) -> int:
    """Number of questions with an answer in their sentences that a promise needs."""
    needed = math.ceil(round(keep_answer / (1 - keep_answer), 9))
    if confidence is None:
        return needed
    return max(needed, math.ceil(round(math.log(1 - confidence) / math.log(keep_answer), 9)))
