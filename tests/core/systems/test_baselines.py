"""What every filter is measured against."""

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


def llm():
    return ScriptedLLM(lambda prompt: "Seals and Crofts")


def test_whole_documents_stay_or_go():
    """Closed book keeps nothing, all documents what has text, top documents the first of it."""
    result = top_documents(llm(), k=0).ask(QUESTION, DOCUMENTS)

    assert () == result.kept
    assert 0 == result.tokens.after
    assert 4 == len(result.verdicts)

    result = top_documents(llm(), k=None)(QUESTION, DOCUMENTS)

    assert [text for text in DOCUMENTS if text] == [s.text for s in result.kept]
    assert ["neither title nor text"] == [d.reason for d in result.dropped]

    kept = top_documents(llm(), k=2)(QUESTION, [" ", *DOCUMENTS]).kept
    assert DOCUMENTS[:2] == [s.text for s in kept]
    assert 3 == len(top_documents(llm())(QUESTION, DOCUMENTS).kept)


def test_nearest_documents_keeps_the_best_first():
    """One shares 1 of 1 word: 1 / √(4 · 1); one 2 of 9: 2 / √(4 · 9); a reranker by shares."""
    documents = ["He left.", "Summer Breeze is an old song of the seventies.", "Breeze."]
    nearest = nearest_documents(llm(), HashingEmbedder(4096), k=2)(QUESTION, documents)

    assert [documents[2], documents[1]] == [s.text for s in nearest.kept]
    assert [1 / 2, 2 / 6] == pytest.approx([s.score for s in nearest.kept])

    documents = ["He left.", "Breeze.", "Summer Breeze is an old song of the seventies."]
    system = nearest_documents(llm(), HashingEmbedder(4096), k=2, reranker=OverlapCrossEncoder())
    kept = system(QUESTION, documents).kept

    assert [(documents[2], 2 / 4), (documents[1], 1 / 4)] == [(s.text, s.score) for s in kept]


def test_top_sentences_keeps_the_nearest_as_they_stand():
    """Two share words, one 2, one 1 of 3; a reranker takes the first of four words' shares."""
    result = top_sentences(llm(), HashingEmbedder(), k=2)(QUESTION, DOCUMENTS)

    assert ["Summer Breeze was sung by Seals and Crofts.", "Summer is warm."] == [
        s.text for s in result.kept
    ]

    system = top_sentences(llm(), HashingEmbedder(), k=2, reranker=OverlapCrossEncoder())
    kept = system(QUESTION, DOCUMENTS).kept

    assert {"Summer Breeze was sung by Seals and Crofts.": 2 / 4, "A breeze is a wind.": 1 / 4} == {
        s.text: s.score for s in kept
    }
