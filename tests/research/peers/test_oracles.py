"""Oracles, and how the package that has them is found."""

from functools import partial

import pytest

from ragsieve import InputError, Query
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems import build
from ragsieve_research.peers.oracles import Oracle, filco_cxmi, oracle

QUERY = Query("What is the capital of France?")
QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained. Seals sang it.",
    "Summer Breeze was sung by Seals. A breeze is a wind.",
    "Seals and Crofts sang Summer Breeze.",
]
ANSWERS = {QUESTION: ("Seals",)}
strinc = partial(oracle, documents=5, k=1)


def test_oracles_keep_sentences_with_an_answer():
    """All, the first one (strinc), or what makes the answer likelier (CXMI: a tie counts)."""
    known = build("oracle", ScriptedLLM([]), answers={QUESTION: ("Crofts",)})

    assert DOCUMENTS[2:] == [s.text for s in known(QUESTION, DOCUMENTS).kept]
    assert () == known("Another question?", DOCUMENTS).kept
    with pytest.raises(InputError, match="oracle needs the gold answers, which only `ragsieve be"):
        build("oracle", ScriptedLLM([]))

    llm = ScriptedLLM([])
    first = strinc(llm, ANSWERS)(QUESTION, DOCUMENTS)
    more = strinc(llm, ANSWERS, k=9)(QUESTION, DOCUMENTS)

    assert ["Seals sang it."] == [s.text for s in first.kept]
    assert 3 == len(more.kept)

    llm = ScriptedLLM([])

    assert () == strinc(llm, {QUESTION: ("Croft",)})(QUESTION, DOCUMENTS).kept
    assert () == strinc(llm, {})(QUESTION, DOCUMENTS).kept

    result = filco_cxmi(ScriptedLLM([]), ANSWERS)(QUESTION, DOCUMENTS)

    assert ["It rained."] == [s.text for s in result.kept]


def test_a_critic_that_knows_takes_all_right_answers_for_the_same():
    """Whatever their words; and picks one of them at once where there are no rounds."""
    oracle = Oracle({QUERY.text: ["Paris", "Lutetia"]})

    assert [[0, 2], [1]] == oracle.same(QUERY, ["Paris", "Rome", "in Lutetia"])
    assert (1, 0) == (oracle.pick(QUERY, ["Rome", "Paris"]), oracle.pick(QUERY, ["Rome", "Oslo"]))

    oracle = Oracle({QUERY.text: ["no"]})

    assert 1 == oracle.pick(QUERY, ["There is no information.", "No, it is not."])
