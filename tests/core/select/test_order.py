"""Order in the prompt."""

import pytest

from ragsieve.select.order import Order
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")
FIRST = Document("z", "One. Two.", rank=0)
SECOND = Document("a", "Three.", rank=1)
SPANS = [
    Segment(SECOND, 0, 6).scored("s", 3),
    Segment(FIRST, 5, 9).scored("s", 1),
    Segment(FIRST, 0, 4).scored("s", 2),
]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("document", ["One.", "Two.", "Three."]),
        ("score", ["Three.", "One.", "Two."]),
        # Best first are Three, One, Two: the first and third open, the second closes.
        ("ends", ["Three.", "Two.", "One."]),
    ],
)
def test_orders(by, expected):
    """As retrieved and as it stands there, best first, or best at both ends."""
    assert expected == [s.text for s in Order(by)(QUERY, SPANS)]


def test_the_best_stand_at_both_ends():
    """Scores 5, 4, 3, 2, 1: 5, 3, 1, 2, 4; the order of documents needs none."""
    spans = [Segment.whole(Document(str(n), "x")).scored("s", n) for n in range(1, 6)]

    assert [5, 3, 1, 2, 4] == [s.score for s in Order("ends")(QUERY, spans)]

    spans = [Segment.whole(SECOND), Segment.whole(FIRST)]

    assert [FIRST, SECOND] == [s.document for s in Order()(QUERY, spans)]


def test_documents_of_equal_rank_stay_in_their_order():
    """Not by their ids, "10" before "2"; spans of one stand together."""
    names = [str(n) for n in (*range(12), 0)]
    spans = [Segment(Document(name, "One. Two."), 5 * (n < 12), 9) for n, name in enumerate(names)]

    assert [names[0], *names[:12]] == [s.document.id for s in Order()(QUERY, spans)]
