"""Whole methods, each a composition of stages: one function a method, its entry beside it.

`SYSTEMS` has them by name and `build` makes them; a function is imported from its module, as in
``from ragsieve.systems.baselines import top_sentences``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder, SentencePruner
from ragsieve.retriever import AnySource
from ragsieve.system import System
from ragsieve.systems.base import ROLES, SYSTEMS, check_options, limited, made

__all__ = ["SYSTEMS", "build", "check_options", "limited"]


def build(
    name: str,
    llm: LLM,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    pruner: SentencePruner | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    source: AnySource | None = None,
) -> System:
    """The system ``name`` of `SYSTEMS`.

    Args:
        name: Which.
        llm: Its generator.
        embedder: Its embedder, where it needs one.
        options: Options other than their defaults, by name; of every system also `base.SHARED`.
        pruner: Its sentence pruner, where it needs one.
        answers: Gold answers by question, where it needs them.
        source: Finds evidence where the caller passes no documents, as an index does, or whatever
            else `ragsieve.retriever.as_source` takes.

    Raises:
        InputError: If there is no such system or option, an option breaks its rule, or something
            that it needs is missing.
    """
    entry = SYSTEMS.find(name)
    check_options(name, entry, options)
    models = {"embedder": embedder, "pruner": pruner}
    for role in entry.roles:
        if models[role] is None:
            raise InputError(f"{name} needs {role}, a model of kind {ROLES[role]}, got none")
    if entry.knows and answers is None:
        raise InputError(f"{name} needs the gold answers, which only `ragsieve bench` knows")
    inputs = [*(models[role] for role in entry.roles), *([answers] if entry.knows else [])]
    if entry.searches:
        return made(entry.make, llm, *inputs, source=source, **(options or {}))
    return made(entry.make, llm, *inputs, **(options or {})).with_source(source)
