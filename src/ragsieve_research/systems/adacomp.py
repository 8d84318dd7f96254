"""AdaComp: as many of the first documents as a model says that the question needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render, titled
from ragsieve.schema import Count, check_number
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.types import Query, Segment
from ragsieve_research import select
from ragsieve_research.prompts import first_words, fitting, numbered
from ragsieve_research.score.listwise import MAX_WORDS


@system("adacomp", needs="LLM", paper="arXiv 2409.01579")
def adacomp(
    llm: LLM,
    *,
    predictor: LLM | None = None,
    documents: int = 5,
    min_keep: int = 0,
) -> System:
    """Keep as many of the first 5 documents as an LLM says that the question needs.

        question, documents ─ p(0), p(1), … p(5) ─ the likeliest number k ─ the first k ─ answer

    Args:
        llm: The generator.
        predictor: Says how many: an LLM that is asked, or one that was trained for it; ``llm``
            where None.
        documents: So many of the first are shown to it; at least 1.
        min_keep: At least so many stay; not negative. With 0 the generator may answer by itself.

    Raises:
        InputError: If an option breaks its rule.

    Source: AdaComp (arXiv 2409.01579): a predictor that reads question and documents gives the
        compression rate, which is the least k whose first k documents are enough.
    Differs: Untrained without a ``predictor``; the paper tunes one on the least k from which the
        generator's answer was right. The number is the most probable one, not one that is written,
        where the model gives probabilities.
    """
    check_number("documents", documents, Count)
    predict = TruncateDocuments(predictor or llm, documents, min_keep)
    return System(Pipeline(predict), Reader(llm))


@dataclass(frozen=True)
class TruncateDocuments(select.Truncate):
    """Keep the first k documents, an LLM choosing k; see
    `ragsieve_research.select.truncate.Truncate`.

    Args:
        llm: Chooses k; plain, or tuned for it.
        max_clues: So many of the first are shown to it, the rest is dropped; at least 1.
        min_keep: k is at least this; not negative.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails, or not even the titles fit its context.
    """

    def prompt(self, query: Query, shown: Sequence[Segment], /) -> Prompt:
        """The prompt to choose among ``shown``, best first."""

        def make(words: int) -> Prompt:
            return render(
                "truncate_documents",
                question=query.text,
                most=str(len(shown)),
                documents=numbered([first_words(titled(s), words) for s in shown]),
            )

        return fitting(self.llm, make, MAX_WORDS, reply=8)
