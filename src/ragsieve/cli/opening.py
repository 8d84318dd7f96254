"""Build a system with its models from options, for `filter`, `ask` and `serve`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache as cached
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import click

from ragsieve import artifacts, models
from ragsieve.artifacts import building
from ragsieve.cli.base import COUNT, EXISTING_FILE, EXISTING_FOLDER, pairs, values
from ragsieve.cli.completion import (
    complete_models,
    complete_option,
    complete_role,
    complete_systems,
)
from ragsieve.errors import InputError
from ragsieve.evaluate.opening import EvidenceOptions, open_system
from ragsieve.models.sharing import Share, sharing
from ragsieve.pipeline import System
from ragsieve.systems.registry import ROLES

KEEP_ANSWER = "keep_answer"
"""The option of systems that --keep-answer sets."""


@dataclass(frozen=True, kw_only=True)
class SystemOptions:
    """A system with its models, as the command line names them; the fields are its options.

    Args:
        system: One that `ragsieve systems` lists, or a trained filter: its folder or hub id.
        system_options: An option of the system, as k=3 of top-sentences, clusters=5 of winnowrag.
        system_models: A model of its own for a part of the system, as critic=openai:gpt-5-mini of
            winnowrag or chunkrag, where a critic that differs from --llm is worth most,
            extractor=openai:gpt-5-mini of finefilter-point.
        index: Search this index (`ragsieve index build`) in place of documents.
        retrieve: Chunks from the index.
        by: How the index is searched.
        sources: Ask the sources of this TOML file (see `ragsieve train router --help`).
        router: Which of --sources: all, only:NAME,…, llm (untrained), or a folder of `ragsieve
            train router`.
        llm: smollm2, transformers:ID_OR_FOLDER, openai:NAME; fake:echo needs no weights.
        llm_options: An option of the LLM, as base_url=http://127.0.0.1:8000/v1.
        embedder: minilm, sentence_transformers:ID_OR_FOLDER; fake:hashing needs no weights.
        pruner: Of the systems finefilter and provence: pruner, pruner:FOLDER, of provence also
            provence:ID; fake:pruner needs no weights.
        keep_answer: Of the system finefilter: the probability that the answer survives, 0.8 to
            0.99; more keeps more.
        max_tokens: Budget, in the LLM's tokens.
        on_error: keep: a stage that fails is skipped, and a warning says so.
    """

    system: str = "finefilter"
    system_options: tuple[str, ...] = ()
    system_models: tuple[str, ...] = ()
    index: Annotated[Path | None, EXISTING_FOLDER] = None
    retrieve: Annotated[int | None, COUNT] = None
    by: Literal["hybrid", "dense", "bm25"] | None = None
    sources: Annotated[Path | None, EXISTING_FILE] = None
    router: str | None = None
    llm: str | None = None
    llm_options: tuple[str, ...] = ()
    embedder: str = "minilm"
    pruner: str = "pruner"
    keep_answer: float | None = None
    max_tokens: Annotated[int | None, click.IntRange(0)] = None
    on_error: Literal["raise", "keep"] = "raise"

    def with_llm(self, *others: str, answering: bool = False) -> SystemOptions:
        """The same with an LLM: the one that a trained filter learnt from where none is named.

        Args:
            others: Systems that share it.
            answering: Whether it answers.
        """
        asking = answering or bool(self.llm_options)
        asking = asking or any(artifacts.entry(name).needs_llm for name in others)
        return replace(self, llm=self.llm or artifacts.generator(self.system, asking=asking))

    @property
    def own(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Options and models of the system itself."""
        options = values("--option", self.system_options)
        if self.keep_answer is not None:
            options[KEEP_ANSWER] = self.keep_answer
        return options, pairs("--model", self.system_models, "ROLE=MODEL")

    @property
    def evidence(self) -> EvidenceOptions:
        """Source of evidence, if documents are not passed."""
        index, sources = (str(place or "") for place in (self.index, self.sources))
        return EvidenceOptions(
            index=index, retrieve=self.retrieve or 20, by=self.by, sources=sources
        )

    def check(self) -> None:
        """Check all that can be known before a model is loaded.

        Raises:
            InputError: If options break a rule, or do not go together.
        """
        if self.router and not self.sources:
            raise InputError("--router goes with --sources")
        if not self.index and (self.retrieve or self.by):
            raise InputError("--retrieve and --by go with --index")
        if artifacts.entry(self.system).knows:
            raise InputError(
                f"system {self.system!r} needs gold answers, which only `ragsieve bench` knows"
            )
        models.check(self.llm or "", "LLM")
        for role, kind in ROLES.items():
            models.check(getattr(self, role), kind)
        values("--llm-option", self.llm_options)
        if self.keep_answer is not None and KEEP_ANSWER in values("--option", self.system_options):
            raise InputError(f"name --keep-answer or --option {KEEP_ANSWER}=…, not both")
        building.check(self.system, *self.own)
        self.evidence.check(self.router or "all")

    @contextmanager
    def opened(self, callers: int, cache: Path | None) -> Iterator[System]:
        """The system with models of its own, for so many callers at once."""
        with self.loaded(callers, cache) as loaded:
            yield self.built(loaded)

    @contextmanager
    def loaded(
        self, callers: int, cache: Path | None = None, inner: Share | None = None
    ) -> Iterator[Loaded]:
        """What gives models to systems, each once."""
        options = values("--llm-option", self.llm_options)
        with sharing(callers, cache=cache, inner=inner) as share:

            @cached
            def load(model: str) -> Any:  # the LLM by its name is the one with its options
                return share(models.defer(model, **(options if model == self.llm else {})))

            yield Loaded(share, load)

    def built(self, loaded: Loaded) -> System:
        """The system, its models imported when they are asked."""
        share, load = loaded
        llm = load(self.llm or "")
        source = self.evidence.source(llm, load, share, self.router or "all")
        options, own = self.own
        usual = {role: getattr(self, role) for role in ROLES}
        named = building.models_of(self.system, options, own, usual)
        system = open_system(self.system, llm, options, named, load, share=share, source=source)
        if self.max_tokens is not None:
            system = system.with_budget(self.max_tokens)
        return system.lenient() if self.on_error == "keep" else system


class Loaded(NamedTuple):
    """Models that systems are made of, wrapped as many callers need them.

    Args:
        share: Wraps a model.
        load: A model by its specification, the same each time.
    """

    share: Share
    load: Callable[[str], Any]


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"shell_complete": complete_systems},
    "system_options": {
        "flags": ["--option"],
        "metavar": "KEY=VALUE",
        "shell_complete": complete_option,
    },
    "system_models": {
        "flags": ["--model"],
        "metavar": "ROLE=MODEL",
        "shell_complete": complete_role,
    },
    "embedder": {"shell_complete": complete_models("embedder")},
    "pruner": {"shell_complete": complete_models("sentence pruner")},
    "retrieve": {"show_default": "20"},
    "by": {"show_default": "hybrid, or bm25 where the index has no embedder"},
    "router": {"show_default": "all"},
    "llm": {
        "show_default": "smollm2, or what a trained filter learnt from",
        "shell_complete": complete_models("LLM"),
    },
    "llm_options": {"flags": ["--llm-option"], "metavar": "KEY=VALUE"},
    "keep_answer": {"show_default": "0.95"},
}
"""Differences of options of `SystemOptions` from its signature."""
