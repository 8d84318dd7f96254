"""A cut point predicted from the scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.schema import Amount, Options, Probability
from ragsieve.select.base import Selector, past
from ragsieve.trace import Cutoff, record_cutoff
from ragsieve.types import Query, Segment, rounded

FLOOR = 1e-3  # scores nearer to 0 or 1 count as this near
LARGEST = 10**6  # size of a number of a regression, which may come from a file of anyone


@dataclass(frozen=True, repr=False)
class Odds:
    """Probability that the generator answers from the first K, by logistic regression.

    Args:
        weights: Of the logits of the n best scores, best first; a row for each K from 0 on,
            ``(n + 1, n)``.
        bias: Of each K, ``(n + 1,)``.

    Raises:
        InputError: If the shapes do not fit, or a number is not finite or over `LARGEST` in size.
    """

    weights: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]

    def __post_init__(self) -> None:
        rows = len(self.bias)
        if rows < 2 or [len(row) for row in self.weights] != [rows - 1] * rows:
            raise InputError(f"weights must have {rows} rows of {rows - 1} numbers, at least 1")
        if not all(abs(w) <= LARGEST for w in (*self.bias, *chain(*self.weights))):
            raise InputError(f"weights and bias must be finite, from -{LARGEST} to {LARGEST}")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"weights": self.weights, "bias": self.bias}

    def __repr__(self) -> str:
        return f"Odds(0 to {len(self.bias) - 1})"

    def __call__(self, scores: Sequence[float]) -> NDArray[np.float64]:
        """Probability for each K from 0 on, ``(n + 1,)``."""
        logits = np.array(self.weights) @ inputs(scores, len(self.bias) - 1) + self.bias
        return np.asarray(0.5 + 0.5 * np.tanh(logits / 2))  # cannot overflow


def inputs(scores: Sequence[float], most: int) -> NDArray[np.float64]:
    """Inputs of the regression: logits of the ``most`` best scores, ``(most,)``.

    Args:
        scores: Probabilities, best first; where there are fewer, the lowest possible follow.
        most: Highest cut point.
    """
    best = np.full(most, FLOOR)
    best[: len(scores)] = np.clip(scores[:most], FLOOR, 1 - FLOOR)
    return np.asarray(np.log(best / (1 - best)))


@dataclass(frozen=True)
class Cut(Options, Selector):
    """Keep the first K of the ranked segments, best first, where K is worth most.

    K is worth the probability that the generator answers from the first K, less ``price`` for each.
    So nothing is kept where it answers as well by itself. No model is called.

    Args:
        odds: How probably it answers from each K, by the scores, which are probabilities of clues.
        price: What a segment must add to the probability of a right answer, in [0, 1].
        min_keep: K is at least this; not negative.
        reads: Name of the score that the odds were fitted to; the last one where empty.

    Raises:
        InputError: If an option breaks its rule, or a segment has no such score.

    Source: The truncator of FineFilter (arXiv 2502.11811v4), section 4.3.
    Differs: K is weighed by what it is worth, and read off the extractor's probabilities.
    """

    odds: Odds
    price: Probability = 0.03
    min_keep: Amount = 0
    reads: str = ""
    ranked: ClassVar = True

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        if not segments:
            return []
        scores = sorted(map(self._score, segments), reverse=True)
        odds = np.array([rounded(p) for p in self.odds(scores)[: len(scores) + 1]])
        k = max(int(np.argmax(odds - self.price * np.arange(len(odds)))), self.min_keep)
        worth, least = tuple(odds.tolist()), self.min_keep
        every = tuple(segments)
        record_cutoff(Cutoff("price", self.price, "worth", every, min_keep=least, worth=worth))
        return past(segments, k, f"the cut point {k}")

    def _score(self, segment: Segment) -> float:
        if not self.reads:
            return segment.score
        if self.reads not in segment.scores:
            known = ", ".join(segment.scores) or "none"
            raise InputError(f"a cut fitted to the score {self.reads!r} needs it, got {known}")
        return segment.scores[self.reads]
