"""Cutting again from the trace is what the stages themselves would do."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from ragsieve import Pipeline, System, score, select
from ragsieve.answer import Reader
from ragsieve.inspector.recut import chain, cut_again, keys, ordering, recuts
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM, echo
from ragsieve.select.cut import Odds
from ragsieve.systems.pruningrag import pruningrag
from ragsieve.trace import Step, Trace
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")
ODDS = Odds(
    ((0.1, -0.1, 0.0), (0.6, 0.0, 0.1), (0.4, 0.3, 0.1), (0.2, 0.3, 0.4)), (-1.4, -0.5, -0.4, -0.5)
)


def scored(seed: int, n: int = 30) -> list[Segment]:
    """Segments with scores of two digits, so that some are equal."""
    draw = random.Random(seed)
    words = ["seals", "crofts", "sang", "summer", "breeze", "bees", "honey"]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(n)]
    return [
        Segment.whole(Document(str(place), text, rank=place)).scored("s", draw.randint(1, 99) / 100)
        for place, text in enumerate(texts)
    ]


def ran(stage: Any, given: list[Segment]) -> Step:
    trace = Trace()
    with trace.recording():
        Pipeline(stage)(QUERY, given)
    return trace.steps[0]


CASES = [
    (select.Threshold(0.5), "min_score", [0.0, 0.27, 0.5, 0.99, 1.0, 7.0]),
    (select.Threshold(0.5, min_keep=3), "min_score", [0.0, 0.9, 0.99, 1.0]),
    (select.TopK(5), "k", [0, 1, 7, 29, 30, 99]),
    (select.Cut(ODDS), "price", [0.0, 0.01, 0.03, 0.1, 0.5, 1.0]),
    (select.Cut(ODDS, min_keep=2), "price", [0.0, 0.5]),
    (select.Distinct(max_similarity=0.8), "max_similarity", [0.5, 0.6, 0.75, 0.9, 1.0]),
]


@pytest.mark.parametrize(("stage", "option", "values"), CASES)
def test_a_cut_off_keeps_what_the_stage_would(stage: Any, option: str, values: list[Any]) -> None:
    """The same segments in the same order, at the stage's own number and at others."""
    for seed in range(5):
        given = scored(seed)
        step = ran(stage, given)
        (cutoff,) = step.cutoffs

        assert (option, getattr(stage, option)) == (cutoff.option, cutoff.at)
        assert recuts(step)
        for value in values:
            expected = replace(stage, **{option: value})(QUERY, given)
            assert keys(expected) == keys(cut_again(cutoff, value))


def test_an_adaptive_threshold_can_be_moved() -> None:
    """It becomes a fixed one at which the best segment stays."""
    given = scored(1)
    (cutoff,) = ran(select.Adaptive(), given).cutoffs

    for value in (cutoff.at, 0.2, 0.8, 2.0):
        expected = select.Threshold(value, min_keep=1)(QUERY, given)
        assert keys(expected) == keys(cut_again(cutoff, value))


def test_a_threshold_that_may_empty_the_context_can() -> None:
    """An LLM that may propose one above every score leaves nothing behind a higher number."""
    adaptive = select.Adaptive(ScriptedLLM(["0.5"]), allow_empty=True)
    (cutoff,) = ran(adaptive, scored(1)).cutoffs

    assert (0.5, []) == (cutoff.at, cut_again(cutoff, 2.0))


def test_sets_are_cut_apart() -> None:
    """A stage that cuts inside each source tells a number for each, and both make its step."""
    trace = Trace()
    given = [
        replace(s, document=replace(s.document, metadata={"ragsieve.source": "ab"[n % 2]}))
        for n, s in enumerate(scored(2, 9))
    ]
    within = pruningrag(echo(), HashingEmbedder(), k=2, pages="few").stage
    with trace.recording():
        within(QUERY, given)
    step = trace.steps[-1]

    assert [("k", 2, 5), ("k", 2, 4)] == [(c.option, c.at, len(c.segments)) for c in step.cutoffs]
    assert recuts(step)


def test_a_stage_that_does_more_than_cut_cannot_be_cut_again() -> None:
    """One that turns what a cut-off keeps around, or cuts what it was not given."""
    given = scored(3)

    def turned(query: Query, segments: Any) -> list[Segment]:
        return select.TopK(5)(query, segments)[::-1]

    def others(query: Query, segments: Any) -> list[Segment]:
        return select.TopK(5)(query, [*segments, *scored(4, 40)[30:]])

    assert not recuts(ran(turned, given))
    assert not recuts(ran(others, given))
    assert not recuts(ran(select.Order("score"), given))


def test_too_many_near_duplicates_are_not_told() -> None:
    """A trace does not grow with the square of the documents: then there is no cut-off."""
    same = [Segment.whole(Document(str(n), "Seals sang.", rank=n)) for n in range(120)]

    assert [] == ran(select.Distinct(), same).cutoffs


@pytest.mark.parametrize("by", ["document", "score", "ends"])
def test_an_order_is_known(by: Any) -> None:
    """By what the stage says of itself; nothing else is an order."""
    assert by == ordering(ran(select.Order(by), scored(6)))
    assert "" == ordering(ran(select.TopK(3), scored(6)))


def test_only_steps_that_lead_to_what_is_kept_are_linked() -> None:
    """What a stage ran inside itself stands in the trace before it, and is not part of the way."""

    def inside(query: Query, segments: Any) -> list[Segment]:
        Pipeline(score.BM25(), select.TopK(1))(query, segments)
        return list(segments)[:3]

    made = System(Pipeline(inside, select.TopK(2)), Reader(echo()))
    result = made.ask(QUERY, ["Seals sang it.", "It rained.", "Crofts sang it.", "So."])

    assert range(2, 4) == chain(result)
    assert 5 == len(result.trace.steps)
