"""The score of a sentence pruner."""

from ragsieve.models.base import Passage, Pruned
from ragsieve.models.fake import OverlapPruner
from ragsieve.score.pruner import Pruner
from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment

QUERY = Query("who sang summer breeze")
SONG = Document("song", "He sang. It rained. She left.", "Songs", rank=1)
WIND = Document("wind", "A breeze.", rank=0)


class Recorder:
    """A sentence pruner that remembers what it was asked and gives what it was told to."""

    identity = "recorder"

    def __init__(self, sentences, passages):
        self.pruned = Pruned([*sentences], [*passages])
        self.asked = []

    def prune(self, questions, passages):
        self.asked.append((questions, passages))
        return [self.pruned]

    def threshold(self, keep_answer):
        return 1 - keep_answer


def test_the_score_is_the_probability():
    """One of the question's four words is in the sentence, two with its title, and none."""
    titled = Document("t", "He sang.", "Summer")
    segments = [Segment.whole(d) for d in (WIND, titled, Document("n", "No."))]
    scored = Pruner(OverlapPruner())(QUERY, segments)

    known = [{"passage": p, "pruner": p} for p in (1 / 4, 2 / 4, 0.0)]

    assert known == [s.scores for s in scored]


def test_documents_are_read_once_in_order():
    """By rank, spans as they stand; the order given does not matter."""
    model = Recorder([0.0, 0.25, 0.5, 1.0], [0.5, 0.5])
    sang, rained, left = (Segment(SONG, a, b) for a, b in ((0, 8), (9, 19), (20, 29)))
    segments = [left, sang, Segment.whole(WIND), left, rained]
    scored = Pruner(model)(QUERY, segments)
    read = [Passage("", ["A breeze."]), Passage("Songs", ["He sang.", "It rained.", "She left."])]

    assert [([QUERY.text], [read])] == model.asked
    assert [1.0, 0.25, 0.0, 1.0, 0.5] == [s.score for s in scored]

    segments = [Segment.whole(WIND), Segment(SONG, 0, 8), Segment(SONG, 9, 19)]
    found = Pruner(OverlapPruner())(QUERY, segments)
    turned = Pruner(OverlapPruner())(QUERY, segments[::-1])

    assert found == turned[::-1]


def test_the_best_passage_says_whether_there_is_an_answer():
    """Its probability is recorded for whoever asks the trace."""
    trace = Trace()
    with trace.recording(), step("test"):
        Pruner(Recorder([0.1, 0.2], [0.3, 0.7]))(QUERY, [Segment.whole(d) for d in (WIND, SONG)])

    assert 0.7 == trace.answerable
