"""LangChain's filters as systems."""

import pytest

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.peers.frameworks import (
    langchain_embeddings_filter,
    langchain_llm_extractor,
    langchain_llm_filter,
    langchain_redundant_filter,
)

pytest.importorskip("ragsieve_research.peers.filters.langchain", exc_type=ImportError)

QUESTION = "who sang it"
DOCUMENTS = ["it rained in the town", "ann sang it", "it rained in the town"]
LLM = ScriptedLLM([])


def test_the_nearest_documents_stay_nearest_first():
    """2 shared words of 3 and 3, then 1 of 3 and 5; all where k is None; those like another go."""
    result = langchain_embeddings_filter(LLM, HashingEmbedder(), k=2)(QUESTION, DOCUMENTS)

    assert DOCUMENTS[1] == result.kept[0].text
    assert [2 / 3, 1 / 15**0.5] == pytest.approx([s.score for s in result.kept], abs=1e-6)

    many = [f"{n} sang it" for n in range(25)]
    every = langchain_embeddings_filter(LLM, HashingEmbedder(), k=None)

    assert 25 == len(every(QUESTION, many).kept)

    result = langchain_redundant_filter(LLM, HashingEmbedder())(QUESTION, DOCUMENTS)

    assert DOCUMENTS[1:] == [s.text for s in result.kept]


def test_documents_with_a_yes_stay():
    """YES and NO count as words, in any case, anywhere in the reply."""
    llm = ScriptedLLM(["No.", "Sure, yes!", "no"])
    result = langchain_llm_filter(llm)(QUESTION, DOCUMENTS)

    assert DOCUMENTS[1:2] == [s.text for s in result.kept]
    assert [["user"]] * 3 == [[turn.role for turn in prompt] for prompt in llm.prompts]


def test_what_an_extractor_writes_is_read():
    """Exactly NO_OUTPUT is nothing; with a full stop it is text that no document has."""
    llm = ScriptedLLM(["NO_OUTPUT", "ann sang", "NO_OUTPUT."])
    result = langchain_llm_extractor(llm)(QUESTION, DOCUMENTS)

    assert "ann sang\n\nNO_OUTPUT." == result.text
    assert ["1", "written"] == [s.document.id for s in result.kept]
    assert 1 == result.trace.steps[0].events[0]["invented"]


@pytest.mark.parametrize("system", [langchain_llm_filter, langchain_llm_extractor])
def test_what_a_model_thinks_first_is_no_part_of_its_reply(system):
    """As a server hands it over apart."""
    llm = ScriptedLLM(lambda _: "<think>yes or no?</think>ann sang it yes")
    kept = system(llm)(QUESTION, ["ann sang it yes"]).kept

    assert ["ann sang it yes"] == [s.text for s in kept]


def test_the_frameworks_cache_spares_no_call():
    """Else a second question would seem to cost nothing."""
    from langchain_core.caches import InMemoryCache
    from langchain_core.globals import get_llm_cache, set_llm_cache

    llm = ScriptedLLM(["YES"] * 4)
    before = get_llm_cache()
    try:
        set_llm_cache(InMemoryCache())
        results = [langchain_llm_filter(llm)(QUESTION, DOCUMENTS[:2]) for _ in range(2)]
    finally:
        set_llm_cache(before)

    assert [2, 2] == [r.trace.steps[0].to_dict()["calls"] for r in results]
