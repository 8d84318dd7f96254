"""Fit a curve from a score to the probability that a segment helps."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.errors import InputError, needs_extra

with needs_extra("train"):
    from sklearn.linear_model import LogisticRegression

from ragsieve.files import replace_lines
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.evaluate.scorers import ScoredSegments
from ragsieve_research.evaluate.stats import Values
from ragsieve_research.score.calibrated import Logistic

FLOOR = 1e-3  # no probability is nearer to 0 or 1: no number of labels shows that much
_BINS = 10


@dataclass(frozen=True)
class Quality:
    """Quality of probabilities.

    Args:
        brier: Mean squared error, in [0, 1].
        log_loss: Mean negative log-likelihood, in nats; nearer to 0 or 1 than 0.001 counts as so.
        calibration_error: Mean distance of a bin's mean probability from its share of segments that
            help, over ten bins of equal width, each by its size; in [0, 1].
        auc: Mean area under the curve within a question; None where none has both kinds.
    """

    brier: float
    log_loss: float
    calibration_error: float
    auc: float | None


@dataclass(frozen=True)
class Fit:
    """A curve, and what it is worth on questions that it was not fitted to.

    Args:
        curve: The curve.
        before: The score itself as a probability; None where it does not lie in [0, 1].
        base: Every segment the share of those that help where the curve was fitted.
        after: The curve.
    """

    curve: Logistic
    before: Quality | None
    base: Quality
    after: Quality

    @property
    def level(self) -> bool:
        """Whether the curve says the same of all: the score does not rise with what helps."""
        return self.curve.slope == 0

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        worth = {"before": self.before, "base": self.base, "after": self.after}
        return {
            "curve": self.curve.to_dict(),
            "test": {name: quality and asdict(quality) for name, quality in worth.items()},
        }


def calibrate(known: Sequence[ScoredSegments], test: Sequence[ScoredSegments], name: str) -> Fit:
    """Fit a curve to the scores of some questions, and measure it on others.

    Args:
        known: To fit to.
        test: To measure on.
        name: Of the scorer.

    Raises:
        InputError: If ``known`` lacks a kind, or ``test`` is empty.
    """
    if not test:
        raise InputError("a curve must be measured on at least one question, got none")
    pooled, helps = _pooled(known, name)
    curve, base = fit(pooled, helps), float(helps.mean())
    scores = [q.scores[name] for q in test]
    fits = all(s.min() >= 0 and s.max() <= 1 for s in scores)
    return Fit(
        curve,
        _quality(test, scores) if fits else None,
        _quality(test, [np.full_like(s, base) for s in scores]),
        _quality(test, [curve(s) for s in scores]),
    )


def fit(scores: Values, helps: Values) -> Logistic:
    """The curve that makes labels most probable; it does not fall, whatever the labels say.

    Args:
        scores: Of segments, ``(n,)``.
        helps: 1 where a segment helps, else 0, ``(n,)``.

    Raises:
        InputError: If all labels are equal.
    """
    if len(np.unique(helps)) < 2:
        raise InputError(
            f"a curve must be fitted to segments that help and others, got {len(helps)} of one kind"
        )
    middle, scale = scores.mean(), scores.std() or 1.0  # so that the prior fits every score
    fitted = LogisticRegression().fit((scores[:, None] - middle) / scale, helps)
    slope = float(fitted.coef_[0, 0] / scale)
    if slope <= 0:  # the best that does not fall is level
        return Logistic(0.0, float(np.log(helps.mean() / (1 - helps.mean()))))
    return Logistic(slope, float(fitted.intercept_[0] - slope * middle))


def write(path: Path, fitted: Fit, origin: Mapping[str, Any]) -> None:
    """Write a curve with its figures and what made it, as `score.Calibrated.load` reads it.

    Raises:
        InputError: If the file cannot be written.
    """
    text = json.dumps({**origin, **fitted.to_dict()}, indent=2)
    replace_lines(path, [text.encode() + b"\n"])


def _pooled(questions: Sequence[ScoredSegments], name: str) -> tuple[Values, Values]:
    """Scores and labels of all segments, each ``(n,)``."""
    if not questions:
        raise InputError("a curve must be fitted to at least one question, got none")
    scores = np.concatenate([q.scores[name] for q in questions])
    return scores, np.concatenate([q.grades > 0 for q in questions]).astype(np.float64)


def _quality(questions: Sequence[ScoredSegments], probabilities: Sequence[Values]) -> Quality:
    p = np.concatenate(probabilities)
    helps = np.concatenate([q.grades > 0 for q in questions])
    clipped = np.clip(p, FLOOR, 1 - FLOOR)
    bins = np.minimum((p * _BINS).astype(int), _BINS - 1)
    gaps = np.abs(np.bincount(bins, p - helps, _BINS))  # of sums: already by the bins' sizes
    pairs = zip(questions, probabilities, strict=True)
    areas = [area for q, some in pairs if (area := auc(q.grades, some)) is not None]
    return Quality(
        brier=float(np.square(p - helps).mean()),
        log_loss=float(-np.log(np.where(helps, clipped, 1 - clipped)).mean()),
        calibration_error=float(gaps.sum() / len(p)),
        auc=float(np.mean(areas)) if areas else None,
    )
