"""The first k, and what fits."""

from ragsieve.select.top import TopK
from ragsieve.types import Document, Segment
from tests.segments import QUERY, traced


def scored(*values, text="one two"):
    found = []
    for place, value in enumerate(values):
        segment = Segment.whole(Document(str(place), text, rank=place))
        found.append(segment if value is None else segment.scored("s", value))
    return found


def ids(segments):
    return [s.document.id for s in segments]


def test_the_best_come_first():
    """Ties as given, unscored ones as ranked; from none to all; the reason names rank and k."""
    assert ["2", "1", "3", "0"] == ids(TopK(4)(QUERY, scored(None, 0.5, 0.9, 0.5)))
    assert ["0", "1"] == ids(TopK(2)(QUERY, scored(None, None, None)))

    assert [] == TopK(0)(QUERY, scored(1, 2))
    assert ["1", "0"] == ids(TopK(99)(QUERY, scored(1, 2)))

    _, record = traced(TopK(1), scored(1, 2, 3))

    assert ["rank 3 is past k=1", "rank 2 is past k=1"] == [d.reason for d in record.dropped]
