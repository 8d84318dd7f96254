"""Fit a cut point to what the generator could answer from."""

from collections.abc import Sequence

import numpy as np

from ragsieve.errors import InputError, needs_extra
from ragsieve.schema import Count, check_number

with needs_extra("train"):
    from sklearn.linear_model import LogisticRegression

from ragsieve.select.cut import Odds, inputs
from ragsieve_research.train.examples import TrainingExample

STRENGTH = 0.1  # variance of each weight's prior; on 262 questions 0.01 to 1 were equally good


def fit_odds(examples: Sequence[TrainingExample], *, max_clues: int = 4) -> Odds:
    """Fit the probability that the generator answers from the best K sentences.

    Args:
        examples: With ``scores`` and ``right``; those without teach nothing.
        max_clues: The highest K, at least 1; examples with fewer ranked sentences teach these.

    Raises:
        InputError: If an option breaks its rule, or no example teaches the highest K.
    """
    check_number("max_clues", max_clues, Count)
    weights, bias = [], []
    for k in range(max_clues + 1):
        known = [example for example in examples if len(example.right) > k]
        if not known:
            raise InputError(f"no example says whether the generator answers from {k} sentences")
        seen = np.array([inputs(example.scores, max_clues) for example in known])  # (n, max_clues)
        right = np.array([example.right[k] for example in known])
        if right.all() or not right.any():  # half an example of either kind more, as a prior
            share = (right.sum() + 0.5) / (len(right) + 1)
            weights.append((0.0,) * max_clues)
            bias.append(float(np.log(share / (1 - share))))
            continue
        fitted = LogisticRegression(C=STRENGTH, max_iter=1000).fit(seen, right)
        weights.append(tuple(map(float, fitted.coef_[0])))
        bias.append(float(fitted.intercept_[0]))
    return Odds(tuple(weights), tuple(bias))
