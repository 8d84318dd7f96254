"""Iter-RETGEN: search by the question, then by the answer so far."""

from __future__ import annotations

from dataclasses import dataclass

from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.retriever import AnySource
from ragsieve.schema import Count, Options
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.text import safe
from ragsieve.trace import log_event, note
from ragsieve.types import Query, Segment
from ragsieve_research.models.replies import prose
from ragsieve_research.systems.iterating import SHOWN, Search, iterating


@dataclass(frozen=True)
class Alternating(Options):
    """Searches by the question, then by what was answered from the last search and the question.

    The last search's evidence is kept; the system's reader answers from it.
    """

    reader: Reader
    iterations: Count = 3

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        by, evidence = query, search(query, query)
        for number in range(2, self.iterations + 1):
            answer = " ".join(prose(safe(self.reader(query, evidence).text)).split())
            following = Query(f"{answer} {query.text}".strip(), query.id)
            log_event(f"answer {number - 1}: {answer[:SHOWN]!r}", "answer", answer=answer)
            if following == by:
                note(f"search {number} would be the last one again: it is over")
                break
            by, evidence = following, search(following, query)
        return evidence


@system("iter-retgen", needs="LLM, embedder", paper="arXiv 2305.15294")
def iter_retgen(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    iterations: int = 3,
    k: int = 5,
) -> System:
    """Search by the question, then by the answer so far with the question, three times.

    Args:
        llm: Answers, after every search.
        embedder: See `hyde`; so for ``source``, ``prune``, ``k``.
        source: Asked in place of documents in hand.
        prune: Filters what each search finds.
        iterations: Searches, each with an answer after it; at least 1.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: Iter-RETGEN (arXiv 2305.15294), section 3.2; PruningRAG, table 7: 3 iterations.
    Differs: It ends before, where an answer brings no other search; the result is the same.
    """
    return iterating(Alternating(Reader(llm), iterations), llm, embedder, source, prune, k)
