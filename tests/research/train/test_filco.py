"""FILCO's filter model learns as FineFilter's extractor does."""

from __future__ import annotations

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.select.extract import Extract
from ragsieve_research.train.examples import TrainingExample
from ragsieve_research.train.extractor import samples
from ragsieve_research.train.filco import silver

TEXTS = ["Rain fell.", "Seals sang it.", "Seals did.", "Snow fell."]
SENTENCES = tuple(Segment.whole(Document(str(n), text)) for n, text in enumerate(TEXTS))
LLM = ScriptedLLM([])
LESSON = TrainingExample(Query("Who sang?", "own:q"), ("Seals",), SENTENCES, {})


def test_the_target_is_what_an_extractor_reads_back() -> None:
    """Of two sentences the first; the measure chooses; nothing is a target, too."""
    taught = silver(LESSON, "strinc", LLM)
    [sample] = samples(taught, Extract(ScriptedLLM([]), mode="write"))
    named = Extract(ScriptedLLM([sample.target]), mode="write")(LESSON.query, SENTENCES)

    assert "Sentence 1: Seals sang it." == sample.target
    assert [SENTENCES[1]] == named

    assert (2,) == silver(LESSON, "lexical", LLM).clues

    bare = TrainingExample(LESSON.query, ("Crofts",), SENTENCES, {})
    taught = silver(bare, "strinc", LLM)

    assert [""] == [s.target for s in samples(taught, Extract(ScriptedLLM([]), mode="write"))]
