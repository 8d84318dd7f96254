"""Self-CRAG: Self-RAG on the results of CRAG."""

from __future__ import annotations

from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import Source, Stage, System
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
    prune: Stage | None = None,
    reflection: Reflecting = "tokens",
    beam: int = 2,
    depth: int = 7,
    threshold: float = 0.2,
    k: int = 5,
    max_tokens: int | None = None,
) -> System:
    """Self-RAG that reads, of each search, what CRAG makes of it (arXiv 2401.15884).

    Args:
        llm: Writes and judges as in `self_rag`; so for ``source`` and what follows ``prune``.
        embedder: Ranks documents in hand, and judges as in `crag`.
        source: Asked in place of documents in hand.
        prune: CRAG with options of one's own, as ``crag(llm, embedder, evaluator=…).stage``.
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
    return self_rag(
        llm,
        embedder,
        source=source,
        prune=prune or crag(llm, embedder, k=k).stage,
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
