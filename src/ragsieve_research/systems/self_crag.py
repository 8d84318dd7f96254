"""Self-CRAG: Self-RAG on the results of CRAG."""

from __future__ import annotations

from ragsieve.models.base import LLM, Embedder
from ragsieve.retriever import AnySource
from ragsieve.system import System
from ragsieve.systems.base import preset, system
from ragsieve_research.systems.crag import crag
from ragsieve_research.systems.self_rag import Reflecting, self_rag


@system("self-crag", needs="LLM, embedder", paper="arXiv 2401.15884", calls="choose loglik")
def self_crag(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    reflection: Reflecting = "tokens",
    k: int = 5,
) -> System:
    """Self-rag on what crag makes of each search.

    For CRAG with options of your own: ``self_rag(llm, embedder, prune=crag(…).stage)``.

    Args:
        llm: See `ragsieve_research.systems.self_rag.self_rag`, as for what follows.
        embedder: Ranks; CRAG judges by its cosine.
        source: Asked in place of documents in hand.
        reflection: ``"tokens"`` or ``"prompted"``.
        k: Segments of a search that count, and strips of it that CRAG keeps at most.

    Raises:
        InputError: If an option breaks its rule.
        Unsupported: If the model lacks the tokens, or cannot tell probabilities.

    Source: CRAG (arXiv 2401.15884), section 5: Self-RAG with CRAG's knowledge.
    Differs: CRAG corrects each search, not only the first; see `crag`.
    """
    prune = crag(llm, embedder, k=k).stage
    return self_rag(llm, embedder, source=source, prune=prune, reflection=reflection, k=k)


preset(
    "self-crag-prompted",
    self_crag,
    "The same for any LLM: it is prompted for each judgement",
    reflection="prompted",
)
