"""Which steps of a trace can be cut again, and in which order they lead to what was kept."""

import random
from dataclasses import replace

import pytest

from ragsieve import Document, Pipeline, Query, Segment, System, score, select
from ragsieve.answer import Reader
from ragsieve.inspector.views import chain, cuts_apart, ordering
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.trace import Trace
from ragsieve_research.select.distinct import Distinct
from ragsieve_research.systems.pruningrag import pruningrag

QUERY = Query("Who sang it?")


def scored(seed, n=30):
    """Segments with scores of two digits, so that some are equal."""
    draw = random.Random(seed)
    words = ["seals", "crofts", "sang", "summer", "breeze", "bees", "honey"]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(n)]
    return [
        Segment.whole(Document(str(place), text, rank=place)).scored("s", draw.randint(1, 99) / 100)
        for place, text in enumerate(texts)
    ]


def ran(stage, given):
    trace = Trace()
    with trace.recording():
        Pipeline(stage)(QUERY, given)
    return trace.steps[0]


def test_sets_are_cut_apart():
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
    assert cuts_apart(step)


def test_what_is_cut_elsewhere_cannot_be_cut_again():
    """Nor are too many near duplicates told: a trace grows with no square."""
    given = scored(3)

    def others(query, segments):
        return select.TopK(5)(query, [*segments, *scored(4, 40)[30:]])

    assert cuts_apart(ran(select.TopK(5), given))
    assert not cuts_apart(ran(others, given))
    assert not cuts_apart(ran(select.Order("score"), given))

    same = [Segment.whole(Document(str(n), "Seals sang.", rank=n)) for n in range(120)]

    assert [] == ran(Distinct(), same).cutoffs


@pytest.mark.parametrize("by", ["document", "score", "ends"])
def test_an_order_is_known(by):
    """By what the stage says of itself; nothing else is an order."""
    assert by == ordering(ran(select.Order(by), scored(6)))
    assert "" == ordering(ran(select.TopK(3), scored(6)))


def test_only_steps_that_lead_to_what_is_kept_are_linked():
    """What a stage ran inside itself stands in the trace before it, and is not part of the way."""

    def inside(query, segments):
        Pipeline(score.BM25(), select.TopK(1))(query, segments)
        return list(segments)[:3]

    made = System(Pipeline(inside, select.TopK(2)), Reader(echo()))
    result = made.ask(QUERY, ["Seals sang it.", "It rained.", "Crofts sang it.", "So."])

    assert range(2, 4) == chain(result)
    assert 5 == len(result.trace.steps)
