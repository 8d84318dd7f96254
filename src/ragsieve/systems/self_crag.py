"""Self-CRAG: Self-RAG on what CRAG makes of each search."""

from __future__ import annotations

from ragsieve.models.base import LLM, Embedder, PairScorer
from ragsieve.pipeline import Source, System
from ragsieve.systems.crag import crag
from ragsieve.systems.registry import preset, system
from ragsieve.systems.self_rag import Reflecting, self_rag


@system(
    "self-crag",
    "self-rag on what crag makes of each search",
    needs="LLM, embedder",
    paper="arXiv 2401.15884",
)
def self_crag(
    llm: LLM,
    embedder: Embedder,
    *,
    source: Source | None = None,
    evaluator: PairScorer | LLM | None = None,
    fallback: Source | None = None,
    rewrite: bool = True,
    upper: float | None = None,
    lower: float | None = None,
    min_score: float | None = None,
    reflection: Reflecting = "tokens",
    beam: int = 2,
    depth: int = 7,
    threshold: float = 0.2,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Self-RAG that reads, of each search, what CRAG makes of it (arXiv 2401.15884).

    Args:
        llm: Writes and judges as in `self_rag`; so for ``source``, ``reflection``, ``beam``,
            ``depth``, ``threshold`` and ``max_tokens``.
        embedder: Ranks documents in hand, and judges as in `crag`.
        source: Asked in place of documents in hand.
        evaluator: See `crag`; so for ``fallback``, ``rewrite``, ``upper``, ``lower``,
            ``min_score``.
        fallback: Another source.
        rewrite: Whether it is asked by a rewritten question.
        upper: From which a document makes the verdict correct.
        lower: Below which all make it incorrect.
        min_score: Below which a strip goes.
        reflection: How the model is asked.
        beam: Beginnings of an answer that are kept.
        depth: Segments of an answer, at most.
        threshold: Probability of retrieval above which something is looked up.
        k: Chunks of a search that are judged, and strips of it that stay, at most.
        max_tokens: Budget of the kept context.

    Raises:
        InputError: If an option breaks its rule.
        Unsupported: If the model lacks the reflection tokens, or cannot tell probabilities.

    Source: CRAG (arXiv 2401.15884), section 5: Self-RAG with CRAG's knowledge in place of its own.
    Differs: As `crag` and `self_rag` do. Each search is corrected, not only the first; strips are
        of 3 sentences.
    """
    corrected = crag(
        llm,
        embedder,
        evaluator=evaluator,
        fallback=fallback,
        rewrite=rewrite,
        upper=upper,
        lower=lower,
        min_score=min_score,
        k=k,
    )
    return self_rag(
        llm,
        embedder,
        source=source,
        prune=corrected.stage,
        reflection=reflection,
        beam=beam,
        depth=depth,
        threshold=threshold,
        k=k,
        max_tokens=max_tokens,
    )


preset(
    "self-crag-prompted",
    self_crag,
    "the same for any LLM: it is prompted for each judgement",
    reflection="prompted",
)
