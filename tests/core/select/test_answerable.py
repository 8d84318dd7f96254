"""Little stays where no passage seems to answer."""

from __future__ import annotations

import pytest

from ragsieve.models.base import PASSAGE
from ragsieve.select.answerable import Answerable
from ragsieve.types import Document, Segment
from tests.segments import QUERY, traced


def read(*passages: float) -> list[Segment]:
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
def test_the_likeliest_passage_decides(
    passages: tuple[float, ...], min_keep: int, kept: list[str]
) -> None:
    """From 0.1 on all stay, below it the best."""
    some, record = traced(Answerable(0.1, min_keep), read(*passages))

    assert kept == [s.document.id for s in some]
    if passages:
        reason = f"answerable {max(passages):.3f} is below min_answerable=0.1"
        assert {reason} >= {d.reason for d in record.dropped}


def test_segments_that_no_pruner_read_stay() -> None:
    """As those of another language do."""
    plain = [Segment.whole(Document("d", "text")).scored("n-grams", 0.0)]

    assert plain == Answerable(0.9)(QUERY, plain)
