"""Cosine similarity to the question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ragsieve.models.base import Embedder
from ragsieve.prompts import titled
from ragsieve.score.base import Scorer, Scores
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class Cosine(Scorer):
    """Cosine of question and segment, in [-1, 1].

    Args:
        embedder: A bi-encoder.
        titles: Whether a segment is embedded behind its document's title.

    Source: FineFilter (arXiv 2502.11811v4), section 4.2: the reranker's similarity.
    Differs: Titles are embedded too, where there are any; sentences often leave out their subject.
    """

    embedder: Embedder
    titles: bool = True
    name: ClassVar[str] = "cosine"

    def scores(self, query: Query, segments: Sequence[Segment]) -> Scores:
        """Cosines, ``(len(segments),)``."""
        texts = [titled(s) if self.titles else s.text for s in segments]
        question = self.embedder.embed([query.text], query=True)[0]  # (dim,)
        return np.asarray(self.embedder.embed(texts) @ question, np.float32)
