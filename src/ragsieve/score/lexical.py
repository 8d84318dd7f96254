"""Word overlap, BM25."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import bm25s
import numpy as np

from ragsieve.prompts import titled
from ragsieve.schema import Options, Probability, Weight
from ragsieve.score.base import Scorer, Scores
from ragsieve.text import words
from ragsieve.types import Query, Segment


@dataclass(frozen=True, kw_only=True)
class BM25(Options, Scorer):
    """BM25 (Lucene's form) of the question over the segments at hand, at least 0.

    Words are lower-cased runs of letters and digits; Chinese and Japanese go by character.

    Args:
        k1: How soon repeated words stop counting; not negative.
        b: How much length counts, in [0, 1].
        titles: Whether a segment's words include its document's title.

    Raises:
        InputError: If ``k1`` or ``b`` is out of range.

    Source: Robertson and Zaragoza 2009, as computed by bm25s.
    """

    k1: Weight = 1.5
    b: Probability = 0.75
    titles: bool = True
    name: ClassVar[str] = "bm25"

    def scores(self, query: Query, segments: Sequence[Segment]) -> Scores:
        """BM25 scores, ``(len(segments),)``."""
        corpus = [words(titled(s) if self.titles else s.text) for s in segments]
        known = {word for text in corpus for word in text}
        terms = [word for word in words(query.text) if word in known]
        if not terms:
            return np.zeros(len(segments), np.float32)
        index = bm25s.BM25(method="lucene", k1=self.k1, b=self.b)
        index.index(corpus, show_progress=False)
        return np.asarray(index.get_scores(terms), np.float32)
