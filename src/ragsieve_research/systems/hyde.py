"""HyDE and Rewrite-Retrieve-Read: search once, by what a model makes of the question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragsieve.models.base import LLM, Embedder
from ragsieve.prompts import render
from ragsieve.retriever import AnySource
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.trace import note
from ragsieve.types import Query, Segment
from ragsieve_research.retrieve.rewrite import Rewrite
from ragsieve_research.systems.asking import said
from ragsieve_research.systems.iterating import Search, iterating


@dataclass(frozen=True)
class Once:
    """Searches once, by what ``rewrite`` makes of the question."""

    rewrite: Callable[[Query], Query]

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        return search(self.rewrite(query), query)


@dataclass(frozen=True)
class Hypothetical:
    """The question and a passage that a model makes up as its answer, as one query."""

    llm: LLM

    def __call__(self, query: Query, /) -> Query:
        prompt = render("hyde", question=query.text)
        passage = said(self.llm, prompt, max_tokens=128)
        if not passage:
            note("no passage was made up: the question as it is searches")
        return Query(f"{query.text}\n{passage}".strip(), query.id)


@system("hyde", needs="LLM, embedder", paper="arXiv 2212.10496")
def hyde(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    k: int = 5,
) -> System:
    """Search by a passage that the model makes up as the answer.

    Args:
        llm: Makes up the passage, and answers.
        embedder: Ranks documents in hand, cut into chunks of 200 tokens; records are never cut.
        source: Asked in place of documents in hand, as an index is.
        prune: A filter of any kind for the results, such as another system's stage.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: HyDE (arXiv 2212.10496), section 3.2; PruningRAG (arXiv 2409.13694), section 5.1.
    Differs: One passage, written greedily, embedded together with the question as one text, where
        the paper takes the mean vector of the question and several sampled passages: a `Source` is
        asked in words.
    """
    return iterating(Once(Hypothetical(llm)), llm, embedder, source, prune, k)


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
