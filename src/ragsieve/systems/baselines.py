"""What every filter is measured against: nothing, everything, the first or best k, an oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder, PairScorer
from ragsieve.pipeline import Pipeline, System
from ragsieve.systems.registry import system
from ragsieve.text import contains_answer
from ragsieve.trace import record_drop
from ragsieve.types import Query, Segment


@system("closed-book", "no document: the model by itself")
def closed_book(llm: LLM) -> System:
    """Keep nothing: the generator answers by itself."""
    return System(Pipeline(select.TopK(0)), Reader(llm))


@system("all", "every document whole")
def all_documents(llm: LLM, *, max_tokens: int | None = None) -> System:
    """Keep every document whole."""
    return System(Pipeline(), Reader(llm), max_tokens)


@system("top-documents", "the first 5 documents as retrieved")
def top_documents(llm: LLM, *, k: int = 5, max_tokens: int | None = None) -> System:
    """Keep the first ``k`` documents as they were retrieved."""
    return System(Pipeline(select.TopK(k)), Reader(llm), max_tokens)


@system(
    "nearest-documents",
    "the 5 documents nearest to the question by embedding, or best by a cross-encoder",
    needs="embedder",
)
def nearest_documents(
    llm: LLM,
    embedder: Embedder,
    *,
    k: int = 5,
    reranker: PairScorer | None = None,
    max_tokens: int | None = None,
) -> System:
    """Keep the ``k`` documents nearest to the question, whole, the nearest first.

    Args:
        llm: The generator.
        embedder: Ranks by cosine; not used where there is a ``reranker``.
        k: How many stay.
        reranker: A cross-encoder that ranks instead.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.
    """
    ranked = score.Pair(reranker) if reranker else score.Cosine(embedder)
    return System(Pipeline(ranked, select.TopK(k)), Reader(llm), max_tokens)


@system("top-sentences", "the 5 sentences nearest to the question by embedding", needs="embedder")
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


@system("oracle", "the sentences with a gold answer; for `bench`", needs="gold answers")
def oracle(
    llm: LLM, answers: Mapping[str, Sequence[str]], *, max_tokens: int | None = None
) -> System:
    """Keep the sentences that hold a gold answer: what a filter could reach that knew it.

    Args:
        llm: The generator.
        answers: Gold answers by question.
        max_tokens: Budget of the context, in the generator's tokens.
    """
    return System(Pipeline(split.Sentences(), _Holding(answers)), Reader(llm), max_tokens)


@dataclass(frozen=True)
class _Holding:
    """Keep the segments that hold one of the question's gold answers."""

    answers: Mapping[str, Sequence[str]] = field(repr=False)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        kept = []
        for segment in segments:
            if contains_answer(segment.text, self.answers.get(query.text, ())):
                kept.append(segment)
            else:
                record_drop(segment, "holds no gold answer")
        return kept
