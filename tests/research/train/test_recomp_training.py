"""RECOMP's training from questions to a folder: tiny models of random weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragsieve import models
from ragsieve_research.train.plans import RecompPlan
from ragsieve_research.train.recomp import train_recomp
from ragsieve_research.train.run import Run

YEARS = range(1900, 1930)
pytestmark = pytest.mark.usefixtures("one_thread")
WORDS = ["seals", "crofts", "sang", "rain", "snow", "fell", "who", "in", *map(str, YEARS)]


@pytest.fixture(scope="module")
def llama(make_llm: Callable[..., Path]) -> str:
    """A generator of random weights: some sentence makes it trust an answer most."""
    return f"transformers:{make_llm(WORDS, 2, width=32)}"


@pytest.fixture
def plan(llama: str, make_encoder: Any) -> RecompPlan:
    encoder = f"sentence_transformers:{make_encoder(WORDS, 32)}"
    return RecompPlan(llm=llama, embedder=encoder, margin=0.0, negatives=1, epochs=1)


@pytest.fixture
def source(asked: Callable[..., Any]) -> Any:
    return asked(YEARS, "seals sang in {0} . rain fell . snow fell in {0} .")


@pytest.mark.slow
def test_a_compressor_is_trained_and_a_second_start_labels_nothing(
    tmp_path: Path, plan: RecompPlan, source: Any, counted: Any
) -> None:
    """Its folder is an embedder with a recipe and a card; labels and the model are kept."""
    folder, work = tmp_path / "made", tmp_path / "work"
    run = Run([source], work, 2, counted)
    recipe = train_recomp(folder, plan, run)
    labelled = dict(counted.fresh)
    again = train_recomp(folder, plan, run)
    card = (folder / "README.md").read_text()
    vectors = models.load(f"sentence_transformers:{folder}").embed(["seals sang", "rain fell"])

    assert {"train.labels.jsonl", "validation.labels.jsonl"} == labelled.keys()
    assert all(labelled.values())
    assert [0, 0] == [count for _, count in counted.fresh[2:]]
    assert recipe == again
    assert {"questions", "first", "pairs", "gain", "most"} == recipe["before"].keys()
    assert recipe["questions"]["pairs"] == labelled["train.labels.jsonl"]
    assert (2, 16) == vectors.shape
    assert "--system recomp --embedder sentence_transformers:FOLDER" in card
    assert "| questions | first | pairs | gain | most |" in card
