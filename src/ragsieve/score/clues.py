"""A trained model reads once: a keep-probability for every sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.models.base import ClueReader
from ragsieve.score.base import Scorer, in_passages
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class Clues(Scorer):
    """Probability that a segment is a clue, in [0, 1], from one reading of all segments.

    The model reads documents in the order of their rank, segments as they stand in them, whatever
    order they come in; a span that comes twice is read once.

    Args:
        model: Reads question and documents together.

    Raises:
        ModelError: If the model fails, or does not give a probability for every segment.

    Source: The extractor of FineFilter (arXiv 2502.11811v4), section 4.1, as the one pass of
        Provence (arXiv 2501.16214).
    Differs: No token is generated: each sentence gets a probability, for a threshold behind it.
    """

    model: ClueReader
    name: ClassVar[str] = "clues"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Probabilities, ``(len(segments),)``."""
        read, passages = in_passages(segments)
        (found,) = self.model.clues([query.text], [passages])
        if len(found) != len(read) or not all(0 <= value <= 1 for value in found):
            raise ModelError(
                f"{self.model.identity} must give {len(read)} probabilities, got {found!r:.100}"
            )
        by_key = dict(zip((s.key for s in read), found, strict=True))
        return np.array([by_key[s.key] for s in segments], np.float32)
