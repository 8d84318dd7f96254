"""What several scorers share: scores by name, gains in likelihood, the logistic function."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Prompt
from ragsieve.types import Segment


def scores_of(segments: Sequence[Segment], name: str) -> NDArray[np.float64]:
    """Scores of one name, ``(len(segments),)``.

    Raises:
        InputError: If a segment lacks it.
    """
    for segment in segments:
        if name not in segment.scores:
            known = ", ".join(segment.scores) or "none"
            rule = f"scores of {segment.key!r} are {known}, got no {name!r}"
            raise InputError(f"{rule}: put its scorer before")
    return np.array([segment.scores[name] for segment in segments])


def likelihood_gains(
    llm: LLM, prompts: Sequence[Prompt], texts: Sequence[str]
) -> tuple[NDArray[np.float64], int]:
    """By how much each prompt makes each text likelier than the last prompt does, in nats.

    Of shape ``(len(prompts) - 1, len(texts))``; and the tokens of all texts.

    Raises:
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a prompt with a text does not fit its context.
    """
    tokens = llm.loglik([p for p in prompts for _ in texts], [*texts] * len(prompts))
    sums = np.array([sum(values) for values in tokens], np.float64)
    sums = sums.reshape(len(prompts), len(texts))
    return sums[:-1] - sums[-1], sum(map(len, tokens[: len(texts)]))


def logistic(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function, in [0, 1]."""
    return np.asarray(0.5 + np.tanh(odds / 2) / 2)  # exp would overflow
