"""WinnowRAG: clusters of documents answer, a critic winnows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ragsieve import select
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder
from ragsieve.schema import Amount, Count, Options, check_number
from ragsieve.system import Pipeline, System
from ragsieve.systems.base import system
from ragsieve.trace import collect_step, running_step
from ragsieve.types import Answer, Query, Segment, StageResult
from ragsieve_research.answer.agent import Agent, AgentLimits
from ragsieve_research.answer.critic import Critic, Judge
from ragsieve_research.systems.debate import Debate


@dataclass(frozen=True)
class Winnow(Options):
    """Keep the documents of the agents whose answer stands, and answer by it.

    As a stage it filters; `System.ask` takes its answer. Agents of a step are one batch, and an
    agent whose prompt is the same as before keeps its reply: a question takes at most
    K + 1 + M (K' + 1) calls, with K clusters, M rounds and K' different answers, beside those for
    replies that could not be read, and 12 a verdict that contradicts the answers. The agent's
    limits end it before.

    Args:
        agent: Answers from a cluster's documents.
        critic: Compares the answers.
        embedder: Embeds each document together with the question.
        clusters: K, at least 1.
        rounds: M; at 0 the critic picks one of the clusters' answers at once (the paper's \\W).
        seed: Of k-means, in [0, 2**32).

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If a model fails.

    Parts of one document are apart, but share its id in the events.

    Source: WinnowRAG (arXiv 2511.04700v1), section 3.
    Differs: Answers that differ in case, space or outer punctuation alone, and "Paris" and "Paris,
    France", count as the same without asking the critic. An agent without an answer, which has one
    fixed word for that, leaves with its documents unless all have none, and so does one that names
    nothing of its documents where another does (`ragsieve_research.answer.parts.in_doubt`); one
    that was cut has none. Incorrect agents with one nearest merge with it at once. Evidence that
    stands in none of an agent's documents is marked for the critic. Where a round would bring
    nothing new, the debate ends. A consistent answer rests on the agents that gave it. It does not
    stand where those not called incorrect have none, or one of them gave another: see `Critic`.
    More than two duplicates merge in one ellipse. A merged agent votes as often as agents gave its
    answer; one that was called incorrect brings documents, but no vote. An answer has no more votes
    than sites (`ragsieve.documents.site`) speak for it where rivals are of different numbers of
    sites; where a majority decides between answers the trace warns how narrowly.
    """

    agent: Agent
    critic: Judge
    embedder: Embedder
    clusters: Count = 10
    rounds: Amount = 3
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        if not segments:
            return StageResult()
        answer = self.answer(query, segments)
        return StageResult(answer.segments, answer=answer)

    def answer(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        """The answer that stands, with the segments of the agents that gave it, as given.

        Raises:
            InputError: If there is no segment.
        """
        if not segments:
            raise InputError("there must be at least one document to answer from, got none")
        if not running_step():  # limits count what a step is charged
            with collect_step():
                return self.answer(query, segments)
        debate = self.debate(query, segments)
        debate.cluster(self.embedder, self.clusters)
        with debate.timed():
            debate.answer()
            if self.rounds == 0:
                return debate.pick()
            debate.unite()
            for number in range(1, self.rounds + 1):
                if debate.judged(number):
                    break
                debate.winnow(number)
        return debate.end()

    def debate(self, query: Query, segments: Sequence[Segment]) -> Debate:
        """The debate over the documents of a question."""
        return Debate(query, segments, self.agent, self.critic, self.seed)


@system("winnowrag", needs="LLM, embedder", paper="arXiv 2511.04700v1")
def winnowrag(
    llm: LLM,
    embedder: Embedder,
    *,
    critic: LLM | Judge | None = None,
    documents: int = 50,
    clusters: int = 10,
    rounds: int = 3,
    max_calls: int | None = None,
    max_llm_tokens: int | None = None,
    max_seconds: float | None = None,
) -> System:
    """Let clusters of documents answer, a critic winnow; keep those of the answer that stands.

    Args:
        llm: The agents, and the critic, unless another is given.
        embedder: Embeds documents together with the question.
        critic: Compares the agents' answers: an LLM, or a `Judge` of another kind.
        documents: N: the first so many documents count; 0 leaves the model by itself.
        clusters: K; see `Winnow`, also for what follows.
        rounds: M.
        max_calls: LLM calls a question at most; the best answer so far stands then. See
            `AgentLimits`.
        max_llm_tokens: Tokens that the LLM reads and writes, after which no step begins.
        max_seconds: Seconds a question, after which the best answer so far stands.

    Raises:
        InputError: If an option breaks its rule.

    Source: WinnowRAG (arXiv 2511.04700v1); see `Winnow` for where it differs.
    """
    check_number("documents", documents, Amount)
    limits = AgentLimits(max_calls=max_calls, max_tokens=max_llm_tokens, max_seconds=max_seconds)
    agent = Agent(llm, limits=limits)
    judge = critic if isinstance(critic, Judge) else Critic(critic or llm)
    return System(
        Pipeline(select.TopK(documents), Winnow(agent, judge, embedder, clusters, rounds)),
        Reader(llm),
    )
