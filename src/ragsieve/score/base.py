"""Scorer, the base class: you write ``scores()``, it attaches them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.types import Query, Segment, in_order

Scores = NDArray[np.float32]
"""A score for each of some segments, ``(n_segments,)``."""

UNREAD = "unread"
"""Score of a segment for which a model's rating cannot be read, in place of that rating."""


class Scorer(ABC):
    """Adds one named, finite, higher-is-better score to every segment; keeps identity and order."""

    name: ClassVar[str]
    """What its score is called in `Segment.scores` and in the trace."""

    @abstractmethod
    def scores(self, query: Query, segments: Sequence[Segment]) -> Scores:
        """A score for each segment, ``(len(segments),)``; ``segments`` is not empty."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        scores = np.asarray(self.scores(query, segments))
        if scores.shape != (len(segments),) or not np.isfinite(scores).all():
            got = f"{' '.join(repr(scores).split()):.100} of shape {scores.shape}"
            raise ModelError(f"{self!r} must give {len(segments)} finite scores, got {got}")
        return [s.scored(self.name, score) for s, score in zip(segments, scores, strict=True)]


def by_document(segments: Sequence[Segment]) -> list[list[Segment]]:
    """The different spans of each document in the order of their places."""
    return [ordered for ordered, _ in in_order({s.key: s for s in segments}.values())]
