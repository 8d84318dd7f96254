"""Combine several scores: rank fusion, weighted mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.score.base import UNREAD, Scorer
from ragsieve.types import Query, Segment, rounded
from ragsieve_research.fusion import check_weights, fuse
from ragsieve_research.score.base import scores_of


@dataclass(frozen=True)
class Hybrid(Scorer):
    """Weighted reciprocal rank fusion of scorers, in [0, 1/61]; see
    `ragsieve_research.fusion.fuse`.

    Args:
        scorers: At least one; each ranks the segments, equal scores in the order of the input, but
            those that it scores 0: BM25 knows no order of what has no word of the question.
        weights: One for each, not negative and not all 0; equal ones where None.

    Raises:
        InputError: If there is no scorer, or a weight breaks its rule.
        ModelError: If a scorer's model fails, or its scores are not finite.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Hybrid Retrieval and Re-Ranking": 0.5 each.
    """

    scorers: tuple[Scorer, ...]
    weights: tuple[float, ...] | None = None
    name: ClassVar[str] = "fused"

    def __post_init__(self) -> None:
        _check("scorers", self.scorers, self.weights)

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Fused ranks, ``(len(segments),)``."""
        scores = [[rounded(s.score) for s in scorer(query, segments)] for scorer in self.scorers]
        rankings = [
            [place for place in np.argsort(-np.array(one), kind="stable") if one[place]]
            for one in scores
        ]
        fused = fuse(rankings, _shares(self.scorers, self.weights))
        return np.array([fused.get(place, 0) for place in range(len(segments))], np.float32)


@dataclass(frozen=True)
class Mean(Scorer):
    """Weighted mean of scores that segments have, by name.

    Of a segment with an ``unread`` score (`ragsieve_research.score.judge`) names that it lacks are
    left out; where it lacks all, that score is the mean.

    Args:
        names: Names of scores, at least one.
        weights: One for each, not negative and not all 0; equal ones where None.

    Raises:
        InputError: If there is no name, a weight breaks its rule, or a segment without an
            ``unread`` score lacks one.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Final Score Calculation".
    """

    names: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    name: ClassVar[str] = "mean"

    def __post_init__(self) -> None:
        _check("names", self.names, self.weights)

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Means, ``(len(segments),)``."""
        shares = np.array(_shares(self.names, self.weights))
        return np.array([self._mean(segment, shares) for segment in segments], np.float32)

    def _mean(self, segment: Segment, shares: NDArray[np.float64]) -> float:
        unread = UNREAD in segment.scores
        known = np.array([name in segment.scores or not unread for name in self.names])
        if not (known @ shares):
            return segment.scores[UNREAD]
        names = [name for name, one in zip(self.names, known, strict=True) if one]
        values = np.array([scores_of([segment], name)[0] for name in names])
        return float(values @ (shares[known] / shares[known].sum()))


def _check(name: str, values: Sequence[object], weights: Sequence[float] | None) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise InputError(f"{name} must be a tuple of at least one, got {values!r}")
    if weights is not None:
        check_weights(weights)
        if len(weights) != len(values):
            raise InputError(f"weights must be {len(values)}, one of {name}, got {weights!r}")


def _shares(values: Sequence[object], weights: Sequence[float] | None) -> list[float]:
    """Weights that sum to 1."""
    chosen = weights or [1.0] * len(values)
    return [weight / sum(chosen) for weight in chosen]
