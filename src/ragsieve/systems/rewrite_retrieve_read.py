"""Rewrite-Retrieve-Read: search by the question in other words."""

from __future__ import annotations

from dataclasses import dataclass

from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import Source, Stage, System
from ragsieve.retrieve.rewrite import Rewrite
from ragsieve.systems.iterating import Search, Searching, iterating
from ragsieve.systems.registry import system
from ragsieve.types import Query


@dataclass(frozen=True)
class Rewriting:
    """Searches once, by the question in other words."""

    rewrite: Rewrite

    def __call__(self, query: Query, /) -> Searching:
        return (yield Search(self.rewrite(query), query))


@system(
    "rewrite-retrieve-read",
    "chunks found by the question in the model's words",
    needs="LLM, embedder",
    paper="arXiv 2305.14283",
)
def rewrite_retrieve_read(
    llm: LLM,
    embedder: Embedder,
    *,
    source: Source | None = None,
    prune: Stage | None = None,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Search by the question in the LLM's words, read with its own (arXiv 2305.14283).

    Args:
        llm: Rewrites and answers.
        embedder: See `hyde`; so for what follows.
        source: Asked in place of documents in hand.
        prune: Filters what is found.
        k: Segments of a search that count.
        max_tokens: Budget of the context.

    Raises:
        InputError: If an option breaks its rule.

    Source: Rewrite-Retrieve-Read (arXiv 2305.14283), section 3.1, the frozen LLM as rewriter.
    Differs: One query, checked as `ragsieve.retrieve.rewrite.Rewrite` says, not several.
    """
    made = Rewriting(Rewrite(llm))
    return iterating(made, llm, embedder, source=source, prune=prune, k=k, max_tokens=max_tokens)
