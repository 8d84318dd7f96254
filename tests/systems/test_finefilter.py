"""FineFilter as one system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ragsieve import finefilter
from ragsieve.errors import InputError
from ragsieve.models.base import Prompt
from ragsieve.models.cache import Cached
from ragsieve.models.coalesce import Coalesced
from ragsieve.models.fake import (
    HashingEmbedder,
    OverlapClueReader,
    OverlapPairScorer,
    ScriptedLLM,
)

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    {
        "id": "song",
        "title": "Songs",
        "text": "It rained. Summer Breeze was sung by Seals and Crofts.",
    },
    {"id": "wind", "title": "Winds", "text": "A breeze is a wind. Summer is warm."},
]


def script(named: str, k: int) -> ScriptedLLM:
    """An LLM that names these sentences, chooses K, and answers."""

    def reply(prompt: Prompt) -> str:
        return named if prompt[0].role == "user" else "Seals and Crofts"

    return ScriptedLLM(
        reply, choices=lambda prompt, options: [float(n == k) + 0.01 for n in range(len(options))]
    )


def test_documents_in_clues_and_an_answer_out() -> None:
    """Sentences 4, 2, 1 are named; "Summer Breeze" ranks 2 first; one is enough."""
    result = finefilter(script("[4, 2, 1]", 1), HashingEmbedder()).ask(QUESTION, DOCUMENTS)

    assert ["Summer Breeze was sung by Seals and Crofts."] == [s.text for s in result.kept]
    assert "Songs: Summer Breeze was sung by Seals and Crofts." == result.text
    assert result.answer is not None
    assert "Seals and Crofts" == result.answer.text
    assert result.kept == result.answer.segments


def test_every_sentence_has_a_verdict() -> None:
    """Which stage let a sentence go, and why."""
    result = finefilter(script("[4, 2, 1]", 1), HashingEmbedder())(QUESTION, DOCUMENTS)

    assert [
        ("It rained.", "Truncate"),
        ("Summer Breeze was sung by Seals and Crofts.", ""),
        ("A breeze is a wind.", "Extract"),
        ("Summer is warm.", "Truncate"),
    ] == [(v.segment.text, v.stage.split("(")[0]) for v in result.verdicts]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (
            "document",
            ["It rained.", "Summer Breeze was sung by Seals and Crofts.", "Summer is warm."],
        ),
        ("score", ["Summer Breeze was sung by Seals and Crofts.", "Summer is warm.", "It rained."]),
    ],
)
def test_the_order_of_reading(order: Any, expected: list[str]) -> None:
    """As the sentences stand in the documents, or the paper's: best first."""
    system = finefilter(script("[1, 2, 4]", 3), HashingEmbedder(), order=order)

    assert expected == [s.text for s in system(QUESTION, DOCUMENTS).kept]


def test_no_clue_closes_the_book() -> None:
    """K = 0 lets the generator answer by itself, unless min_keep says otherwise."""
    embedder = HashingEmbedder()
    closed = finefilter(script("[2, 4]", 0), embedder).ask(QUESTION, DOCUMENTS)
    least = finefilter(script("[2, 4]", 0), embedder, min_keep=1).ask(QUESTION, DOCUMENTS)
    unnamed = finefilter(script("[]", 0), embedder).ask(QUESTION, DOCUMENTS)

    assert () == closed.kept == unnamed.kept
    assert ["Summer Breeze was sung by Seals and Crofts."] == [s.text for s in least.kept]
    assert closed.answer is not None
    assert () == closed.answer.segments


def test_each_part_may_have_its_own_model() -> None:
    """An extractor and a truncator that are tuned for it do not answer."""
    llm, extractor, truncator = (script("[2]", 1) for _ in range(3))
    finefilter(llm, HashingEmbedder(), extractor=extractor, truncator=truncator).ask(
        QUESTION, DOCUMENTS
    )

    assert [1, 1, 1] == [len(model.prompts) for model in (llm, extractor, truncator)]
    assert "numbered list" in extractor.prompts[0][0].content
    assert "ranked" in truncator.prompts[0][0].content
    assert "system" == llm.prompts[0][0].role


def test_the_budget_is_the_generators() -> None:
    """ "Songs: Summer Breeze was sung by Seals and Crofts." has 11 tokens, with Winds' 17."""
    system = finefilter(script("[2, 4]", 2), HashingEmbedder(), max_tokens=16)
    result = system(QUESTION, DOCUMENTS)

    assert 11 == result.tokens.after
    assert 17 == system.with_budget(None)(QUESTION, DOCUMENTS).tokens.after
    assert ["song"] == [s.document.id for s in result.kept]


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, ["Extract", "Cosine", "Truncate", "Order"]),
        ({"reranker": "bm25"}, ["Extract", "BM25", "Truncate", "Order"]),
        ({"reranker": OverlapPairScorer()}, ["Extract", "Pair", "Truncate", "Order"]),
        ({"reranker": "none", "truncator": "none"}, ["Extract", "Order"]),
        ({"extractor": OverlapClueReader()}, ["Clues", "Threshold", "Truncate", "Order"]),
        (
            {"extractor": OverlapClueReader(), "reranker": "cosine", "truncator": "none"},
            ["Clues", "Threshold", "Cosine", "Order"],
        ),
        ({"truncator": "random"}, ["Extract", "Cosine", "RandomK", "Order"]),
    ],
)
def test_the_ablations_are_options(options: dict[str, Any], stages: list[str]) -> None:
    """Another reranker or cut, or none, and the rest as it was."""
    result = finefilter(script("[2, 4]", 1), HashingEmbedder(), **options)(QUESTION, DOCUMENTS)

    assert ["Sentences", *stages] == [s.stage.split("(")[0] for s in result.trace.steps]


def test_a_clue_reader_extracts_and_ranks() -> None:
    """Its probabilities name the clues and rank them; the LLM only chooses how many stay.

    Of four words the song's second sentence has two, the wind's have one each, the first none.
    """
    llm = script("[1]", 2)
    system = finefilter(llm, HashingEmbedder(), extractor=OverlapClueReader(), min_score=0.2)
    result = system(QUESTION, DOCUMENTS)

    assert ["ranked"] == ["ranked" for prompt in llm.prompts if "ranked" in prompt[0].content]
    assert 1 == len(llm.prompts)
    assert ["It rained.", "Summer is warm."] == [v.segment.text for v in result.verdicts if v.stage]
    assert ["Threshold", "Truncate"] == [v.stage.split("(")[0] for v in result.verdicts if v.stage]


def test_a_wrapped_extractor_is_what_is_inside(tmp_path: Path) -> None:
    """A wrapper has every call; an LLM in it stays an LLM, a clue reader a clue reader."""
    with (
        Coalesced(OverlapClueReader()) as shared,
        Cached(shared, tmp_path / "a") as reader,
        Cached(script("[2]", 1), tmp_path / "b") as extractor,
    ):
        found = [
            finefilter(script("[2]", 1), HashingEmbedder(), extractor=model)(QUESTION, DOCUMENTS)
            for model in (reader, extractor)
        ]

    assert [["Clues", "Threshold"], ["Extract", "Cosine"]] == [
        [s.stage.split("(")[0] for s in result.trace.steps[1:3]] for result in found
    ]


@pytest.mark.parametrize("option", ["reranker", "truncator"])
def test_an_unknown_ablation_is_refused(option: str) -> None:
    """The error names the option and what there is."""
    with pytest.raises(InputError, match=f"{option} must be .*none, got 'nonsense'"):
        finefilter(script("[]", 1), HashingEmbedder(), **{option: "nonsense"})


@pytest.mark.parametrize("documents", [[], [""], [" \n", ""]])
def test_documents_without_a_sentence_need_no_model(documents: list[str]) -> None:
    """There is nothing to choose from, so nobody is asked; the reader answers by itself."""
    llm = script("[1]", 1)
    result = finefilter(llm, HashingEmbedder()).ask(QUESTION, documents)

    assert () == result.kept
    assert 1 == len(llm.prompts)


def test_a_broken_extractor_costs_no_answer_where_lenient() -> None:
    """Every sentence passes on, the trace says so, and the rest works as usual."""
    system = finefilter(
        script("[]", 1), HashingEmbedder(), extractor=ScriptedLLM([]), truncator=script("", 1)
    )
    result = system.lenient().ask(QUESTION, DOCUMENTS)

    assert ["Summer Breeze was sung by Seals and Crofts."] == [s.text for s in result.kept]
    assert 1 == len(result.trace.warnings)
    assert "the script has 0 replies" in result.trace.warnings[0]
