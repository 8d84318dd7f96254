"""Whole methods, each a composition of the rooms: one function a method, one row in `SYSTEMS`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder, SentencePruner
from ragsieve.pipeline import Source, System
from ragsieve.systems.baselines import (
    all_documents,
    closed_book,
    nearest_documents,
    oracle,
    top_documents,
    top_sentences,
)
from ragsieve.systems.bottleneck import bottleneck
from ragsieve.systems.chunkrag import chunkrag
from ragsieve.systems.corrective import crag, self_crag
from ragsieve.systems.demonstrated import icl, instructrag_icl, sail
from ragsieve.systems.exit import exit_sentences
from ragsieve.systems.filco import filco, filco_cxmi, filco_lexical, filco_strinc
from ragsieve.systems.finefilter import finefilter, finefilter_one_pass
from ragsieve.systems.frameworks import hyde, iter_retgen, rewrite_retrieve_read
from ragsieve.systems.longllmlingua import llmlingua, longllmlingua
from ragsieve.systems.provence import provence
from ragsieve.systems.pruningrag import pruningrag
from ragsieve.systems.rankgpt import pe_rank, rankgpt
from ragsieve.systems.recomp import recomp, recomp_abstractive
from ragsieve.systems.selective_context import selective_context
from ragsieve.systems.selfask import self_ask
from ragsieve.systems.selfrag import self_rag
from ragsieve.systems.table import ROLES, SYSTEMS, Entry
from ragsieve.systems.winnowrag import Winnow, winnowrag

__all__ = [
    "SYSTEMS",
    "Winnow",
    "all_documents",
    "bottleneck",
    "build",
    "chunkrag",
    "closed_book",
    "crag",
    "exit_sentences",
    "filco",
    "filco_cxmi",
    "filco_lexical",
    "filco_strinc",
    "finefilter",
    "finefilter_one_pass",
    "hyde",
    "icl",
    "instructrag_icl",
    "iter_retgen",
    "llmlingua",
    "longllmlingua",
    "nearest_documents",
    "oracle",
    "pe_rank",
    "provence",
    "pruningrag",
    "rankgpt",
    "recomp",
    "recomp_abstractive",
    "rewrite_retrieve_read",
    "sail",
    "selective_context",
    "self_ask",
    "self_crag",
    "self_rag",
    "top_documents",
    "top_sentences",
    "winnowrag",
]


def build(
    name: str,
    llm: LLM,
    embedder: Embedder | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    pruner: SentencePruner | None = None,
    answers: Mapping[str, Sequence[str]] | None = None,
    source: Source | None = None,
) -> System:
    """The system ``name`` of `SYSTEMS`.

    Args:
        name: Which.
        llm: Its generator.
        embedder: Its embedder, where it needs one.
        options: Options other than their defaults, by name.
        pruner: Its sentence pruner, where it needs one.
        answers: Gold answers by question, where it needs them.
        source: Finds evidence where the caller passes no documents, as an index does.

    Raises:
        InputError: If there is no such system or option, an option breaks its rule, or something
            that it needs is missing.
    """
    if name not in SYSTEMS:
        raise InputError(f"system must be one of {', '.join(SYSTEMS)}, got {name!r}")
    entry = SYSTEMS[name]
    check_options(name, entry, options)
    given = {"embedder": embedder, "pruner": pruner}
    for role in entry.roles:
        if given[role] is None:
            raise InputError(f"{name} needs {role}, a model of kind {ROLES[role]}, got none")
    if entry.knows and answers is None:
        raise InputError(f"{name} needs the gold answers, which only `ragsieve bench` knows")
    models = [given[role] for role in entry.roles]
    told = [answers] if entry.knows else []
    if entry.searches:
        return entry.make(llm, *models, *told, source=source, **(options or {}))
    return entry.make(llm, *models, *told, **(options or {})).with_source(source)


def check_options(name: str, entry: Entry, options: Iterable[str] | None) -> None:
    """Raise `InputError` where the system ``name`` has no such option."""
    for option in options or ():
        if option not in entry.options:
            known = ", ".join(entry.options) or "none"
            raise InputError(f"options of {name} are {known}, got {option!r}")
