"""What is read of inputs that are too long to be read whole."""

import pytest

import ragsieve
from ragsieve import Document, InputError, Query, Segment
from ragsieve.models.fake import OverlapPruner
from ragsieve.score import Pruner
from ragsieve.trace import collect_step

QUERY = Query("Which cable feeds the pump?")
LINES = [
    f"2026-01-02 10:{n // 60:02}:{n % 60:02} INFO step {n} of the job is done" for n in range(3000)
]
CABLE = "2026-01-02 10:09:59 INFO The pump has cable W7"
LOG = "\n".join([*LINES[:1000], CABLE, *LINES[1000:2000], "Panic: no heat", *LINES[2000:]])


class Reader(OverlapPruner):
    """Counts the characters that it reads."""

    def prune(self, questions, passages):  # type: ignore[no-untyped-def]
        self.read = sum(len(s) for some in passages for one in some for s in one.sentences)
        return super().prune(questions, passages)


def test_windows_with_the_questions_words_and_odd_lines_are_read():
    """And the trace says how many are not; what is not read has the score 0."""
    model = Reader()
    system = ragsieve.load("finefilter", "fake:echo", pruner=model)
    result = system.at(first_look=5000)(QUERY, [LOG])
    (warning,) = [one for one in result.trace.warnings if "first_look" in one]

    assert 3000 < model.read <= 5000
    assert CABLE in result.text and "Panic: no heat" in result.text
    assert "windows are not read, and keep_answer is not promised" in warning
    assert [0.0] == [*{row["score"] for row in result.rows if row["text"] == LINES[1500]}]


def test_an_input_that_is_no_longer_is_read_whole():
    """With the same scores; of one that is, at least one window is."""
    document = Document("log", LOG[:4000])
    segments = [Segment(document, a, a + 500) for a in range(0, 4000, 500)]
    all_, same, one = (Pruner(OverlapPruner(), most)(QUERY, segments) for most in (None, 4000, 1))

    assert all_ == same
    assert 2 == sum(s.score > 0 for s in one)
    with pytest.raises(InputError, match="first_look must be"):
        Pruner(OverlapPruner(), 0)


def test_a_long_input_is_a_warning():
    """That names its size and the option, where it is not set."""
    given = [Segment.whole(Document("d", "It rained. " * 50_000))]
    with collect_step() as step:
        Pruner(OverlapPruner())(QUERY, given)

    assert "550,000 characters are read, which takes long; first_look bounds them" in step.warnings
