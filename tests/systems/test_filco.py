"""FILCO as systems."""

from __future__ import annotations

from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.filco import filco, filco_lexical

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained. Seals sang it.",
    "Summer Breeze was sung by Seals. A breeze is a wind.",
    "Seals and Crofts sang Summer Breeze.",
]


def test_what_the_filter_writes_is_kept_where_it_stands() -> None:
    """The sentence lies in the second document; what is in none is dropped and counted."""
    llm = ScriptedLLM(["Summer Breeze was sung by Seals\nCrofts made this up alone."])
    result = filco(llm, documents=2)(QUESTION, DOCUMENTS)

    assert [("1", 0, 32)] == [s.key for s in result.kept]
    assert DOCUMENTS[1][:32] == result.text
    notes = [note for record in result.trace.steps for note in record.notes]
    assert ["1 written lines repeat no sentence of the documents: dropped"] == notes


def test_a_filter_model_writes_where_there_is_one() -> None:
    """The generator is not asked then."""
    llm, extractor = ScriptedLLM([]), ScriptedLLM(["It rained."])
    result = filco(llm, extractor=extractor)(QUESTION, DOCUMENTS)

    assert ["It rained."] == [s.text for s in result.kept]
    assert [] == llm.prompts


def test_lexical_needs_no_answer() -> None:
    """Words in common with the question's 4: 2 of 6, 1 of 3 without the article, 3 of 6."""
    result = filco_lexical(ScriptedLLM([]))(QUESTION, DOCUMENTS)

    assert [DOCUMENTS[2]] == [s.text for s in result.kept]


def test_lexical_keeps_nothing_that_shares_no_word() -> None:
    """However many sentences there are."""
    assert () == filco_lexical(ScriptedLLM([]))("Why?", DOCUMENTS).kept
