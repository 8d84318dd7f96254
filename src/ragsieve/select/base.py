"""Selector, the base class: you write ``verdicts()``, it drops what has a reason to go."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ragsieve.trace import record_drop
from ragsieve.types import Query, Segment, best_first, rank_key


class Selector(ABC):
    """Keeps some of the segments as they are, in their order, and tells why each other one goes."""

    ranked: ClassVar[bool] = False  # whether what is kept stands best first

    @abstractmethod
    def verdicts(self, query: Query, segments: Sequence[Segment]) -> Sequence[str]:
        """Why each segment goes, ``(len(segments),)``; empty where it stays."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        kept = []
        for segment, reason in zip(segments, self.verdicts(query, segments), strict=True):
            if reason:
                record_drop(segment, reason)
            else:
                kept.append(segment)
        return best_first(kept) if self.ranked else kept


def places(segments: Sequence[Segment]) -> list[int]:
    """Rank of each segment from 1 on, in the order of `ragsieve.system.best_first`."""
    order = sorted(range(len(segments)), key=lambda n: rank_key(segments[n]))
    rank = {n: place for place, n in enumerate(order, 1)}
    return [rank[n] for n in range(len(segments))]


def past(segments: Sequence[Segment], k: int, limit: str) -> list[str]:
    """Verdicts of all but the best ``k``; ``limit`` is what these are past."""
    return [f"rank {n} is past {limit}" if n > k else "" for n in places(segments)]
