"""A budget in tokens, or as a share of all tokens, for the best segments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ragsieve.errors import InputError
from ragsieve.select.base import Selector, places
from ragsieve.system import ReaderLike, best_first
from ragsieve.types import Query, Segment


def check_keep(keep: float) -> None:
    """Raise `InputError` unless ``keep`` is tokens, an int, or a share from 0 to 1."""
    if keep < 0 or (isinstance(keep, float) and not keep <= 1):
        raise InputError(f"keep must be tokens or a share from 0 to 1, got {keep!r}")


def tokens_of(keep: float, total: int) -> int:
    """The tokens that ``keep`` is of so many in all."""
    return keep if isinstance(keep, int) else int(keep * total)


@dataclass(frozen=True)
class Budgeted:
    """A stage that keeps what a budget holds.

    Args:
        reader: Counts tokens; the budget is in its tokens.
        keep: The budget: tokens, where it is an int, else the share of all tokens, in [0, 1].

    Raises:
        InputError: If ``keep`` breaks its rule.
    """

    reader: ReaderLike
    keep: int | float

    def __post_init__(self) -> None:
        check_keep(self.keep)


@dataclass(frozen=True)
class Best(Budgeted, Selector):
    """Keep the best segments up to a budget, each counted by itself; the order stays.

    Raises:
        InputError: If a segment has no score yet.
    """

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        ranked = best_first(segments)
        sums = [*accumulate(self.reader.count([s.text for s in ranked]))]
        budget = tokens_of(self.keep, sums[-1] if sums else 0)
        most = bisect_right(sums, budget)
        reason = f"better ones have the {budget} tokens"
        ranks = zip(segments, places(segments), strict=True)
        return [f"{s.score:.2f}: {reason}" if n > most else "" for s, n in ranks]
