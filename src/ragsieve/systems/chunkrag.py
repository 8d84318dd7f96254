"""ChunkRAG: semantic chunks, hybrid retrieval, three scores, an adaptive cut."""

from __future__ import annotations

from typing import Literal, get_args

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder, PairScorer
from ragsieve.models.remember import Remembered
from ragsieve.pipeline import Pipeline, Source, Stage, System
from ragsieve.retrieve.rewrite import Rewrite, Rewritten
from ragsieve.score.base import Scorer

Chunks = Literal["semantic", "fixed"]
Retrieval = Literal["hybrid", "dense", "bm25"]
Rating = Literal["scale", "likelihood"]
Threshold = Literal["llm", "statistics"] | float

FIXED = 100  # tokens of a chunk of fixed size: about as long as 500 characters


def chunkrag(
    llm: LLM,
    embedder: Embedder,
    *,
    critic: LLM | None = None,
    reranker: PairScorer | None = None,
    source: Source | None = None,
    chunks: Chunks = "semantic",
    min_similarity: float = 0.7,
    max_chars: int = 500,
    rewrite: bool = True,
    retrieval: Retrieval = "hybrid",
    k: int = 20,
    max_duplicate: float = 0.9,
    rating: Rating = "scale",
    reflection: bool = True,
    critique: bool = True,
    calibration: str = "",
    threshold: Threshold = "llm",
    max_tokens: int | None = None,
) -> System:
    """Score every chunk three times, cut adaptively (arXiv 2410.19572); no training.

        documents ─ semantic chunks ─┐
        query ─ rewrite ─ hybrid retrieval ─ no duplicates ─ by similarity
            ─ relevance, reflection, critique ─ mean ─ threshold ─ reranker ─ answer

    Args:
        llm: Rewrites, rates, proposes the threshold, answers.
        embedder: Finds where chunks end, and ranks them.
        critic: Rates by itself; ``llm`` where None.
        reranker: A cross-encoder or a rerank API that orders what is read; else the mean does.
        source: Finds chunks in place of documents in hand, as an index does; then ``chunks`` and
            ``retrieval`` are the index's own, and so is ``k``.
        chunks: ``"semantic"``, or ``"fixed"``: windows of 100 tokens.
        min_similarity: See `split.Semantic`; so for ``max_chars``.
        max_chars: Of a semantic chunk.
        rewrite: Whether another wording of the question searches.
        retrieval: What ranks the chunks: both by rank fusion, or one alone.
        k: So many of the best chunks are rated (not in the paper).
        max_duplicate: TF-IDF cosine from which the later of two chunks goes.
        rating: How models rate: on a scale, or, where they are too small for that, by how probable
            a chunk makes the question; then there is neither reflection nor critique.
        reflection: Whether the LLM may correct its rating.
        critique: Whether the critic rates, too; else it is not asked.
        calibration: A file of ``ragsieve scorers --calibrate`` for these ratings by these models:
            makes of their mean the probability that a chunk helps; none where empty.
        threshold: Proposed by the LLM, by the rule for scores that bunch, or a fixed score.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.
    """
    embedder = Remembered(embedder)
    rewriter = Rewrite(llm) if rewrite else None
    ranked = _ranked(embedder, retrieval)
    found: tuple[Stage, ...] = (
        _chunks(llm, embedder, chunks, min_similarity, max_chars),
        Rewritten(rewriter, ranked) if rewriter else ranked,
        select.TopK(k),
    )
    if source is not None:  # it has split and ranked
        found, source = (), Rewritten(rewriter, source) if rewriter else source
    ratings = _ratings(llm, (critic or llm) if critique else None, rating, reflection)
    return System(
        Pipeline(
            *found,
            select.Distinct(max_similarity=max_duplicate),
            score.Cosine(embedder, titles=False),
            select.Order("score"),
            *ratings,
            score.Mean(tuple(rating.name for rating in ratings)),
            *((score.Calibrated.load(calibration, ratings),) if calibration else ()),
            _cut(llm, threshold),
            *((score.Pair(reranker),) if reranker else ()),
            select.Order("ends"),
        ),
        Reader(llm),
        max_tokens,
        source,
    )


def _chunks(
    llm: LLM, embedder: Embedder, chunks: Chunks, min_similarity: float, max_chars: int
) -> Stage:
    if chunks == "fixed":
        return split.Windows(llm, max_tokens=FIXED)
    if chunks == "semantic":
        return split.Semantic(embedder, min_similarity=min_similarity, max_chars=max_chars)
    raise InputError(f"chunks must be one of {', '.join(get_args(Chunks))}, got {chunks!r}")


def _ranked(embedder: Embedder, retrieval: Retrieval) -> Scorer:
    dense, bm25 = score.Cosine(embedder, titles=False), score.BM25(titles=False)
    match retrieval:
        case "hybrid":
            return score.Hybrid((dense, bm25), (0.5, 0.5))
        case "dense":
            return dense
        case "bm25":
            return bm25
    known = ", ".join(get_args(Retrieval))
    raise InputError(f"retrieval must be one of {known}, got {retrieval!r}")


def _ratings(llm: LLM, critic: LLM | None, rating: Rating, reflection: bool) -> tuple[Scorer, ...]:
    if rating not in get_args(Rating):
        raise InputError(f"rating must be one of {', '.join(get_args(Rating))}, got {rating!r}")
    if rating == "likelihood":
        return (score.Likelihood(llm),)
    ratings: list[Scorer] = [score.Relevance(llm)]
    ratings += [score.Reflection(llm)] if reflection else []
    ratings += [score.Critique(critic)] if critic else []
    return tuple(ratings)


def _cut(llm: LLM, threshold: Threshold) -> Stage:
    if threshold == "llm":
        return select.Adaptive(llm)
    if threshold == "statistics":
        return select.Adaptive()
    if not isinstance(threshold, int | float):
        raise InputError(f"threshold must be 'llm', 'statistics' or a score, got {threshold!r}")
    return select.Threshold(threshold, min_keep=1)
