"""Scorer, the base class: you write ``scores()``, it attaches them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import LLM, Prompt
from ragsieve.types import Query, Segment

UNREAD = "unread"
"""Score of a segment for which a model's rating cannot be read, in place of that rating."""


class Scorer(ABC):
    """Adds one named, finite, higher-is-better score to every segment; keeps identity and order."""

    name: ClassVar[str]
    """What its score is called in `Segment.scores` and in the trace."""

    @abstractmethod
    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """A score for each segment, ``(len(segments),)``; ``segments`` is not empty."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        scores = np.asarray(self.scores(query, segments))
        if scores.shape != (len(segments),) or not np.isfinite(scores).all():
            got = f"{' '.join(repr(scores).split()):.100} of shape {scores.shape}"
            raise ModelError(f"{self!r} must give {len(segments)} finite scores, got {got}")
        return [s.scored(self.name, score) for s, score in zip(segments, scores, strict=True)]


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


def by_document(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The different spans of each document in the order of their places."""
    documents: dict[str, dict[tuple[str, int, int], Segment]] = {}
    for segment in segments:
        documents.setdefault(segment.document.id, {})[segment.key] = segment
    return [sorted(d.values(), key=lambda s: (s.start, s.end)) for d in documents.values()]


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
