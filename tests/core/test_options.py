"""Options keep the rules that their errors name, wherever they are given."""

from functools import partial

import pytest

from ragsieve import models
from ragsieve.agents.rules import ToolRule
from ragsieve.context.budget import LIMITS, ContextBudget
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.callables import as_llm
from ragsieve.models.fake import HashingEmbedder
from ragsieve.read.web import page_text
from tests.rules import check_fields, check_rule

HOST = {"base_url": "http://127.0.0.1:1"}


def server(name):
    return getattr(pytest.importorskip("ragsieve.server"), name)()


def served(name, **options):
    pytest.importorskip("openai")
    return models.load(f"{name}:a", **HOST, **options)


MADE = {
    "Limits": lambda: server("Limits"),
    "Settings": lambda: server("Settings"),
    "ContextBudget": lambda: ContextBudget(**dict.fromkeys(LIMITS[:-1], 9), max_share=0.5),
    "as_llm": lambda: as_llm(str),
    "HashingEmbedder": HashingEmbedder,
    "pruner": lambda: models.load("pruner:a", threads=1),
    "rerank": lambda: served("rerank"),
    "openai": lambda: served("openai", context=9),
}


@pytest.mark.parametrize("name", MADE)
def test_a_number_is_held_to_its_rule(name):
    """At the edges that the error names, before anything is loaded or sent."""
    check_fields(MADE[name]())


EMBEDDER = HashingEmbedder()
TAKEN = [
    (ToolRule, {"max_tokens": 9, "min_tokens": 9, "edges": 1, "min_saving": 0.5}),
    (partial(DynamicBatcher, EMBEDDER), {"max_batch": 8, "callers": 2, "wait_s": 0.1}),
    (partial(Cached, EMBEDDER), {"most": 9, "timeout_s": 0.1}),
    (partial(page_text, "<p>x"), {"timeout_s": 1.0}),
]


@pytest.mark.parametrize(("make", "options"), TAKEN)
def test_so_is_one_of_what_is_no_dataclass(make, options):
    """Waiting for ever is no time."""
    for name, value in options.items():
        check_rule(name, value, lambda new, of=name: make(**{of: new}))
