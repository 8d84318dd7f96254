"""A fixed cutoff."""

from dataclasses import replace

import pytest

from ragsieve import Document, InputError, Segment, load
from ragsieve.models.fake import OverlapPruner
from ragsieve.select.threshold import PROMISED, Threshold, lead
from ragsieve.select.top import TopK
from tests.segments import QUERY, scored, traced


def test_the_cutoff_itself_is_kept():
    """In the order given, a float32's last digits aside; min_keep spares the best."""
    kept = Threshold(0.5)(QUERY, scored(0.4, 0.5, 0.9, 0.1))

    assert [0.5, 0.9] == [s.score for s in kept]

    assert 3 == len(Threshold(0.5)(QUERY, scored(0.5 - 1e-6, 0.5, 0.5 + 1e-6)))
    assert ["0", "1", "2"] == [
        s.document.id for s in TopK(3)(QUERY, scored(0.5, 0.5 + 1e-6, 0.5 - 1e-6))
    ]

    kept = Threshold(0.5, min_keep=2)(QUERY, scored(0.2, 0.1, 0.3))

    assert [0.2, 0.3] == [s.score for s in kept]


def test_a_low_score_is_the_reason():
    """With score and cutoff in digits that tell them apart; without a score, an error."""
    _, record = traced(Threshold(0.5), scored(0.25))

    assert ["score 0.250 is below min_score=0.5"] == [d.reason for d in record.dropped]

    with pytest.raises(InputError, match="has no score yet: put a scorer before"):
        Threshold(0.5)(QUERY, [Segment.whole(Document("d", "text"))])

    _, record = traced(Threshold(0.2, relative=0.5), spans(0.9, 0.42855))

    assert ["score 0.428550 is below 0.428571"] == [d.reason for d in record.dropped]


def spans(*values, of="d"):
    """Spans of one document with these scores."""
    document = Document(of, "x" * len(values))
    return [Segment(document, n, n + 1).scored("test", v) for n, v in enumerate(values)]


@pytest.mark.parametrize(
    ("best", "kept"), [(0.9, [0.9, 0.5]), (0.5, [0.5, 0.25]), (0.1, [0.1]), (1.0, [1.0])]
)
def test_a_relative_threshold_goes_with_the_best(best, kept):
    """From 0.2 on, by half its log-odds: 0.2 at 0.5, 0.43 at 0.9, 0.71 at 1; 0.1 counts as 0.12."""
    given = spans(*sorted({best, min(best, 0.5), min(best, 0.25), min(best, 0.08), 0.07})[::-1])
    stage = Threshold(0.2, relative=0.5)

    assert kept == [s.score for s in stage(QUERY, given)]


def test_no_document_lifts_a_relative_threshold_alone():
    """The mean of three documents' best log-odds counts: of 0.99 and twice 0.5 it is 0.82."""
    sure, others = spans(0.99, 0.98, 0.97, of="sure"), [spans(0.5, 0.35, of=of) for of in "abc"]
    stage = Threshold(0.2, relative=0.5)
    kept = stage(QUERY, [*sure, *others[0], *others[1], *others[2]])

    assert [0.99, 0.98, 0.97, 0.5, 0.35, 0.5, 0.35, 0.5, 0.35] == [s.score for s in kept]
    assert lead("q", [("d", "text", 0.99), *((n, "text", 0.5) for n in range(2))]) == pytest.approx(
        1 / (1 + 99 ** (-1 / 3))
    )
    assert [0.99, 0.98, 0.97] == [s.score for s in stage(QUERY, [*sure, *spans(0.35, of="a")])]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Who sang Summer Breeze?", False),
        ("Search: who sang summer breeze", False),
        ("Many ask: Who sang Summer Breeze? Read on.", False),
        ("Summer Breeze was written by Dash Crofts and Jim Seals in 1972.", True),
        ("Seals and Crofts sang it.", True),
        ("Seals and Crofts sang Summer Breeze.", True),
        ("Who sang Summer Breeze: Abe sang it.", False),
        ("Summer Breeze: Abe sang it.", True),
        ("Summer Breeze, sang, summer", False),
    ],
)
def test_what_repeats_the_question_lifts_nothing(text, counts):
    """It stands in a document that somebody wrote to be kept."""
    ranked = [("hostile", text, 0.99), ("honest", "Seals and Crofts.", 0.5)]

    assert counts == (lead("Who sang Summer Breeze?", ranked) > 0.5)


def test_a_trace_has_the_levels_of_other_promises():
    """Those at which the stage would have cut, and one's own; the higher the promise, the lower."""
    for promise in (0.8, 0.955, 0.99):
        stage = replace(Threshold.promised(OverlapPruner(), promise), relative=0.5)
        _, record = traced(stage, scored(0.9, 0.3))
        (cutoff,) = record.cutoffs
        known = dict(cutoff.promises.numbers)

        assert promise == cutoff.promises.keep_answer
        assert {*PROMISED, promise} == {*known}
        assert cutoff.at == known[promise]
        assert sorted(known.values(), reverse=True) == [*known.values()]


def test_a_table_of_few_promises_names_these():
    """As that of a pruner that was calibrated on few questions."""

    class Few(OverlapPruner):
        def threshold(self, keep_answer):
            if keep_answer > 0.82:
                raise InputError("keep_answer must be from 0.8 to 0.82")
            return super().threshold(keep_answer)

    promises = Threshold.promised(Few(), 0.8).promises

    known = [promise for promise, _ in promises.numbers]
    assert (0.5, 0.82, 33) == (known[0], known[-1], len(known))
    with pytest.raises(InputError, match="keep_answer must be from"):
        Threshold.promised(Few(), 0.9)
    with pytest.raises(InputError, match="keep_answer must be a finite number, got"):
        load("finefilter").at(keep_answer=".9")
