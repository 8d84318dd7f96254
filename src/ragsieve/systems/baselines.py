"""Baselines: no document, every document, the first or best k."""

from __future__ import annotations

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.models.base import LLM, CrossEncoder, Embedder
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import preset, system


@system("top-documents")
def top_documents(llm: LLM, *, k: int | None = 5) -> System:
    """Keep the first 5 documents as they were retrieved, whole.

    Args:
        llm: The generator.
        k: How many stay; all where None. At 0 the generator answers by itself.

    Raises:
        InputError: If an option breaks its rule.
    """
    return System(Pipeline(*([] if k is None else [select.TopK(k)])), Reader(llm))


preset("closed-book", top_documents, "Keep no document: the model by itself", k=0)
preset("all", top_documents, "Keep every document whole", k=None)


@system("nearest-documents", needs="embedder")
def nearest_documents(
    llm: LLM, embedder: Embedder, *, k: int = 5, reranker: CrossEncoder | None = None
) -> System:
    """Keep the 5 documents nearest to the question by embedding, or best by a cross-encoder.

    Args:
        llm: The generator.
        embedder: Ranks by cosine; not used where there is a ``reranker``.
        k: How many stay.
        reranker: A cross-encoder that ranks instead.

    Raises:
        InputError: If an option breaks its rule.
    """
    ranked = score.Pair(reranker) if reranker else score.Cosine(embedder)
    return System(Pipeline(ranked, select.TopK(k)), Reader(llm))


@system("top-sentences", needs="embedder")
def top_sentences(
    llm: LLM,
    embedder: Embedder,
    *,
    documents: int | None = None,
    k: int = 5,
    reranker: CrossEncoder | None = None,
) -> System:
    """Keep the 5 sentences nearest to the question by embedding, as they stand in the text.

    Args:
        llm: The generator.
        embedder: Ranks by cosine; each sentence is embedded behind its document's title. Not used
            where there is a ``reranker``.
        documents: So many of the first documents are read; all where None, not negative.
        k: So many sentences stay.
        reranker: Ranks instead, as ``"dot:FOLDER"`` of RECOMP's own weights.

    Raises:
        InputError: If an option breaks its rule.

    Source: With an embedder of ``ragsieve train recomp`` and the first 5 documents the extractive
        compressor of RECOMP (arXiv 2310.04408), section 3.1: 1 sentence for NQ and TriviaQA, 2 for
        HotpotQA.
    Differs: From RECOMP: cosine, not the inner product, without a ``reranker``; sentences are read
        behind their titles and stand in the order of the text.
    """
    first = [] if documents is None else [select.TopK(documents)]
    ranked = score.Pair(reranker) if reranker else score.Cosine(embedder)
    best = [ranked, select.TopK(k), select.Order("document")]
    return System(Pipeline(*first, split.Sentences(), *best), Reader(llm))


preset(
    "recomp",
    top_sentences,
    "Keep the sentence nearest to the question by a bi-encoder: `ragsieve train recomp` tunes one",
    paper="arXiv 2310.04408",
    documents=5,
    k=1,
)
