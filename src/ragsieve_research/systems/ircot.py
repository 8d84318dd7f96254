"""IRCoT: search by each sentence of a chain of thought, and reason on from what is found."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.retriever import AnySource
from ragsieve.schema import Count, Options
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.text import safe, sentence_spans
from ragsieve.trace import log_event, note
from ragsieve.types import Query, Segment
from ragsieve_research.models.replies import prose
from ragsieve_research.systems.iterating import SHOWN, Search, iterating


@dataclass(frozen=True)
class Interleaving(Options):
    """Searches by the question, then by each next sentence of a chain of thought.

    The chain ends where a sentence says what the answer is, comes again, or none comes. All that
    was found is kept, what was found first in front.

    Args:
        reader: Writes the chain, from what was found so far; of each reply the first sentence.
        sentences: Of the chain at most; at least 1.
        passages: Kept at most; at least 1.

    Raises:
        InputError: If an option breaks its rule.
    """

    reader: Reader
    sentences: Count = 8
    passages: Count = 15

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        found, chain = search(query, query), list[str]()
        while len(chain) < self.sentences:
            so_far = f"{query.text}\n\nThoughts so far: {' '.join(chain) or 'none'}"
            text = prose(safe(self.reader(replace(query, text=so_far), found).text), "sentence")
            sentence = " ".join(next((text[a:b] for a, b in sentence_spans(text)), "").split())
            if not sentence or sentence in chain:
                note("the chain ends: no new sentence comes")
                break
            chain.append(sentence)
            log_event(f"thought {len(chain)}: {sentence[:SHOWN]!r}", "thought", sentence=sentence)
            if "answer is" in sentence.casefold():
                break
            found += search(Query(sentence, query.id), query)
            found = [*{s.key: s for s in found}.values()][: self.passages]
        return found


@system("ircot", needs="LLM, embedder", paper="arXiv 2212.10509")
def ircot(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    sentences: int = 8,
    passages: int = 15,
    k: int = 5,
) -> System:
    """Search by each sentence of a chain of thought, and reason on from what is found.

    Args:
        llm: Reasons, a sentence at a time, and answers.
        embedder: See `hyde`; so for ``source``, ``prune``, ``k``.
        source: Asked in place of documents in hand.
        prune: Filters what each search finds.
        sentences: Of the chain at most; at least 1.
        passages: Kept at most; at least 1.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: IRCoT (arXiv 2212.10509), section 3.1: at most 8 sentences and 15 paragraphs.
    Differs: The prompt has instructions in place of worked examples. The reader answers from the
        passages in a few words, without a chain of its own; K of a search is tuned in the paper.
    """
    strategy = Interleaving(Reader(llm, 64, "ircot", "ircot"), sentences, passages)
    return iterating(strategy, llm, embedder, source, prune, k)
