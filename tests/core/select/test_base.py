"""Selectors of your own: what goes has a reason in the trace."""

from dataclasses import dataclass

import pytest

from ragsieve import Pipeline, System, score
from ragsieve.answer import Reader
from ragsieve.models.fake import echo
from ragsieve.select.base import Selector


@dataclass(frozen=True)
class Short(Selector):
    """Keeps texts of at most so many characters."""

    most: int
    ranked: bool = False

    def verdicts(self, query, segments):
        return ["" if len(s.text) <= self.most else f"over {self.most}" for s in segments]


@pytest.mark.parametrize(("ranked", "kept"), [(False, ["b", "abc"]), (True, ["abc", "b"])])
def test_what_goes_is_told_by_its_reason(ranked, kept):
    """In the result, without another line of code; what stays is in its order, or best first."""
    stage = Pipeline(score.BM25(), Short(3, ranked))
    result = System(stage, Reader(echo()))("abc", ["b", "abcd", "abc"])

    assert kept == [segment.text for segment in result.kept]
    assert [("abcd", "over 3")] == [(v.segment.text, v.reason) for v in result.verdicts if v.stage]
