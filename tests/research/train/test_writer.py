"""Filter models are trained from questions to a folder: tiny models of random weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragsieve import models
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.bottleneck import bottleneck
from ragsieve_research.systems.filco import filco
from ragsieve_research.train.plans import By, WriterPlan
from ragsieve_research.train.run import Run
from ragsieve_research.train.writer import train_writer

YEARS = (1900, 1901, 1902, 1918)  # the salted hash puts the last alone in validation
WORDS = ["seals", "sang", "rain", "fell", "who", "in", "NONE", *map(str, YEARS)]


@pytest.fixture(scope="module")
def llama(make_llm: Callable[..., Path]) -> str:
    """A tiny model of random weights that reads whole words, and ends most replies soon."""
    return f"transformers:{make_llm(WORDS, 1, positions=1400, padded=False)}"


@pytest.mark.slow
@pytest.mark.parametrize("by", ["strinc", "ib"])
def test_a_filter_model_is_trained_and_a_second_start_asks_nothing(
    tmp_path: Path, llama: str, asked: Callable[..., Any], counted: Any, by: By
) -> None:
    """Its folder is a model with a recipe, a card and its adapter; the system runs with it."""
    source = asked(YEARS, "seals sang in {} . rain fell .", "rain .")
    plan = WriterPlan(by=by, llm=llama, epochs=1)
    run = Run([source], tmp_path / "work", 2, counted)
    first, again = (train_writer(tmp_path / name, plan, run) for name in "ab")
    writer = models.load(f"transformers:{tmp_path / 'b'}")
    llm = ScriptedLLM(["seals"])
    system = bottleneck(llm, writer=writer) if by == "ib" else filco(llm, extractor=writer)
    result = system.ask("who sang ?", ["seals sang ."])
    use = f"--system {'bottleneck' if by == 'ib' else 'filco'} --model "
    use += f"{'writer' if by == 'ib' else 'extractor'}=transformers:FOLDER"

    assert [3, 1, 0, 0] == [count for _, count in counted.fresh]
    assert first["log"] == again["log"]
    assert 1 == first["after"]["questions"]
    assert (by == "ib") == ("before" in first)
    assert {"README.md", "adapter", "model.safetensors", "recipe.json"} <= {
        path.name for path in (tmp_path / "b").iterdir()
    }
    assert use in (tmp_path / "b" / "README.md").read_text()
    assert result.tokens.after <= result.tokens.before
