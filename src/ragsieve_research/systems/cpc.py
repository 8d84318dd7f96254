"""CPC: keep the sentences nearest to the question, each embedded as it is read in its document."""

from __future__ import annotations

from typing import cast

from ragsieve import split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, Embedder, SpanEmbedder
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve_research.score.in_context import InContext
from ragsieve_research.systems.budget import Best


@system("cpc", needs="embedder", paper="arXiv 2409.01227")
def cpc(
    llm: LLM, embedder: Embedder, *, rate: float = 0.5, max_tokens: int | None = None
) -> System:
    """Keep the sentences nearest to the question, each embedded within its document.

        documents ─ encoder ─ mean state of each sentence ─ cosine ─ the best up to a budget

    Args:
        llm: The generator.
        embedder: Gives every token a state: a model of sentence-transformers.
        rate: Share of the sentences' tokens that stays, in [0, 1]; not used where there is
            ``max_tokens``.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule, or the embedder gives no states of spans.

    Source: CPC (arXiv 2409.01227), section 3, and its code: mean pooling by sentence, cosine.
    Differs: Any embedder, as it is. The paper trains one for it: a decoder of 7 billion parameters
        that reads to both sides, on questions with the sentence they were made from in its
        context, against sentences that say nothing of them; its adapters need its own code.
    """
    reader = Reader(llm)
    keep = rate if max_tokens is None else max_tokens
    return System(
        Pipeline(split.Sentences(), InContext(cast(SpanEmbedder, embedder)), Best(reader, keep)),
        reader,
    ).with_budget(max_tokens)
