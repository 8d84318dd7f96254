"""Cosine similarity to the question, of segments as they are read in their document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import SpanEmbedder
from ragsieve.models.wrap import unwrap
from ragsieve.prompts import titled
from ragsieve.score.base import Scorer
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class InContext(Scorer):
    """Cosine of question and segment, each segment read within its document, in [-1, 1].

    The embedder reads a document behind its title once, in windows of whole segments where it is
    longer than the embedder's input; a segment has the mean of the last states of its own tokens.

    Args:
        embedder: A bi-encoder that has ``embed_spans``.

    Raises:
        InputError: If it has not.

    Source: CPC (arXiv 2409.01227), section 3; its code's mean pooling by sentence.
    """

    embedder: SpanEmbedder
    name: ClassVar[str] = "in_context"

    def __post_init__(self) -> None:
        if not hasattr(unwrap(self.embedder), "embed_spans"):
            raise InputError(f"embedder must be one with embed_spans, got {self.embedder!r:.80}")

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Cosines, ``(len(segments),)``."""
        spans: dict[str, dict[tuple[int, int], None]] = {}  # of each text, behind its title
        places = []
        for segment in segments:
            whole = titled(Segment.whole(segment.document))
            shift = len(whole) - len(segment.document.text)
            place = segment.start + shift, segment.end + shift
            spans.setdefault(whole, {})[place] = None
            places.append((whole, place))
        ordered = [sorted(some) for some in spans.values()]
        vectors = self.embedder.embed_spans([*spans], ordered)
        known = {
            (text, place): vector
            for text, some, rows in zip(spans, ordered, vectors, strict=True)
            for place, vector in zip(some, rows, strict=True)
        }
        question = self.embedder.embed([query.text], query=True)[0]  # (dim,)
        return np.asarray(np.array([known[place] for place in places]) @ question, np.float32)
