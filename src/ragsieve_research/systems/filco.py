"""FILCO: a model writes the helpful sentence, or the sentence most like the question is kept."""

from __future__ import annotations

from ragsieve import select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM
from ragsieve.system import Pipeline, Stage, System
from ragsieve.systems.base import system
from ragsieve_research.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve_research.select.extract import Extract


@system("filco", needs="LLM", paper="arXiv 2311.08377")
def filco(
    llm: LLM,
    *,
    extractor: LLM | None = None,
    documents: int = 5,
    min_keep: int = 0,
) -> System:
    """Keep the sentences that a filter model writes out of the documents, each where it stands.

    Args:
        llm: The generator.
        extractor: The filter model (the paper's M_ctx), tuned to write the sentence that a measure
            chose, of ``ragsieve train writer``; ``llm`` where None.
        documents: So many of the first documents are read; not negative.
        min_keep: Where fewer sentences are written, the first others are kept too; not negative.

    Raises:
        InputError: If an option breaks its rule.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3; the authors' code reads the first passage or
        the first five.
    Differs: What the model writes is found in the documents (see `select.Extract`, mode
        ``"write"``), and what is not there is dropped: the paper gives the generator the text as it
        was written. The generator is not tuned to filtered contexts.
    """
    extract = Extract(extractor or llm, mode="write", min_keep=min_keep)
    return filtering(llm, documents, extract)


@system("filco-lexical", paper="arXiv 2311.08377")
def filco_lexical(llm: LLM, *, documents: int = 5, k: int = 1) -> System:
    """Keep the sentence that shares most words with the question.

    Args:
        llm: The generator.
        documents: So many of the first documents are read; not negative.
        k: So many sentences stay at most; the paper's 1.

    Raises:
        InputError: If an option breaks its rule.

    Source: FILCO (arXiv 2311.08377), section 2: lexical overlap.
    Differs: With the question, which is known when it is asked; the authors' code compares with the
        gold output, as training here does. See `ragsieve_research.score.inclusion.Overlap`.
    """
    return filtering(llm, documents, *best(Overlap(), k))


def best(measure: Inclusion | Overlap | CXMI, k: int) -> tuple[Stage, ...]:
    """The ``k`` best sentences by a measure, of those that have something of the answer."""
    return measure, select.Threshold(measure.least), select.TopK(k)


def filtering(llm: LLM, documents: int, *chosen: Stage) -> System:
    """The system that chooses among the sentences of the first ``documents``."""
    return System(
        Pipeline(select.TopK(documents), split.Sentences(), *chosen, select.Order("document")),
        Reader(llm),
    )
