"""DSPy: a retriever in a program, with the real small models."""

import asyncio

import dspy
import pytest
from dspy.retrievers import EmbeddingsWithScores

from ragsieve import InputError, models
from ragsieve.integrations.dspy import RagsieveRetriever

from .conftest import FAKE, QUESTION

PASSAGES = [
    "Bananas are yellow.",
    "It is 330 metres tall. Maurice Koechlin drew the first design of the Eiffel Tower.",
]
KEPT = "Maurice Koechlin drew the first design of the Eiffel Tower."

PAGES = [{"page_content": text, "metadata": {"title": "Tower"}} for text in PASSAGES]


@pytest.mark.parametrize(
    ("found", "beside"),
    [
        (PASSAGES, {}),
        (PASSAGES[1], {}),
        (dspy.Prediction(passages=PASSAGES, indices=[4, 5], index="w"), {"indices": [5]}),
        (dspy.Prediction(docs=PASSAGES, doc_ids=(4, 5)), {"doc_ids": [5], "docs": [KEPT]}),
        ([{"long_text": t, "pid": n} for n, t in enumerate(PASSAGES)], {"pid": [1]}),
        ([dspy.Example(long_text=text) for text in PASSAGES], {}),
        (PAGES, {"metadata": [PAGES[1]["metadata"]]}),
    ],
    ids=["strings", "string", "prediction", "databricks", "mappings", "examples", "pages"],
)
def test_whatever_a_retriever_gives_is_read(found, beside):
    """Strings, predictions, and what retrievers' servers give; what is said of each follows it."""
    out = RagsieveRetriever(lambda _: found, "top-sentences", **FAKE)(QUESTION)
    lists = {name: value for name, value in out.items() if isinstance(value, list)}

    assert {"passages": [KEPT], "ragsieve": out.ragsieve, **beside} == lists


def test_dspys_own_retrievers_are_asked_with_their_options():
    """As many passages as the call says; scores and indices follow."""
    embed = models.load("fake:hashing").embed
    own = RagsieveRetriever(EmbeddingsWithScores(PASSAGES, embed), "top-sentences", **FAKE)
    found = own(QUESTION)

    assert ([KEPT], [1]) == (found.passages, found.indices) and 0 < found.scores[0] <= 1

    def search(_, k, **options):
        return [dspy.Example(long_text=text) for text in PASSAGES[:k]]

    wrapped = RagsieveRetriever(dspy.Retrieve(k=1), "top-sentences", **FAKE)
    with dspy.context(rm=search):
        assert [PASSAGES[0]] == wrapped(QUESTION).passages
        assert [KEPT] == wrapped(QUESTION, k=2, with_metadata=True).passages
    with pytest.raises(InputError, match="a retriever must give passages, got 3"):
        RagsieveRetriever(lambda _: 3, "top-sentences", **FAKE)(QUESTION)


def test_asynchronous_calls_give_the_same():
    """A retriever that can be awaited is; any other one, and the filter, run in threads."""

    class Search(dspy.Module):
        async def aforward(self, _):
            return dspy.Prediction(passages=PASSAGES)

    async def search(_):
        return PASSAGES

    alone = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)
    function = RagsieveRetriever(search, "top-sentences", **FAKE)
    awaited = RagsieveRetriever(Search(), "top-sentences", **FAKE)

    assert [KEPT] == asyncio.run(alone.acall(QUESTION)).passages
    assert [KEPT] == asyncio.run(awaited.acall(QUESTION)).passages
    assert [KEPT] == asyncio.run(function.acall(QUESTION)).passages
    with pytest.raises(InputError, match="an async retriever needs acall"):
        function(QUESTION)


def test_a_copy_of_a_program_shares_the_models():
    """Optimisers copy programs many times."""
    sieve = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)

    assert sieve.sieve.loaded is sieve.deepcopy().sieve.loaded


def test_the_report_tells_what_was_dropped_and_what_it_cost():
    """As JSON values, and how probable an answer is."""
    out = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)(QUESTION)

    assert 2 == sum(len(step["dropped"]) for step in out.report["trace"]["steps"])
    assert out.report["tokens"]["after"] < out.report["tokens"]["before"]
    assert None is out.report["answerable"]
