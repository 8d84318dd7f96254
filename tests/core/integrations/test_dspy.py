"""DSPy: a retriever in a program, with the real small models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

dspy = pytest.importorskip("dspy")

from ragsieve import load  # noqa: E402
from ragsieve.errors import InputError  # noqa: E402
from ragsieve.integrations.dspy import RagsieveRetriever  # noqa: E402

from .conftest import FAKE, QUESTION  # noqa: E402

PASSAGES = [
    "Bananas are yellow.",
    "It is 330 metres tall. Maurice Koechlin drew the first design of the Eiffel Tower.",
]
KEPT = "Maurice Koechlin drew the first design of the Eiffel Tower."


@pytest.mark.parametrize(
    "found",
    [
        PASSAGES,
        dspy.Prediction(passages=PASSAGES),
        [{"long_text": text} for text in PASSAGES],
        [dspy.Example(long_text=text) for text in PASSAGES],
    ],
    ids=["strings", "prediction", "mappings", "examples"],
)
def test_whatever_a_retriever_gives_is_read(found: Any) -> None:
    """Strings, predictions, and what retrievers' servers give."""
    out = RagsieveRetriever(lambda _: found, "top-sentences", **FAKE)(QUESTION)

    assert [KEPT] == out.passages
    assert [1] == [one["place"] for one in out.ragsieve]


def test_lists_beside_the_passages_follow_them() -> None:
    """Of what the retriever says of each passage, that of the kept ones stays; the rest as is."""
    found = dspy.Prediction(passages=PASSAGES, indices=[40, 41], scores=(0.1, 0.2), index="wiki")
    out = RagsieveRetriever(lambda _: found, "top-sentences", **FAKE)(QUESTION)

    assert ([41], [0.2], "wiki") == (out.indices, out.scores, out.index)
    assert PASSAGES == found.passages


def test_passages_without_text_pass_untouched(caplog: pytest.LogCaptureFixture) -> None:
    """They come last, and a warning says so."""
    out = RagsieveRetriever(lambda _: [None, *PASSAGES], "top-sentences", **FAKE)(QUESTION)

    assert [KEPT, None] == out.passages
    assert ["1 of 3 documents have no text: they pass as they were"] == caplog.messages


def test_asynchronous_calls_give_the_same() -> None:
    """A retriever that can be awaited is; any other one, and the filter, run in threads."""

    class Search(dspy.Module):
        async def aforward(self, _: str) -> Any:
            return dspy.Prediction(passages=PASSAGES)

    async def search(_: str) -> list[str]:
        return PASSAGES

    alone = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)
    function = RagsieveRetriever(search, "top-sentences", **FAKE)
    awaited = RagsieveRetriever(Search(), "top-sentences", **FAKE)

    assert [KEPT] == asyncio.run(alone.acall(QUESTION)).passages
    assert [KEPT] == asyncio.run(awaited.acall(QUESTION)).passages
    assert [KEPT] == asyncio.run(function.acall(QUESTION)).passages
    with pytest.raises(InputError, match="an async retriever needs acall"):
        function(QUESTION)


def test_a_copy_of_a_program_shares_the_models() -> None:
    """Optimisers copy programs many times."""
    sieve = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)

    assert sieve.sieve.loaded is sieve.deepcopy().sieve.loaded


def test_the_report_tells_what_was_dropped_and_what_it_cost() -> None:
    """As JSON values, and how probable an answer is."""
    out = RagsieveRetriever(lambda _: PASSAGES, "top-sentences", **FAKE)(QUESTION)

    assert 2 == sum(len(step["dropped"]) for step in out.report["trace"]["steps"])
    assert out.report["tokens"]["after"] < out.report["tokens"]["before"]

    report = RagsieveRetriever(lambda _: PASSAGES, llm="fake:echo")(QUESTION).report
    result = load("finefilter", "fake:echo")(QUESTION, PASSAGES)

    assert result.to_dict()["answerable"] == report["answerable"]
