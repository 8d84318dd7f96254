"""Fine-tuning an LLM to choose sources: a tiny model learns by heart which it shall ask."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from ragsieve import models
from ragsieve.models.base import Message
from ragsieve.types import Query
from ragsieve_research.retrieve.route import LLMRouter, Named, nothing
from ragsieve_research.train.plans import RouterPlan
from ragsieve_research.train.router_llm import samples, train_llm_router
from ragsieve_research.train.run import Run
from ragsieve_research.train.sft import Tuning

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
def test_a_tuned_model_chooses(
    tmp_path: Path, make_llm: Callable[[Sequence[str], int], Path]
) -> None:
    """Where the shop helped and music did not, it says so, and needs no warning."""
    tiny = f"transformers:{make_llm(WORDS, 1)}"
    queries, helps = [Query("price")] * 2, np.array([[True, False]] * 2)
    fast = Tuning(epochs=8, lr=0.03, checks=1)
    run = Run([], tmp_path)
    adapter = train_llm_router(run, queries, helps, SOURCES, RouterPlan(form=f"llm:{tiny}"), fast)
    router = LLMRouter(models.load(tiny, adapter=str(adapter)), trained=True)

    assert ["shop"] == router(Query("price"), SOURCES)
    assert [adapter] == [*tmp_path.glob("adapter-*")]
