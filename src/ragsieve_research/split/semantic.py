"""Neighbouring sentences joined while their embeddings agree."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import Embedder
from ragsieve.schema import Count, Similarity, check_options
from ragsieve.text import sentence_spans
from ragsieve.types import Query, Segment, rounded

LONGEST = 1000  # characters after which a sentence is cut at white space, as in split.Sentences
BLOCK = 4096  # pairs compared at a time: bounds the memory

Span = tuple[int, int, int]  # place of its segment, start and end in the document


@dataclass(frozen=True)
class Semantic:
    """Split segments into chunks of neighbouring sentences that are about the same.

    A sentence joins the chunk before it while its cosine to the sentence before is at least
    ``min_similarity`` and the chunk stays within ``max_chars``. Chunks are verbatim, the white
    space between their sentences included, and never go past the segment they are of. The embedder
    is called at most once, for each different sentence that could join a neighbour.

    Args:
        embedder: A bi-encoder.
        min_similarity: Cosine from which neighbours are joined, in [-1, 1].
        max_chars: Characters of a chunk of several sentences; at least 1. A longer sentence is a
            chunk by itself; from 1000 characters on, or ``max_chars`` where that is more, it is cut
            at white space.
        language: ISO 639-1 code whose abbreviations count, as in `Sentences`.

    Raises:
        InputError: If an option is out of its range.
        ModelError: If the embedder fails, or does not give one finite vector a sentence.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Semantic Chunking".
    Differs: Sentences by sentencex rather than NLTK; equal neighbours always agree.
    """

    embedder: Embedder
    min_similarity: Similarity = field(default=0.7, kw_only=True)
    max_chars: Count = field(default=500, kw_only=True)
    language: str = field(default="en", kw_only=True)

    def __post_init__(self) -> None:
        check_options(self)
        if not self.language:
            raise InputError(f"language must be an ISO 639-1 code, got {self.language!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        longest = max(LONGEST, self.max_chars)
        sentences = [
            (place, whole.start + start, whole.start + end)
            for place, whole in enumerate(segments)
            for start, end in sentence_spans(whole.text, language=self.language, max_chars=longest)
        ]
        chunks: list[Span] = []
        for sentence, agrees in zip(sentences, self._agree(segments, sentences), strict=True):
            place, _, end = sentence
            if agrees and end - chunks[-1][1] <= self.max_chars:
                chunks[-1] = (place, chunks[-1][1], end)
            else:
                chunks.append(sentence)
        return [Segment(segments[place].document, start, end) for place, start, end in chunks]

    def _agree(self, segments: Sequence[Segment], sentences: Sequence[Span]) -> list[bool]:
        """For each sentence whether it may join the one before it."""
        agree = [False] * len(sentences)
        rows: dict[str, int] = {}  # a row of the vectors for each different text
        pairs = []  # (place of the second sentence, row of the first, row of the second)
        for second, (before, after) in enumerate(pairwise(sentences), 1):
            if before[0] != after[0] or after[2] - before[1] > self.max_chars:
                continue  # these two cannot be in one chunk, whatever they mean
            text = segments[after[0]].document.text
            left, right = text[before[1] : before[2]], text[after[1] : after[2]]
            if left == right:
                agree[second] = True
            else:
                places = [rows.setdefault(part, len(rows)) for part in (left, right)]
                pairs.append((second, *places))
        if pairs:
            vectors = self._embedded(list(rows))
            for start in range(0, len(pairs), BLOCK):
                seconds, lefts, rights = np.array(pairs[start : start + BLOCK]).T
                cosines = np.einsum("nd,nd->n", vectors[lefts], vectors[rights])
                for second, cosine in zip(seconds, np.clip(cosines, -1, 1), strict=True):
                    agree[second] = rounded(cosine) >= rounded(self.min_similarity)
        return agree

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.asarray(self.embedder.embed(texts), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self.embedder!r} must give {len(texts)} finite vectors, "
                f"got {' '.join(repr(vectors).split()):.100} of shape {vectors.shape}"
            )
        return vectors
