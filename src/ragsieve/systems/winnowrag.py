"""WinnowRAG: clusters of documents answer, a critic winnows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.answer.agent import Agent, Limits
from ragsieve.answer.critic import Critic, Judge
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder
from ragsieve.pipeline import Pipeline, System
from ragsieve.systems.debate import Debate, Oracle
from ragsieve.systems.registry import preset, system
from ragsieve.trace import listening, overheard, set_answer
from ragsieve.types import Answer, Query, Segment

Clustering = Literal["query", "random"]
Merging = Literal["strategic", "random"]


@dataclass(frozen=True)
class Winnow:
    """Keep the documents of the agents whose answer stands, and answer by it.

    As a stage it filters; the answer goes to the trace, where `System.ask` finds it. Agents of a
    step are one batch, and one that would be asked what it was asked before is not asked again: a
    question takes at most K + 1 + M (K' + 1) calls, with K clusters, M rounds and K' different
    answers, beside those for replies that could not be read. The agent's limits end it before.

    Args:
        agent: Answers from a cluster's documents.
        critic: Compares the answers.
        embedder: Embeds each document together with the question.
        clusters: K, at least 1.
        rounds: M; at 0 the critic picks one of the clusters' answers at once (the paper's \\W).
        clustering: ``"query"``: k-means; ``"random"``: sets of equal size at random (\\Q).
        merging: ``"strategic"``: ellipse and hyperbola; ``"random"``: half of each side where
            answers agree, nothing of an agent judged incorrect (\\S).
        seed: Of k-means and of what is drawn, in [0, 2**32).

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If a model fails.

    Parts of one document are apart, but share its id in the story.

    Source: WinnowRAG (arXiv 2511.04700v1), section 3.
    Differs: Answers that differ in case, space or outer punctuation alone count as the same without
    asking the critic. Where a round would bring nothing new, the debate ends. A consistent answer
    rests on the agents that gave it; in nobody's words, on all that are not incorrect. It does not
    stand where all are called incorrect. Of majorities one with an empty answer comes last. More
    than two duplicates merge in one ellipse. A merged agent votes as often as agents gave its
    answer; one that was called incorrect brings documents, but no vote.
    """

    agent: Agent
    critic: Judge
    embedder: Embedder
    clusters: int = 10
    rounds: int = 3
    clustering: Clustering = "query"
    merging: Merging = "strategic"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.clusters < 1:
            raise InputError(f"clusters must be at least 1, got {self.clusters!r}")
        if self.rounds < 0:
            raise InputError(f"rounds must not be negative, got {self.rounds!r}")
        for name, kind in (("clustering", Clustering), ("merging", Merging)):
            if getattr(self, name) not in get_args(kind):
                known = " or ".join(map(repr, get_args(kind)))
                raise InputError(f"{name} must be {known}, got {getattr(self, name)!r}")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed must lie in [0, 2**32), got {self.seed!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        answer = self.answer(query, segments)
        set_answer(answer)
        return list(answer.segments)

    def answer(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        """The answer that stands, with the segments of the agents that gave it, as given.

        Raises:
            InputError: If there is no segment.
        """
        if not segments:
            raise InputError("there must be at least one document to answer from, got none")
        if not listening():  # limits count what a step is charged
            with overheard():
                return self.answer(query, segments)
        debate = Debate(query, segments, self.agent, self.critic, self.seed)
        debate.cluster(self.embedder, self.clusters, at_random=self.clustering == "random")
        debate.answer()
        if self.rounds == 0:
            return debate.pick()
        at_random = self.merging == "random"
        debate.unite(at_random=at_random)
        for number in range(1, self.rounds + 1):
            if debate.judged(number):
                break
            debate.winnow(number, at_random=at_random)
        return debate.end()


@system(
    "winnowrag",
    "clusters of documents answer, a critic winnows: the documents of the answer that stands",
    needs="LLM, embedder",
    paper="arXiv 2511.04700v1",
)
def winnowrag(
    llm: LLM,
    embedder: Embedder,
    answers: Mapping[str, Sequence[str]] | None = None,
    *,
    critic: LLM | None = None,
    documents: int = 50,
    clusters: int = 10,
    rounds: int = 3,
    clustering: Clustering = "query",
    merging: Merging = "strategic",
    seed: int = 0,
    max_tokens: int | None = None,
    max_calls: int | None = None,
    max_llm_tokens: int | None = None,
    max_seconds: float | None = None,
) -> System:
    """Cluster documents, let each cluster answer, winnow by a critic (arXiv 2511.04700v1).

    Args:
        llm: The agents, and the critic, unless another is given.
        embedder: Embeds documents together with the question.
        answers: Gold answers by question: makes the critic one that knows them.
        critic: Compares the agents' answers.
        documents: N: the first so many documents count; 0 leaves the model by itself.
        clusters: K; see `Winnow`, also for what follows.
        rounds: M.
        clustering: How documents are divided.
        merging: How agents are merged.
        seed: Of what is drawn.
        max_tokens: Budget of the kept context, in the agents' tokens.
        max_calls: LLM calls a question at most; the best answer so far stands then. See `Limits`.
        max_llm_tokens: Tokens that the LLM reads and writes, after which no step begins.
        max_seconds: Seconds a question, after which no step begins.

    Raises:
        InputError: If an option breaks its rule.
    """
    if documents < 0:
        raise InputError(f"documents must not be negative, got {documents!r}")
    if answers is not None and critic is not None:
        raise InputError(f"critic must be none where gold answers judge, got {critic!r}")
    limits = Limits(max_calls=max_calls, max_tokens=max_llm_tokens, max_seconds=max_seconds)
    agent = Agent(llm, limits=limits)
    judge = Critic(critic or llm) if answers is None else Oracle(answers)
    return System(
        Pipeline(
            select.TopK(documents),
            Winnow(agent, judge, embedder, clusters, rounds, clustering, merging, seed),
        ),
        Reader(llm),
        max_tokens,
    )


preset(
    "winnowrag-oracle",
    winnowrag,
    "the same with a critic that knows the gold answers; for `bench`",
    needs="LLM, embedder, gold answers",
)
