"""Selectors of your own: what goes has a reason in the trace."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from ragsieve.answer import Reader
from ragsieve.models.fake import echo
from ragsieve.select.base import Selector, places
from ragsieve.system import Pipeline, System
from ragsieve.types import Document, Query, Segment


@dataclass(frozen=True)
class Short(Selector):
    """Keeps texts of at most so many characters."""

    most: int
    ranked: bool = False  # type: ignore[misc]
    verdicts_of: int | None = None

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        reasons = ["" if len(s.text) <= self.most else f"over {self.most}" for s in segments]
        return reasons[: self.verdicts_of]


def segments(**scores: float) -> list[Segment]:
    found = ((name, Segment.whole(Document(name, name))) for name in scores)
    return [segment.scored("own", scores[name]) for name, segment in found]


@pytest.mark.parametrize(("ranked", "expected"), [(False, ["a", "b"]), (True, ["b", "a"])])
def test_what_stays_is_in_its_order_or_best_first(ranked: bool, expected: list[str]) -> None:
    """As the class says."""
    kept = Short(1, ranked)(Query("q"), segments(a=1, long=3, b=2))

    assert expected == [segment.text for segment in kept]
    assert [3, 1, 2] == places(segments(a=1, long=3, b=2))


def test_what_goes_is_told_by_its_reason() -> None:
    """In the result, without another line of code."""
    system = System(Pipeline(Short(3)), Reader(echo()))
    result = system("q", ["abc", "abcd"])

    assert [("abcd", "over 3")] == [(v.segment.text, v.reason) for v in result.verdicts if v.stage]
