"""LlamaIndex's filters as systems."""

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.peers.frameworks import (
    llama_index_llm_rerank,
    llama_index_sentence_optimizer,
)

pytest.importorskip("ragsieve_research.peers.filters.llama_index", exc_type=ImportError)
pytest.importorskip("nltk.corpus")

QUESTION = "Who sang it?"
DOCUMENTS = [{"text": text, "title": "T"} for text in ("It rained.", "Ann sang.", "Bob left.")]
LLM = ScriptedLLM([])


def optimizer(**options):
    return llama_index_sentence_optimizer(LLM, HashingEmbedder(), **options)


def reranked(reply, **options):
    """Documents that stay where the model always gives the same reply."""
    system = llama_index_llm_rerank(ScriptedLLM(lambda _: reply), **options)
    return [s.document.id for s in system(QUESTION, DOCUMENTS).trace.steps[0].after]


def test_sentences_stay_by_nearness():
    """The nearest half, all, or with two neighbours eight of six; joined by its splitter."""
    text = "It rained. Ann sang it. Who sang it? Bob left."
    result = optimizer(context=0)(QUESTION, [{"text": text, "title": "T"}])

    assert "T: Who sang it? … Ann sang it." == result.text

    text = "It rained. Who sang it? Ann sang it. Bob sang it. Cat left. Dan slept."
    result = optimizer()(QUESTION, [text])
    story = result.trace.steps[0].events[0]

    assert (1, 1, 0) == (story["grown"], story["repeated"], story["invented"])
    assert result.tokens.after <= result.tokens.before

    text = "Bob left Dr. Ann sang it there. Cat slept."
    result = optimizer(context=0, percentile_cutoff=0.7)("Bob left Cat?", [text])

    assert "Bob left Dr. … Cat slept." == result.text
    assert [("0", 0, 12), ("0", 32, 42)] == [s.key for s in result.kept]


def test_named_documents_stay_by_relevance():
    """The first top_n; the model reads titles."""
    assert ["1", "0"] == reranked("Doc: 1, Relevance: 3\nDoc: 2, Relevance: 8")
    assert ["1"] == reranked("Doc: 1, Relevance: 3\nDoc: 2, Relevance: 8", top_n=1)

    llm = ScriptedLLM(lambda _: "")
    llama_index_llm_rerank(llm)(QUESTION, DOCUMENTS)

    assert "title: T" in llm.prompts[0][0].content
    assert "place" not in llm.prompts[0][0].content


@pytest.mark.parametrize(
    ("reply", "unreadable"),
    [("The answer is: Ann.", 1), ("Doc: 1, Relevance: 3", 0), ("", 0), ("<think>1?</think>", 0)],
)
def test_a_reply_that_names_no_document_is_counted(reply, unreadable):
    """One that says nothing is what it was asked for where no document is relevant."""
    result = llama_index_llm_rerank(ScriptedLLM([reply]))(QUESTION, DOCUMENTS)

    assert unreadable == result.trace.steps[0].unreadable
