"""Cross-encoders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragsieve.models.base import CrossEncoder
from ragsieve.prompts import titled
from ragsieve.score.base import Scorer, Scores
from ragsieve.types import Query, Segment


@dataclass(frozen=True)
class Pair(Scorer):
    """A cross-encoder's score of question and segment, behind its title, read together.

    Args:
        model: A cross-encoder; its range is the score's range.
    """

    model: CrossEncoder
    name: ClassVar[str] = "pair"

    def scores(self, query: Query, segments: Sequence[Segment]) -> Scores:
        """The model's scores, ``(len(segments),)``."""
        return self.model.score([(query.text, titled(s)) for s in segments])
