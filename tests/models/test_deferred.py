"""An LLM that is loaded when it is first asked."""

from __future__ import annotations

import pytest

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.base import Message
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.deferred import Deferred
from ragsieve.models.pruner import Pruner

PROMPT = (Message("user", "Who sang it?"),)


def loaded(model: Deferred) -> bool:
    """Whether the LLM is there."""
    return "model" in vars(model)


def test_counting_needs_no_llm() -> None:
    """Tokens are those of the bundled sentence pruner, through wrappers too."""
    model = models.load("deferred:smollm2")
    with DynamicBatcher(model) as shared:
        counts = shared.count(["The Eiffel Tower.", ""])

    assert Pruner().count(["The Eiffel Tower.", ""]) == counts
    assert "Deferred('smollm2')" == repr(model)
    assert not loaded(model)


def test_a_model_that_streams_does_so_here() -> None:
    """In as many pieces."""
    model = models.load("deferred:fake:echo")
    given = list(model.stream(PROMPT))

    assert loaded(model)
    assert models.load("fake:echo").complete([PROMPT]) == given


def test_the_first_call_loads_the_llm() -> None:
    """It then answers as the LLM itself does, under its identity."""
    model = models.load("deferred:fake:echo")
    before = loaded(model)
    replies = model.complete([PROMPT])

    assert not before
    assert models.load("fake:echo").complete([PROMPT]) == replies
    assert models.load("fake:echo").identity == model.identity
    assert loaded(model)


def test_an_llm_that_is_not_there_is_told_when_it_is_asked() -> None:
    """Until then it is not looked for."""
    model = models.load("deferred:nope")

    assert [1] == model.count(["tower"])
    with pytest.raises(InputError, match=r"a model must be one of .* got 'nope'"):
        model.complete([PROMPT])
