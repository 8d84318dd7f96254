"""What every filter is measured against: no retrieval, everything, the first or nearest k."""

from __future__ import annotations

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import Pipeline, System


def closed_book(llm: LLM) -> System:
    """Keep nothing: the generator answers by itself."""
    return System(Pipeline(select.TopK(0)), Reader(llm))


def all_documents(llm: LLM, *, max_tokens: int | None = None) -> System:
    """Keep every document whole."""
    return System(Pipeline(), Reader(llm), max_tokens)


def top_documents(llm: LLM, *, k: int = 5, max_tokens: int | None = None) -> System:
    """Keep the first ``k`` documents as they were retrieved."""
    return System(Pipeline(select.TopK(k)), Reader(llm), max_tokens)


def top_sentences(
    llm: LLM, embedder: Embedder, *, k: int = 5, max_tokens: int | None = None
) -> System:
    """Keep the ``k`` sentences nearest to the question by embedding, as they stand in the text."""
    return System(
        Pipeline(
            split.Sentences(),
            score.Cosine(embedder),
            select.TopK(k),
            select.Order("document"),
        ),
        Reader(llm),
        max_tokens,
    )
