"""The score of a sentence pruner."""

from itertools import accumulate, pairwise

import pytest

import ragsieve
from ragsieve import Document, InputError, Query, Segment
from ragsieve.models.base import Passage, Pruned
from ragsieve.models.fake import OverlapPruner
from ragsieve.score import Pruner
from ragsieve.trace import Trace, collect_step, step

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


PUMP = Query("Which cable feeds the pump?")
LINES = [
    f"2026-01-02 10:{n // 60:02}:{n % 60:02} INFO step {n} of the job is done" for n in range(3000)
]
CABLE = "2026-01-02 10:09:59 INFO The pump has cable W7"
LOG = "\n".join([*LINES[:1000], CABLE, *LINES[1000:2000], "Panic: no heat", *LINES[2000:]])


class Counting(OverlapPruner):
    """Counts the characters that it reads."""

    def prune(self, questions, passages):
        self.read = sum(len(s) for some in passages for one in some for s in one.sentences)
        return super().prune(questions, passages)


def test_windows_with_the_questions_words_and_odd_lines_are_read():
    """And the trace says how many are not; what is not read has the score 0."""
    model = Counting()
    system = ragsieve.load("finefilter", "fake:echo", pruner=model)
    result = system.at(first_look=5000)(PUMP, [LOG])
    (warning,) = [one for one in result.trace.warnings if "first_look" in one]

    assert 3000 < model.read <= 5000
    assert CABLE in result.text and "Panic: no heat" in result.text
    assert "windows are not read, and keep_answer is not promised" in warning
    assert [0.0] == [*{row["score"] for row in result.rows if row["text"] == LINES[1500]}]


def test_an_input_that_is_no_longer_is_read_whole():
    """With the same scores; of one that is, at least one window is."""
    document = Document("log", LOG[:4000])
    segments = [Segment(document, a, a + 500) for a in range(0, 4000, 500)]
    all_, same, one = (Pruner(OverlapPruner(), most)(PUMP, segments) for most in (None, 4000, 1))

    assert all_ == same
    assert 2 == sum(s.score > 0 for s in one)
    with pytest.raises(InputError, match="first_look must be"):
        Pruner(OverlapPruner(), 0)


def test_a_long_input_is_a_warning():
    """That names its size and the option, where it is not set."""
    given = [Segment.whole(Document("d", "It rained. " * 50_000))]
    with collect_step() as step:
        Pruner(OverlapPruner())(PUMP, given)

    assert "550,000 characters are read, which takes long; first_look bounds them" in step.warnings


def test_of_lines_that_are_alike_a_few_are_read():
    """All of a template that may answer, and each with a value of the question, in any order."""
    kinds = ("queue depth {}", "flushed rows of segment {}")
    lines = [f"{n:04} cart INFO {kinds[n % 2].format(n * 7)}\n" for n in range(1000)]
    document = Document("log", "".join([*lines[:700], "lease is lost\n", *lines[700:]]))
    ends = [*accumulate(map(len, document.text.splitlines(keepends=True)), initial=0)]
    segments = [Segment(document, a, b - 1) for a, b in pairwise(ends)]
    query, model = Query("flushed rows 3878"), Counting()
    with collect_step() as step:
        scored = Pruner(model)(query, segments)
    high = [s.text for s in scored if s.score]

    assert 500 + 1 == len(high) and "0554 cart INFO queue depth 3878" in high
    assert ["495 segments get the lowest score of 4 that they are like"] == step.notes
    assert Pruner(model)(query, segments[::-1]) == scored[::-1]
    assert Pruner(model)(query, segments[:500])[0].score == 0 < model.read < 20_000
