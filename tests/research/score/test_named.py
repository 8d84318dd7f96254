"""Scorers by name."""

from typing import Any

import pytest

from ragsieve import score
from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, ScriptedLLM
from ragsieve_research.score.named import SCORERS, NamedScorer, create_scorers, needed


def test_scorers_bring_what_they_need_once() -> None:
    """Reflection reads relevance; a mean reads all three."""
    assert ["relevance", "reflection"] == needed(["reflection"])
    assert ["relevance", "reflection", "critique", "mean"] == needed(["reflection", "mean"])
    with pytest.raises(InputError, match=r"a scorer must be one of bm25, .*, got 'bm52'"):
        needed(["bm52"])
    with pytest.raises(InputError, match="at least one scorer"):
        needed([])


def test_models_are_asked_for_only_where_needed() -> None:
    """BM25 needs none, a cross-encoder its own."""
    asked = []

    def model(role: str) -> Any:
        asked.append(role)
        return OverlapCrossEncoder()

    assert ["bm25", "pair"] == list(create_scorers(["bm25", "pair"], model))
    assert ["pair"] == asked


def test_a_package_adds_a_scorer() -> None:
    """By its entry point's name, after which it is one of the others."""
    with SCORERS.isolated():
        SCORERS.register("words", NamedScorer(score.BM25))
        assert ["words"] == [*create_scorers(["words"], lambda role: None)]
    assert "words" not in SCORERS


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_can_be_made(name: str) -> None:
    """From the model of its role."""
    models = {
        "embedder": HashingEmbedder(),
        "pair": OverlapCrossEncoder(),
        "clues": None,
        "pruner": None,
        "llm": ScriptedLLM(["unused"]),
        "critic": ScriptedLLM(["unused"]),
    }
    chain = create_scorers([name], lambda role: models[role])

    assert name == list(chain)[-1]
    assert {"hybrid": "fused"}.get(name, name) == chain[name].name
