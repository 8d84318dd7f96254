"""Rewrite-Retrieve-Read: search by the rewritten question."""

from __future__ import annotations

from ragsieve.models.base import LLM, Embedder
from ragsieve.retriever import AnySource
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve_research.retrieve.rewrite import Rewrite
from ragsieve_research.systems.hyde import Once
from ragsieve_research.systems.iterating import iterating


@system("rewrite-retrieve-read", needs="LLM, embedder", paper="arXiv 2305.14283")
def rewrite_retrieve_read(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    k: int = 5,
) -> System:
    """Search by the question in the model's words; read with its own.

    Args:
        llm: Rewrites and answers.
        embedder: See `hyde`; so for what follows.
        source: Asked in place of documents in hand.
        prune: Filters the results.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: Rewrite-Retrieve-Read (arXiv 2305.14283), section 3.1, the frozen LLM as rewriter.
    Differs: One query, checked as `ragsieve_research.retrieve.rewrite.Rewrite` says, not several.
    """
    return iterating(Once(Rewrite(llm)), llm, embedder, source, prune, k)
