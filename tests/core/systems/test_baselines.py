"""What every filter is measured against."""

from __future__ import annotations

import pytest

from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, ScriptedLLM
from ragsieve.systems.baselines import nearest_documents, top_documents, top_sentences

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained. Summer Breeze was sung by Seals and Crofts.",
    "A breeze is a wind. Summer is warm.",
    "",
    "He left.",
]


def llm() -> ScriptedLLM:
    return ScriptedLLM(lambda prompt: "Seals and Crofts")


def test_closed_book_keeps_nothing() -> None:
    """The generator answers by itself; documents cost no token."""
    result = top_documents(llm(), k=0).ask(QUESTION, DOCUMENTS)

    assert () == result.kept
    assert 0 == result.tokens.after
    assert 4 == len(result.verdicts)


def test_all_documents_keeps_everything() -> None:
    """Whole, in their order, at a ratio of one."""
    result = top_documents(llm(), k=None)(QUESTION, DOCUMENTS)

    assert DOCUMENTS == [s.text for s in result.kept]
    assert 1.0 == result.compression_ratio


def test_top_documents_keeps_the_first() -> None:
    """As they were retrieved."""
    assert DOCUMENTS[:2] == [s.text for s in top_documents(llm(), k=2)(QUESTION, DOCUMENTS).kept]
    assert 4 == len(top_documents(llm())(QUESTION, DOCUMENTS).kept)


def test_nearest_documents_keeps_the_best_first() -> None:
    """Of the question's 4 words one shares 1 of 1, 1 / √(4 · 1); one 2 of 9, 2 / √(4 · 9)."""
    documents = ["He left.", "Summer Breeze is an old song of the seventies.", "Breeze."]
    nearest = nearest_documents(llm(), HashingEmbedder(4096), k=2)(QUESTION, documents)

    assert [documents[2], documents[1]] == [s.text for s in nearest.kept]
    assert [1 / 2, 2 / 6] == pytest.approx([s.score for s in nearest.kept])


def test_a_reranker_ranks_instead() -> None:
    """It says which share of the question's 4 words a document has: 2 of 4 here, 1 of 4 there."""
    documents = ["He left.", "Breeze.", "Summer Breeze is an old song of the seventies."]
    system = nearest_documents(llm(), HashingEmbedder(4096), k=2, reranker=OverlapCrossEncoder())
    kept = system(QUESTION, documents).kept

    assert [(documents[2], 2 / 4), (documents[1], 1 / 4)] == [(s.text, s.score) for s in kept]


def test_top_sentences_keeps_the_nearest_as_they_stand() -> None:
    """Two share words with the question: "Summer Breeze was …" two, "Summer is warm." one of 3."""
    result = top_sentences(llm(), HashingEmbedder(), k=2)(QUESTION, DOCUMENTS)

    assert ["Summer Breeze was sung by Seals and Crofts.", "Summer is warm."] == [
        s.text for s in result.kept
    ]


def test_a_reranker_may_rank_sentences() -> None:
    """One has 2 of the question's 4 words, others 1: the first of them, not the nearest."""
    system = top_sentences(llm(), HashingEmbedder(), k=2, reranker=OverlapCrossEncoder())
    kept = system(QUESTION, DOCUMENTS).kept

    assert {"Summer Breeze was sung by Seals and Crofts.": 2 / 4, "A breeze is a wind.": 1 / 4} == {
        s.text: s.score for s in kept
    }
