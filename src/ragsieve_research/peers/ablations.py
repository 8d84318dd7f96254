"""The papers' ablations: their systems with one part left out, or a random one in its place."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import check_choice
from ragsieve.models.base import LLM, CrossEncoder, Embedder, SentencePruner
from ragsieve.models.cache import Cached
from ragsieve.retriever import AnySource, as_source
from ragsieve.system import Pipeline, Source, System
from ragsieve.systems.base import preset, system
from ragsieve.text import safe
from ragsieve.trace import note
from ragsieve.types import Query, Segment, StageResult
from ragsieve_research.answer.agent import Agent
from ragsieve_research.answer.critic import Critic, Judge
from ragsieve_research.answer.reasoning import Reasoning
from ragsieve_research.evaluate.answers import unsure
from ragsieve_research.select.extract import Extract
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.chunkrag import Parts, composed, dense, sparse
from ragsieve_research.systems.cluster import Merged
from ragsieve_research.systems.debate import Debate, Member
from ragsieve_research.systems.pruningrag import pruning
from ragsieve_research.systems.winnowrag import Winnow

Clustering = Literal["query", "random"]
Merging = Literal["strategic", "random"]
Chunks = Literal["semantic", "fixed"]
Retrieval = Literal["hybrid", "dense", "bm25"]
Without = Literal["", "rewriting", "reflection", "critique"]

FIXED = 100  # tokens of a chunk of fixed size: about as long as 500 characters


@system("random-cut", needs="LLM, embedder", paper="arXiv 2502.11811v1")
def random_cut(llm: LLM, embedder: Embedder, *, extractor: LLM | None = None) -> System:
    """FineFilter with a random number of its ranked clues; for `bench`.

    Args:
        llm: The generator; extracts too, unless another does.
        embedder: Ranks the clues.
        extractor: Names the clues; ``llm`` where None.
    """
    stages = Pipeline(
        split.Sentences(),
        Extract(extractor or llm),
        score.Cosine(embedder),
        RandomK(),
        select.Order("document"),
    )
    return System(stages, Reader(llm))


@dataclass(frozen=True)
class RandomK:
    """Keep a random number of the best segments, from none to all: the least a cut must beat.

    Args:
        seed: With the question it settles the number.
    """

    seed: int = 0

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        k = random.Random(f"{self.seed}\n{safe(query.text)}").randint(0, len(segments))
        return select.TopK(k)(query, segments)


@system("chunkrag-ablated", needs="LLM, embedder, sentence pruner", paper="arXiv 2410.19572")
def chunkrag_ablated(
    llm: LLM,
    embedder: Embedder,
    pruner: SentencePruner | None = None,
    *,
    critic: LLM | None = None,
    reranker: CrossEncoder | None = None,
    chunks: Chunks = "semantic",
    retrieval: Retrieval = "hybrid",
    without: Without = "",
) -> System:
    """ChunkRAG without one part, or with another in its place; for `bench`.

    Args:
        llm: See `ragsieve_research.systems.chunkrag.chunkrag`, as for what is not said here.
        embedder: Ranks the chunks.
        pruner: Orders what is read.
        critic: Rates by itself; ``llm`` where None.
        reranker: Orders what is read in place of the ``pruner``.
        chunks: ``"fixed"``: of 100 tokens.
        retrieval: What ranks the chunks: both by rank fusion, or one alone.
        without: What is left out.

    Raises:
        InputError: If an option breaks its rule.
    """
    check_choice(Chunks, chunks=chunks)
    check_choice(Retrieval, retrieval=retrieval)
    check_choice(Without, without=without)
    embedder = Cached(embedder)
    parts = Parts.of(llm, embedder, critic)
    if chunks == "fixed":
        parts = replace(parts, chunks=Windows(llm, max_tokens=FIXED))
    if retrieval != "hybrid":
        parts = replace(parts, ranked=dense(embedder) if retrieval == "dense" else sparse())
    if without == "rewriting":
        parts = replace(parts, rewriter=None)
    ratings = tuple(rating for rating in parts.ratings if rating.name != without)
    return composed(
        replace(parts, ratings=ratings),
        llm,
        embedder,
        ordering=reranker or pruner,
    )


preset("chunkrag-fixed", chunkrag_ablated, "ChunkRAG with chunks of 100 tokens", chunks="fixed")


@system("pruningrag-ablated", needs="LLM, embedder", paper="arXiv 2409.13694")
def pruningrag_ablated(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    window: int = 200,
    overlap: int = 0,
    examples: int = 3,
    same_domain: bool = False,
    cot: bool | None = None,
    memory_first: bool = False,
) -> System:
    """PruningRAG with overlapping windows, examples of one domain, or memory first; for `bench`.

    Args:
        llm: See `ragsieve_research.systems.pruningrag.pruningrag`, as for what is not said here.
        embedder: Ranks windows, and guesses the question's domain.
        source: The sources, or one.
        window: Tokens of a window.
        overlap: Tokens that it shares with the one before.
        examples: Worked examples, from 0 to 3.
        same_domain: Whether they are of the question's own domain.
        cot: Whether the model reasons before it answers.
        memory_first: Whether the source is asked only where the model does not know by itself.

    Raises:
        InputError: If an option breaks its rule.
    """
    embedder = Cached(embedder)
    reader = Reasoning(llm, embedder, examples=examples, same_domain=same_domain, cot=cot)
    windows = Windows(llm, max_tokens=window, overlap=overlap)
    if memory_first and source is not None:
        source = MemoryFirst(reader, as_source(source))
    return System(pruning(embedder, windows), reader, source=source)


@dataclass(frozen=True)
class MemoryFirst:
    """A source that is asked only where the model by itself does not know, or is not readable.

    Args:
        reader: Answers without evidence; where it does, that is the question's answer.
        source: Asked where the answer is that it is not known.

    Source: PruningRAG (arXiv 2409.13694), table 3, "LLM → …".
    """

    reader: Reasoning
    source: Source

    def __call__(self, query: Query, /) -> list[Segment]:
        answer, readable = self.reader.read(query, ())
        if not readable or unsure(answer.text):
            note(f"the model by itself does not know, so the source is asked: {answer.text!r:.80}")
            return self.source(query)
        note("the model answered by itself: no source was asked")
        return StageResult(answer=answer)


@system("winnowrag-ablated", needs="LLM, embedder", paper="arXiv 2511.04700v1")
def winnowrag_ablated(
    llm: LLM,
    embedder: Embedder,
    *,
    critic: Judge | None = None,
    documents: int = 50,
    clusters: int = 10,
    rounds: int = 3,
    clustering: Clustering = "query",
    merging: Merging = "strategic",
    seed: int = 0,
) -> System:
    """WinnowRAG with random clusters or random merging; for `bench`.

    Args:
        llm: The agents, and the critic where there is no other.
        embedder: Embeds documents together with the question.
        critic: Compares the agents' answers.
        documents: See `ragsieve_research.systems.winnowrag.winnowrag`, as for what is not said
            here.
        clusters: K.
        rounds: M; 0 is the paper's \\W.
        clustering: ``"random"`` is the paper's \\Q.
        merging: ``"random"`` is the paper's \\S.
        seed: Of what is drawn.

    Raises:
        InputError: If an option breaks its rule.
    """
    winnow = AblatedWinnow(
        Agent(llm), critic or Critic(llm), embedder, clusters, rounds, seed, clustering, merging
    )
    return System(Pipeline(select.TopK(documents), winnow), Reader(llm))


@dataclass(frozen=True)
class AblatedWinnow(Winnow):
    """`Winnow` with a random part.

    Args:
        clustering: ``"query"``: k-means; ``"random"``: sets of equal size.
        merging: ``"strategic"``: ellipse and hyperbola; ``"random"``: half of each side where
            answers agree, nothing of an agent judged incorrect.

    Raises:
        InputError: If an option breaks its rule.
    """

    clustering: Clustering = "query"
    merging: Merging = "strategic"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(Clustering, clustering=self.clustering)
        check_choice(Merging, merging=self.merging)

    def debate(self, query: Query, segments: Sequence[Segment]) -> Debate:
        """A debate with the random parts."""
        debate = AblatedDebate(query, segments, self.agent, self.critic, self.seed)
        debate.random_clusters = self.clustering == "random"
        debate.random_merging = self.merging == "random"
        return debate


class AblatedDebate(Debate):
    """A debate whose clusters or merges are random."""

    random_clusters = False
    random_merging = False

    def divided(self, clusters: int) -> list[list[int]]:
        """Documents dealt out at random into sets whose sizes differ by one at most."""
        if not self.random_clusters:
            return super().divided(clusters)
        order = np.random.default_rng(self.seed).permutation(len(self.segments))
        sets = np.array_split(order, min(clusters, len(order)))
        return sorted(sorted(rows.tolist()) for rows in sets)

    def merge(self, into: Member, others: Sequence[Member], by: str, number: int) -> None:
        """Merge by chance what the paper merges by an ellipse, discard what by a hyperbola."""
        if self.random_merging:
            by = {"ellipse": "half", "hyperbola": "discard"}[by]
        super().merge(into, others, by, number)

    def merged(self, into: Member, others: Sequence[Member], by: str) -> Merged:
        """The first half of each side in a random order, or all of ``into`` and nothing else.

        A document's value is its place in that order, in (0, 1); 0 and 1 where a side goes whole.
        """
        if not self.random_merging:
            return super().merged(into, others, by)
        draw = np.random.default_rng([self.seed, into.number, *(m.number for m in others)])
        values: dict[int, float] = {}
        for member in (into, *others):
            order = draw.permutation(member.rows).tolist()
            for place, row in enumerate(order):
                half = (place + 0.5) / len(order)
                values[row] = half if by == "half" else float(member is not into)
        kept = sorted(row for row, value in values.items() if value <= 0.5)
        return Merged(tuple(values), tuple(values.values()), 0.5, tuple(kept))
