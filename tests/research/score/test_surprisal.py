"""How little a language model expects a segment, and how well behind it the question."""

import math

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.score.surprisal import Expected, Surprisal

QUERY = Query("Who sang?")
TEXT = "One two three four."


def length(before: str, token: str) -> float:
    """As many nats as letters."""
    return float(len(token.strip()))


def span(text: str, start: int, end: int, title: str = "") -> Segment:
    return Segment(Document("d", text, title), start, end)


def scores(stage: Surprisal | Expected, *segments: Segment) -> list[float]:
    return [segment.score for segment in stage(QUERY, segments)]


def test_self_information_adds_up_over_a_segment() -> None:
    """3 + 3 nats, 5 + 4 + 1; means over tokens; a span inside a token has all of it, none has 0."""
    llm, spans = ScriptedLLM([], nats=length), (span(TEXT, 0, 7), span(TEXT, 8, 19))

    assert [6.0, 10.0] == scores(Surprisal(llm), *spans)
    assert [3.0, pytest.approx(10 / 3)] == scores(Surprisal(llm, "mean"), *spans)

    llm = ScriptedLLM([], nats=length)
    spans = (span(TEXT, 9, 11), span(TEXT, 3, 3), span(TEXT, 0, 19))

    assert [5.0, 0.0, 16.0] == scores(Surprisal(llm), *spans)

    llm = ScriptedLLM([])

    assert [0.0] == scores(Surprisal(llm), span("", 0, 0))
    assert all(map(math.isfinite, scores(Expected(llm), span("", 0, 0))))


def test_a_token_is_read_behind_its_document_and_title() -> None:
    """The second segment of a document is read behind the first, the first behind the title."""
    read: list[tuple[str, str]] = []

    def told(before: str, token: str) -> float:
        read.append((before, token))
        return 1.0

    llm = ScriptedLLM([], nats=told)
    scores(Surprisal(llm), span("a b", 2, 3, "T"))

    assert [("T\n", "a"), ("T\na", " b")] == read


def test_the_question_is_expected_behind_what_answers_it() -> None:
    """Tokens of question and statement have 1 nat each, and 0 behind a song: minus the mean."""
    llm = ScriptedLLM([], nats=lambda before, token: 0.0 if "song" in before else 1.0)
    stage = Expected(llm)

    assert [0.0, -1.0] == scores(stage, span("a song", 0, 6), span("rain", 0, 4))
