"""FILCO as systems."""

from __future__ import annotations

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.filco import filco, filco_cxmi, filco_lexical, filco_strinc

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained. Seals sang it.",
    "Summer Breeze was sung by Seals. A breeze is a wind.",
    "Seals and Crofts sang Summer Breeze.",
]
ANSWERS = {QUESTION: ("Seals",)}


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


def test_strinc_keeps_the_first_sentence_with_an_answer() -> None:
    """Three have one; with ``k`` more of them stay."""
    llm = ScriptedLLM([])
    first = filco_strinc(llm, ANSWERS)(QUESTION, DOCUMENTS)
    more = filco_strinc(llm, ANSWERS, k=9)(QUESTION, DOCUMENTS)

    assert ["Seals sang it."] == [s.text for s in first.kept]
    assert 3 == len(more.kept)


def test_strinc_keeps_nothing_where_no_sentence_has_an_answer() -> None:
    """Nor where no answer is known."""
    llm = ScriptedLLM([])

    assert () == filco_strinc(llm, {QUESTION: ("Croft",)})(QUESTION, DOCUMENTS).kept
    assert () == filco_strinc(llm, {})(QUESTION, DOCUMENTS).kept


def test_lexical_needs_no_answer() -> None:
    """Words in common with the question's 4: 2 of 6, 1 of 3 without the article, 3 of 6."""
    result = filco_lexical(ScriptedLLM([]))(QUESTION, DOCUMENTS)

    assert [DOCUMENTS[2]] == [s.text for s in result.kept]


def test_lexical_keeps_nothing_that_shares_no_word() -> None:
    """However many sentences there are."""
    assert () == filco_lexical(ScriptedLLM([]))("Why?", DOCUMENTS).kept


def test_cxmi_keeps_what_makes_the_answer_likelier() -> None:
    """The fake gives every token -1, with a sentence as without: a tie counts, the first stays."""
    result = filco_cxmi(ScriptedLLM([]), ANSWERS)(QUESTION, DOCUMENTS)

    assert ["It rained."] == [s.text for s in result.kept]


@pytest.mark.parametrize("make", [filco_strinc, filco_cxmi])
def test_options_are_checked(make) -> None:  # type: ignore[no-untyped-def]
    """The error names option, rule and value."""
    with pytest.raises(InputError, match="k must not be negative, got -1"):
        make(ScriptedLLM([]), ANSWERS, k=-1)
