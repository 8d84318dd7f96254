"""ChunkRAG: semantic chunks, hybrid retrieval, three scores, an adaptive cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ragsieve import score, select
from ragsieve.answer import Reader
from ragsieve.errors import InputError, check_choice
from ragsieve.models.base import LLM, CrossEncoder, Embedder, SentencePruner
from ragsieve.models.cache import Cached
from ragsieve.pipeline import Pipeline, Stage, System
from ragsieve.retriever import AnySource, as_source
from ragsieve.score.base import Scorer
from ragsieve.systems.base import preset, system
from ragsieve.types import Query, Segment, StageResult
from ragsieve_research import select as more
from ragsieve_research import split
from ragsieve_research.retrieve.rewrite import Rewrite, Rewritten
from ragsieve_research.score.calibrated import Calibrated
from ragsieve_research.score.combine import Hybrid, Mean
from ragsieve_research.score.judge import Critique, Reflection, Relevance
from ragsieve_research.score.likelihood import Likelihood
from ragsieve_research.select.adaptive import Adaptive

Retrieval = Literal["hybrid", "dense", "bm25"]
Rating = Literal["scale", "likelihood"]
Threshold = Literal["llm", "statistics"] | float


class InHand(Pipeline):
    """Stages for documents in hand; what a source has found, and scored, passes by them."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        if segments and all(segment.scores for segment in segments):
            return StageResult(segments)
        return super().__call__(query, segments)


@system("chunkrag", needs="LLM, embedder, sentence pruner", paper="arXiv 2410.19572")
def chunkrag(
    llm: LLM,
    embedder: Embedder,
    pruner: SentencePruner | None = None,
    *,
    critic: LLM | None = None,
    reranker: CrossEncoder | None = None,
    source: AnySource | None = None,
    splitter: Stage | None = None,
    min_similarity: float = 0.7,
    max_chars: int = 500,
    rewrite: bool = True,
    retrieval: Retrieval = "hybrid",
    k: int = 20,
    max_similarity: float = 0.9,
    rating: Rating = "scale",
    reflection: bool = True,
    critique: bool = True,
    calibration: str = "",
    threshold: Threshold = "llm",
    epsilon: float = 0.01,
    max_tokens: int | None = None,
) -> System:
    """Have an LLM and a critic rate semantic chunks; keep those above a threshold for the scores.

        documents ─ semantic chunks ─┐
        query ─ rewrite ─ hybrid retrieval ─ no duplicates ─ by similarity
            ─ relevance, reflection, critique ─ mean ─ threshold ─ reranker ─ answer

    Args:
        llm: Rewrites, rates, proposes the threshold, answers.
        embedder: Finds where chunks end, and ranks them.
        pruner: Its score of a whole passage orders what is read where there is no ``reranker``.
        critic: Rates by itself; ``llm`` where None. Another model than ``llm`` sees what that one
            cannot.
        reranker: A cross-encoder or a rerank API that orders what is read; else the ``pruner``
            does, or where there is none the mean of the ratings.
        source: Finds chunks where there are no documents in hand, as an index does; how they are
            cut, ranked and how many they are is its own.
        splitter: Cuts documents into chunks; `split.Semantic` where None.
        min_similarity: See `split.Semantic`; so for ``max_chars``.
        max_chars: Of a semantic chunk.
        rewrite: Whether another wording of the question searches.
        retrieval: What ranks the chunks: both by rank fusion, or one alone.
        k: So many of the best chunks are rated (not in the paper).
        max_similarity: TF-IDF cosine from which the later of two chunks goes.
        rating: How models rate: on a scale, or, where they are too small for that, by how probable
            a chunk makes the question; then there is neither reflection nor critique.
        reflection: Whether the LLM may correct its rating.
        critique: Whether the critic rates, too; else it is not asked.
        calibration: A file of ``ragsieve scorers --calibrate`` for these ratings by these models:
            makes of their mean the probability that a chunk helps; none where empty.
        threshold: Proposed by the LLM, by the rule for scores that bunch, or a fixed score.
        epsilon: See `select.Adaptive`.
        max_tokens: Budget of the context, in the generator's tokens.

    Raises:
        InputError: If an option breaks its rule.

    Source: ChunkRAG (arXiv 2410.19572).
    """
    embedder = Cached(embedder)
    semantic = split.Semantic(embedder, min_similarity=min_similarity, max_chars=max_chars)
    rewriter = Rewrite(llm) if rewrite else None
    ranked = _ranked(embedder, retrieval)
    ordering = reranker or pruner
    ratings = _ratings(llm, (critic or llm) if critique else None, rating, reflection)
    return System(
        Pipeline(
            InHand(
                splitter or semantic,
                Rewritten(rewriter, ranked) if rewriter else ranked,
                select.TopK(k),
            ),
            more.Distinct(max_similarity=max_similarity),
            score.Cosine(embedder, titles=False),
            select.Order("score"),
            *ratings,
            Mean(tuple(rating.name for rating in ratings)),
            *((Calibrated.load(calibration, ratings),) if calibration else ()),
            _cut(llm, threshold, epsilon),
            *((score.Pair(ordering),) if ordering else ()),
            select.Order("ends"),
        ),
        Reader(llm, prompt="reader_only"),
        max_tokens,
        source if rewriter is None or source is None else Rewritten(rewriter, as_source(source)),
    )


preset(
    "chunkrag-likelihood",
    chunkrag,
    "The same for small LLMs: chunks are rated by how probable they make the question",
    calls="loglik",
    rating="likelihood",
    threshold="statistics",
    rewrite=False,
)


def _ranked(embedder: Embedder, retrieval: Retrieval) -> Scorer:
    check_choice(Retrieval, retrieval=retrieval)
    dense, bm25 = score.Cosine(embedder, titles=False), score.BM25(titles=False)
    if retrieval == "hybrid":
        return Hybrid((dense, bm25), (0.5, 0.5))
    return dense if retrieval == "dense" else bm25


def _ratings(llm: LLM, critic: LLM | None, rating: Rating, reflection: bool) -> tuple[Scorer, ...]:
    check_choice(Rating, rating=rating)
    if rating == "likelihood":
        return (Likelihood(llm),)
    ratings: list[Scorer] = [Relevance(llm)]
    ratings += [Reflection(llm)] if reflection else []
    ratings += [Critique(critic)] if critic else []
    return tuple(ratings)


def _cut(llm: LLM, threshold: Threshold, epsilon: float) -> Stage:
    if threshold in ("llm", "statistics"):
        proposing = llm if threshold == "llm" else None
        return Adaptive(proposing, epsilon)
    if not isinstance(threshold, int | float):
        raise InputError(f"threshold must be 'llm', 'statistics' or a score, got {threshold!r}")
    return select.Threshold(threshold, min_keep=1)
