"""Fine-tuning an LLM to choose sources: a tiny model learns by heart which it shall ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("peft")
pytest.importorskip("sklearn")

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.base import Message
from ragsieve.retrieve.route import LLMRouter, Named, nothing
from ragsieve.train.router_llm import samples, train_llm_router
from ragsieve.train.sft import Tuning
from ragsieve.types import Query

WORDS = ["yes", "no", "price", "song", "shop", "music", "Question"]
SOURCES = (Named("shop", "shop", nothing), Named("music", "music", nothing))


def test_a_sample_is_what_the_router_asks() -> None:
    """A prompt a source, yes for those that help."""
    first, second = samples(Query("price"), [True, False], SOURCES)

    assert ("yes", "no") == (first.target, second.target)
    assert Message("user", first.prompt[-1].content) == first.prompt[-1]
    assert "Source: shop: shop" in first.prompt[-1].content
    assert 'Question: "price"' in second.prompt[-1].content


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_tuned_model_chooses(
    tmp_path: Path, make_llm: Callable[[Sequence[str], int], Path]
) -> None:
    """Where the shop helped and music did not, it says so, and needs no warning."""
    tiny = f"transformers:{make_llm(WORDS, 1)}"
    queries, helps = [Query("price")] * 2, np.array([[True, False]] * 2)
    fast = Tuning(epochs=8, lr=0.03, checks=1)
    log = train_llm_router(tmp_path / "a", queries, helps, SOURCES, llm=tiny, tuning=fast)
    router = LLMRouter(models.load(tiny, adapter=str(tmp_path / "a")), trained=True)
    found = router(Query("price"), SOURCES)

    assert ["shop"] == found
    assert "validation_loss" in log[-1]
    assert {"adapter_config.json", "adapter_model.safetensors", "recipe.json"} == {
        path.name for path in (tmp_path / "a").iterdir()
    }


def test_labels_must_fit() -> None:
    """The error says how many."""
    with pytest.raises(InputError, match=r"at least 2 questions by 2 sources, got \(1, 2\)"):
        train_llm_router(Path("a"), [Query("x")], np.ones((1, 2), bool), SOURCES)
