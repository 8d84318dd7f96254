"""ChunkRAG: semantic chunks, hybrid retrieval, three scores, an adaptive cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragsieve import score, select
from ragsieve.answer import Reader
from ragsieve.errors import InputError, check_choice
from ragsieve.models.base import LLM, CrossEncoder, Embedder, SentencePruner
from ragsieve.models.cache import Cached
from ragsieve.retriever import AnySource, as_source
from ragsieve.score.base import Scorer
from ragsieve.system import Pipeline, Stage, System
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

Rating = Literal["scale", "likelihood"]
Threshold = Literal["llm", "statistics"] | float


class InHand(Pipeline):
    """Stages for documents in hand; what a source has found, and scored, passes by them."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        if segments and all(segment.scores for segment in segments):
            return StageResult(segments)
        return super().__call__(query, segments)


@dataclass(frozen=True)
class Parts:
    """The parts of ChunkRAG that its ablations leave out or replace.

    Args:
        chunks: Cuts documents in hand.
        ranked: Ranks the chunks.
        rewriter: Gives another wording of the question to search by; none where None.
        ratings: Rate each chunk; their mean counts.
    """

    chunks: Stage
    ranked: Scorer
    rewriter: Rewrite | None
    ratings: tuple[Scorer, ...]

    @classmethod
    def of(
        cls, llm: LLM, embedder: Embedder, critic: LLM | None = None, rating: Rating = "scale"
    ) -> Parts:
        """The paper's; see `chunkrag`."""
        check_choice(Rating, rating=rating)
        hybrid = Hybrid((dense(embedder), sparse()), (0.5, 0.5))
        if rating == "likelihood":
            return cls(split.Semantic(embedder), hybrid, None, (Likelihood(llm),))
        ratings = (Relevance(llm), Reflection(llm), Critique(critic or llm))
        return cls(split.Semantic(embedder), hybrid, Rewrite(llm), ratings)


def dense(embedder: Embedder) -> Scorer:
    """Ranks chunks by the embedder alone."""
    return score.Cosine(embedder, titles=False)


def sparse() -> Scorer:
    """Ranks chunks by BM25 alone."""
    return score.BM25(titles=False)


@system("chunkrag", needs="LLM, embedder, sentence pruner", paper="arXiv 2410.19572")
def chunkrag(
    llm: LLM,
    embedder: Embedder,
    pruner: SentencePruner | None = None,
    *,
    critic: LLM | None = None,
    reranker: CrossEncoder | None = None,
    source: AnySource | None = None,
    k: int = 20,
    rating: Rating = "scale",
    calibration: str = "",
    threshold: Threshold = "llm",
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
        k: So many of the best chunks are rated (not in the paper).
        rating: How models rate: on a scale, or, where they are too small for that, by how probable
            a chunk makes the question; then there is neither rewriting, reflection nor critique.
        calibration: A file of ``ragsieve scorers --calibrate`` for these ratings by these models:
            makes of their mean the probability that a chunk helps; none where empty.
        threshold: Proposed by the LLM, by the rule for scores that bunch, or a fixed score.

    Raises:
        InputError: If an option breaks its rule.

    Source: ChunkRAG (arXiv 2410.19572).
    """
    embedder = Cached(embedder)
    return composed(
        Parts.of(llm, embedder, critic, rating),
        llm,
        embedder,
        ordering=reranker or pruner,
        source=source,
        k=k,
        calibration=calibration,
        threshold=threshold,
    )


preset(
    "chunkrag-likelihood",
    chunkrag,
    "ChunkRAG for small LLMs: chunks are rated by how probable they make the question",
    calls="loglik",
    rating="likelihood",
    threshold="statistics",
)


def composed(
    parts: Parts,
    llm: LLM,
    embedder: Embedder,
    *,
    ordering: CrossEncoder | SentencePruner | None = None,
    source: AnySource | None = None,
    k: int = 20,
    calibration: str = "",
    threshold: Threshold = "llm",
) -> System:
    """ChunkRAG of these parts; see `chunkrag`, whose ``reranker`` or ``pruner`` is ``ordering``."""
    rewriter, ratings = parts.rewriter, parts.ratings
    return System(
        Pipeline(
            InHand(
                parts.chunks,
                Rewritten(rewriter, parts.ranked) if rewriter else parts.ranked,
                more.Distinct(),
                select.TopK(k),
            ),
            more.Distinct(),
            score.Cosine(embedder, titles=False),
            select.Order("score"),
            *ratings,
            Mean(tuple(rating.name for rating in ratings)),
            *((Calibrated.load(calibration, ratings),) if calibration else ()),
            _cut(llm, threshold),
            *((score.Pair(ordering),) if ordering else ()),
            select.Order("ends"),
        ),
        Reader(llm, prompt="reader_only"),
        source if rewriter is None or source is None else Rewritten(rewriter, as_source(source)),
    )


def _cut(llm: LLM, threshold: Threshold) -> Stage:
    if threshold in ("llm", "statistics"):
        return Adaptive(llm if threshold == "llm" else None)
    if not isinstance(threshold, int | float):
        raise InputError(f"threshold must be 'llm', 'statistics' or a score, got {threshold!r}")
    return select.Threshold(threshold, min_keep=1)
