"""Probabilities of a sentence pruner, one for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.models.base import PASSAGE, SentencePruner
from ragsieve.score.base import Scorer, in_passages
from ragsieve.trace import set_answerable
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class Pruner(Scorer):
    """Probability that a segment is needed for the answer, in [0, 1], read in its document.

    The model reads the segments of each document in their order there, whatever order they come
    in; a span that comes twice is read once. Before its own score, ``pruner``, a segment gets
    ``passage``, the probability that its document answers; the trace records the highest one.

    Args:
        model: Reads a question with passages.

    Raises:
        ModelError: If the model fails, or does not give a probability for every segment.

    Source: The extractor of FineFilter (arXiv 2502.11811v4), section 4.1, as the one pass of
        Provence (arXiv 2501.16214).
    Differs: No token is generated: each sentence gets a probability, for a threshold behind it.
    """

    model: SentencePruner
    name: ClassVar[str] = "pruner"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Probabilities, ``(len(segments),)``."""
        return np.array([s.score for s in self(query, segments)], np.float32)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        read, passages = in_passages(segments)
        (pruned,) = self.model.prune([query.text], [passages])
        for expected, values in ((len(read), pruned.sentences), (len(passages), pruned.passages)):
            if len(values) != expected or not all(0 <= value <= 1 for value in values):
                raise ModelError(
                    f"{self.model.identity} must give {expected} probabilities, got {values!r:.100}"
                )
        set_answerable(max(pruned.passages))
        documents = dict.fromkeys(s.document.id for s in read)  # in the order of the passages
        answers = dict(zip(documents, pruned.passages, strict=True))
        needed = dict(zip((s.key for s in read), pruned.sentences, strict=True))
        return [
            s.scored(PASSAGE, answers[s.document.id]).scored(
                self.name, float(np.float32(needed[s.key]))
            )
            for s in segments
        ]
