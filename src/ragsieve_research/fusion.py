"""Rank fusion: one ranking of several, by rank alone."""

import math
from collections.abc import Hashable, Sequence
from typing import TypeVar

from ragsieve.errors import InputError

K = TypeVar("K", bound=Hashable)

_CONSTANT = 60  # how little the first places stand out


def fuse(rankings: Sequence[Sequence[K]], weights: Sequence[float]) -> dict[K, float]:
    """Weighted reciprocal rank fusion: the sum of weight / (60 + rank), ranks from 1.

    Best first; equal ones in the order in which they are first seen, ranking by ranking. What
    occurs twice in a ranking counts at its better place.

    Args:
        rankings: Each best first; what a ranking does not hold gets nothing from it.
        weights: One a ranking; not negative, not all 0.

    Raises:
        InputError: If an option breaks its rule.

    Source: Cormack, Clarke and Buettcher 2009, "Reciprocal Rank Fusion", with weights.
    """
    check_weights(weights)
    if len(rankings) != len(weights):
        raise InputError(f"weights must be {len(rankings)}, one a ranking, got {weights!r}")
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, key in enumerate(dict.fromkeys(ranking), 1):
            scores[key] = scores.get(key, 0.0) + weight / (_CONSTANT + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def check_weights(weights: Sequence[float]) -> None:
    """Raise `InputError` where a weight is negative or not finite, or all are 0."""
    if not all(0 <= weight < math.inf for weight in weights) or not any(weights):
        raise InputError(f"weights must be finite, not negative and not all 0, got {weights!r}")
