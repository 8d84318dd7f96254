"""Little stays where no passage seems to answer."""

import pytest

from ragsieve.models.base import PASSAGE
from ragsieve.select.answerable import Answerable
from ragsieve.types import Document, Segment
from tests.segments import QUERY, traced


def read(*passages):
    """A segment of each document, and how probable it is that this answers."""
    documents = [Document(str(n), "text") for n in range(len(passages))]
    return [
        Segment.whole(d).scored(PASSAGE, p).scored("pruner", p / 2)
        for d, p in zip(documents, passages, strict=True)
    ]


@pytest.mark.parametrize(
    ("passages", "min_keep", "kept"),
    [
        ((0.02, 0.1, 0.01), 1, ["0", "1", "2"]),
        ((0.02, 0.09, 0.01), 1, ["1"]),
        ((0.02, 0.09, 0.01), 2, ["0", "1"]),
        ((0.02, 0.09, 0.01), 0, []),
        ((), 1, []),
    ],
)
def test_the_likeliest_passage_decides(passages, min_keep, kept):
    """From 0.1 on all stay, below it the best."""
    some, record = traced(Answerable(0.1, min_keep), read(*passages))

    assert kept == [s.document.id for s in some]
    if passages:
        reason = f"answerable {max(passages):.3f} is below min_answerable=0.1"
        assert {reason} >= {d.reason for d in record.dropped}


@pytest.mark.parametrize(("others", "kept"), [(0, "abcd"), (1, "ad")])
def test_what_scores_nearly_as_the_best_stays_beside_it(others, kept):
    """Of its document; all of a document that is the only one."""
    document, other = Document("d", "abcd"), Document("e", "e")
    given = [Segment(document, n, n + 1).scored(PASSAGE, 0.01) for n in range(4)]
    given = [s.scored("pruner", p) for s, p in zip(given, (0.05, 0.02, 0.01, 0.03), strict=True)]
    given += [Segment.whole(other).scored(PASSAGE, 0.01).scored("pruner", 0.04)] * others

    assert kept == "".join(s.text for s in Answerable(0.1)(QUERY, given))


def test_segments_that_no_pruner_read_stay():
    """As those of another language do."""
    plain = [Segment.whole(Document("d", "text")).scored("n-grams", 0.0)]

    assert plain == Answerable(0.9)(QUERY, plain)
