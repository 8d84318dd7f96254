"""HyDE, Rewrite-Retrieve-Read, Iter-RETGEN: each says what is searched, one loop searches."""

from __future__ import annotations

from dataclasses import dataclass

from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder, strip_thinking
from ragsieve.pipeline import Source, Stage, System
from ragsieve.prompts import render
from ragsieve.retrieve.rewrite import Rewrite
from ragsieve.systems.iterating import SHOWN, Search, Searching, iterating
from ragsieve.text import safe
from ragsieve.trace import log_event, note
from ragsieve.types import Query

PASSAGE = 128  # tokens of a hypothetical passage


@dataclass(frozen=True)
class Hypothetical:
    """Searches once, by the question and a passage that a model makes up as its answer."""

    llm: LLM

    def __call__(self, query: Query, /) -> Searching:
        reply = self.llm.complete([render("hyde", question=query.text)], max_tokens=PASSAGE)[0]
        passage = safe(strip_thinking(reply)).strip()
        if not passage:
            note("no passage was made up: the question as it is searches")
        by = Query(f"{query.text}\n{passage}".strip(), query.id)
        return (yield Search(by, query))


@dataclass(frozen=True)
class Rewriting:
    """Searches once, by the question in other words."""

    rewrite: Rewrite

    def __call__(self, query: Query, /) -> Searching:
        return (yield Search(self.rewrite(query), query))


@dataclass(frozen=True)
class Alternating:
    """Searches by the question, then by what was answered from the last search and the question.

    The last search's evidence is kept; the system's reader answers from it.
    """

    reader: Reader
    iterations: int = 3

    def __call__(self, query: Query, /) -> Searching:
        by, found = query, (yield Search(query, query))
        for number in range(2, self.iterations + 1):
            said = " ".join(safe(strip_thinking(self.reader(query, found).reply)).split())
            after = Query(f"{said} {query.text}".strip(), query.id)
            log_event(f"answer {number - 1}: {said[:SHOWN]!r}", "answer", answer=said)
            if after == by:
                note(f"search {number} would be the last one again: it is over")
                break
            by, found = after, (yield Search(after, query))
        return found


def hyde(
    llm: LLM,
    embedder: Embedder,
    *,
    source: Source | None = None,
    prune: Stage | None = None,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Search by a passage that the LLM makes up as an answer (arXiv 2212.10496).

    Args:
        llm: Makes up the passage, and answers.
        embedder: Ranks documents in hand, cut into chunks of 200 tokens; records are never cut.
        source: Asked in place of documents in hand, as an index is.
        prune: A filter of any kind for what is found, such as another system's stage.
        k: Segments of a search that count.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: HyDE (arXiv 2212.10496), section 3.2; PruningRAG (arXiv 2409.13694), section 5.1.
    Differs: One passage, written greedily, embedded together with the question as one text, where
        the paper takes the mean vector of the question and several sampled passages: a `Source` is
        asked in words.
    """
    made = Hypothetical(llm)
    return iterating(made, llm, embedder, source=source, prune=prune, k=k, max_tokens=max_tokens)


def iter_retgen(
    llm: LLM,
    embedder: Embedder,
    *,
    source: Source | None = None,
    prune: Stage | None = None,
    iterations: int = 3,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Search by the question, then by the answer so far with the question (arXiv 2305.15294).

    Args:
        llm: Answers, after every search.
        embedder: See `hyde`; so for ``source``, ``prune``, ``k``, ``max_tokens``.
        source: Asked in place of documents in hand.
        prune: Filters what each search finds.
        iterations: Searches, each with an answer after it; at least 1.
        k: Segments of a search that count.
        max_tokens: Budget of the context.

    Raises:
        InputError: If an option breaks its rule.

    Source: Iter-RETGEN (arXiv 2305.15294), section 3.2; PruningRAG, table 7: 3 iterations.
    Differs: It ends before, where an answer brings no other search; the result is the same.
    """
    if iterations < 1:
        raise InputError(f"iterations must be at least 1, got {iterations!r}")
    made = Alternating(Reader(llm), iterations)
    return iterating(made, llm, embedder, source=source, prune=prune, k=k, max_tokens=max_tokens)


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
