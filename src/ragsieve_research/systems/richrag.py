"""RichRAG: search by the aspects of the question, then order the results to cover them all."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragsieve import select
from ragsieve.models.base import LLM, Embedder, ListwiseReranker
from ragsieve.prompts import render
from ragsieve.retriever import AnySource
from ragsieve.schema import Amount, Count, Options
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.trace import note
from ragsieve.types import Query, Segment
from ragsieve_research.score.listwise import Listwise, as_reranker
from ragsieve_research.systems.asking import sub_questions
from ragsieve_research.systems.iterating import Search, iterating


@system("richrag", needs="LLM, embedder", paper="arXiv 2406.12566")
def richrag(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    ranker: LLM | ListwiseReranker | None = None,
    aspects: int = 5,
    k: int = 10,
    keep: int = 10,
) -> System:
    """Search by each aspect of the question, and keep the 10 results that cover them together.

        question ─ aspects ─ a search for each ─ one list, ordered for all of them ─ first 10

    Args:
        llm: Names the aspects, and answers.
        embedder: Ranks documents in hand, cut into chunks of 200 tokens; records are never cut.
        source: Asked in place of documents in hand, as an index is.
        prune: A filter of any kind for the results, such as another system's stage.
        ranker: Orders them: an LLM that is asked, or a model trained to order lists; ``llm`` where
            None.
        aspects: Sub-questions at most; at least 1.
        k: Segments of a search that count.
        keep: So many of the ordered segments stay; not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: RichRAG (arXiv 2406.12566), section 3: sub-aspect explorer, multi-faceted retriever,
        generative list-wise ranker; lists of 10 are those of the authors' code.
    Differs: Nothing is trained. The paper tunes the explorer, and as ranker a T5 that reads each
        candidate by itself and decodes identifiers, first on lists that cover reference
        sub-answers, then by the generator's answers; no weights are published. An LLM that is
        shown the list with question and aspects orders it here, 20 at a time.
    """
    strategy = ByAspects(llm, Listwise(as_reranker(ranker or llm)), aspects, keep)
    return iterating(strategy, llm, embedder, source, prune, k)


@dataclass(frozen=True)
class ByAspects(Options):
    """Searches by the question and its aspects, and orders what is found for all of them.

    A reply is one sub-question a line. One that cannot be read is requested once more; then the
    question is its own only aspect.

    Args:
        llm: Names the aspects.
        listwise: Orders the results, by the question with its aspects.
        aspects: Sub-questions at most; at least 1.
        keep: So many results stay; not negative.

    Raises:
        InputError: If an option breaks its rule.
    """

    llm: LLM
    listwise: Listwise
    aspects: Count = 5
    keep: Amount = 10

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        prompt = render("aspects", question=query.text, most=str(self.aspects))
        aspects = sub_questions(self.llm, prompt, self.aspects, "the question is its only aspect")
        if aspects:
            note(f"aspects: {'; '.join(aspects)}")
        results: dict[tuple[str, int, int], Segment] = {}
        for text in dict.fromkeys((query.text, *aspects)):
            for segment in search(replace(query, text=text), query):
                results.setdefault(segment.key, segment)
        about = "; ".join(aspects)
        whole = replace(query, text=f"{query.text} (aspects: {about})") if aspects else query
        return select.TopK(self.keep)(query, self.listwise(whole, [*results.values()]))
