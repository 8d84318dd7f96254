"""One question's debate: agents over documents, merged and winnowed, logged as events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragsieve.documents import site
from ragsieve.errors import BadReply, Overdue
from ragsieve.models.base import Embedder, Prompt
from ragsieve.prompts import render, titled
from ragsieve.timeouts import until
from ragsieve.trace import Usage, log_event, note, record_drop, recorded_usages, warn
from ragsieve.types import Answer, Query, Segment
from ragsieve_research.answer.agent import Agent, Argument, read_text
from ragsieve_research.answer.critic import Judge, Judgement, rivals
from ragsieve_research.answer.parts import agree, in_doubt, plain, same_answers
from ragsieve_research.systems import cluster
from ragsieve_research.systems.cluster import Merged, inequality

NO_ANSWER = "I don't know"
"""The answer where no agent has one."""
_MERGES: Mapping[str, Callable[..., Merged]] = {
    "ellipse": cluster.ellipse,
    "hyperbola": cluster.hyperbola,
}
_SHOWN = 300  # characters of a model's text in a line for people


@dataclass
class Member:
    """An agent of the debate.

    Args:
        number: Its name, from 1.
        rows: Places of its documents, rising.
        sites: Whom the documents are from, those that have fallen among them.
        argument: Its answer with evidence and explanation; at first only an answer.
        votes: Agents whose equal answers it speaks for, itself among them.
    """

    number: int
    rows: list[int]
    argument: Argument = field(default=Argument(""))
    votes: int = 1
    sites: frozenset[str] = frozenset()


@dataclass
class Debate:
    """Result of a debate about the documents of one question.

    Args:
        query: The question.
        segments: Its documents; of equal ones the first counts.
        agent: Answers for every member.
        critic: Compares their answers.
        seed: Draws what is drawn.
    """

    query: Query
    segments: Sequence[Segment]
    agent: Agent
    critic: Judge
    seed: int
    members: list[Member] = field(default_factory=list)
    vectors: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 1), np.float32))
    judgement: Judgement = field(default=Judgement())
    ending: str = "the majority of those that remain"
    _replies: dict[Prompt, Argument] = field(default_factory=dict)
    _last_arguments: list[tuple[int, Argument]] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        first: dict[tuple[str, int, int], Segment] = {}
        for segment in self.segments:
            first.setdefault(segment.key, segment)
        self.segments = list(first.values())

    def cluster(self, embedder: Embedder, clusters: int) -> None:
        """A member for each cluster of documents, each embedded together with the question.

        Source: WinnowRAG, section 3.2, equation 1.
        """
        texts = [
            render("query_aware", question=self.query.text, document=titled(s))[0].content
            for s in self.segments
        ]
        self.vectors = embedder.embed(texts)  # (n_documents, dim)
        sets = self.divided(min(clusters, self.agent.limits.max_calls or clusters))
        names = [site(segment.document) for segment in self.segments]
        self.members = [
            Member(number, rows, sites=frozenset(names[row] for row in rows))
            for number, rows in enumerate(sets, 1)
        ]
        owner = {row: member.number for member in self.members for row in member.rows}
        places = cluster.projected(self.vectors).round(4).tolist()  # (n_documents, 2)
        log_event(
            f"{len(self.segments)} documents in {len(sets)} clusters, an agent each",
            "clusters",
            documents=[
                {"document": s.document.id, "title": s.document.title, "agent": owner[row]}
                | {"x": places[row][0], "y": places[row][1]}
                for row, s in enumerate(self.segments)
            ],
        )

    def divided(self, clusters: int) -> list[list[int]]:
        """Places of the documents in sets, at most so many."""
        return cluster.kmeans(self.vectors, clusters, seed=self.seed)

    def answer(self) -> None:
        """Every member answers from its documents."""
        answers = self.agent.answer(self.query, [self._documents(m) for m in self.members])
        for member, text in zip(self.members, answers, strict=True):
            member.argument = Argument(text)
            note(f"agent {member.number} answers {_cut(text)!r} from {self._titles(member)}")
        self._silence()
        log_event(
            f"{len(self._by_answer(self.members))} different answers",
            "answers",
            answers=[{"agent": m.number, "answer": m.argument.answer} for m in self.members],
        )

    def _silence(self) -> None:
        """Members without an answer leave, with their documents, unless nobody has one.

        So do those whose answer may be a refusal (`in_doubt`), where another's is none.
        """
        said = [m for m in self.members if m.argument.answer]
        said = [m for m in said if not self._doubts(m)] or said
        silent = [m for m in self.members if m not in said] if said else []
        for member in silent:
            for row in member.rows:
                record_drop(self.segments[row], f"agent {member.number} finds no answer in it")
        if silent:
            note(f"{_names([m.number for m in silent])} without an answer: neither vote nor merge")
            self.members = said

    def unite(self) -> None:
        """Members with the same answer become one, which has the votes of all.

        Source: WinnowRAG, section 3.3, super-agent initialization.
        """
        groups = self._by_answer(self.members)
        if len(groups) > 1 and self._may(2):
            answers = [group[0].argument.answer for group in groups]
            same = self.critic.same(self.query, answers)
            groups = [[m for place in places for m in groups[place]] for places in same]
        for group in groups:
            first, *others = sorted(group, key=lambda m: m.number)
            if others:
                first.votes = sum(m.votes for m in group)
                first.sites = frozenset(name for m in group for name in m.sites)
                self.merge(first, others, "ellipse", 0)

    def judged(self, number: int) -> bool:
        """Members argue and the critic judges; whether the debate is over.

        Source: WinnowRAG, section 3.3, multi-agent winnowing.
        """
        if not self._may(2 * len(self.members) + 2):
            return True
        if not self._argued():
            self.ending = "the majority, as nothing has changed since the round before"
            return True
        self.judgement = judgement = self._judged([m.argument for m in self.members])
        wrong = [self.members[place].number for place in judgement.incorrect]
        verdict = f"incorrect: {_names(wrong)}" if wrong else "none is incorrect"
        answer = judgement.answer
        stands = f"consistent: {_cut(answer)!r}" if answer else "no consistent answer"
        log_event(
            f"round {number}: {verdict}; {stands}; because {_cut(judgement.explanation)!r}",
            "round",
            round=number,
            arguments=[{"agent": m.number, **asdict(m.argument)} for m in self.members],
            incorrect=wrong,
            explanation=judgement.explanation,
            answer=answer,
            readable=judgement.readable,
        )
        if answer is not None:
            self.ending = f"consistent in round {number}"
        return answer is not None

    def _judged(self, arguments: Sequence[Argument]) -> Judgement:
        """The critic's verdict; of pairs where it says that different answers agree."""
        judgement = self.critic.judge(self.query, arguments)
        disputed = judgement.disputed
        pairs = len(rivals([a.answer for a in arguments], disputed)) if disputed else 0
        if pairs and self._may(2 * pairs * (pairs - 1)):
            return self.critic.by_pairs(self.query, arguments, disputed)
        return judgement

    def winnow(self, number: int) -> None:
        """Members judged incorrect merge, at once, into the nearest that remain; not if all are."""
        wrong = [self.members[place] for place in self.judgement.incorrect]
        right = [member for member in self.members if member not in wrong]
        if not right:
            note(f"round {number}: all are called incorrect, so none goes")
            return
        sets = [member.rows for member in right]
        near = [cluster.nearest(self.vectors, member.rows, sets) for member in wrong]
        for place, member in enumerate(right):
            if others := [w for w, its in zip(wrong, near, strict=True) if its == place]:
                self.merge(member, others, "hyperbola", number)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """End the block when its seconds are over; a reply that is not there is not heard."""
        limit = self.agent.limits.max_seconds
        if limit is None:
            yield
            return
        try:
            with until(self._began + limit):
                yield
        except Overdue as error:
            if not any(m.argument.answer for m in self.members):
                raise Overdue(
                    f"max_seconds={limit:g} are over before an agent has answered"
                ) from error
            self._cut_short(f"max_seconds={limit:g} are over")

    def pick(self) -> Answer:
        """The answer that the critic picks at once."""
        groups, place = self._by_answer(self.members), 0
        if len(groups) > 1:
            if not self._may(4):
                return self.end()
            picked = self.critic.pick(self.query, [g[0].argument.answer for g in groups])
            if picked is None:
                self.ending = "the majority, as the critic picked none"
                return self.end()
            place = picked
        self.ending = "picked at once"
        return self._ended(groups[place][0].argument.answer, groups[place])

    def end(self) -> Answer:
        """The consistent answer, or that of the majority, with the documents it rests on."""
        wrong = [] if self.judgement.answer is None else self.judgement.incorrect
        right = [m for place, m in enumerate(self.members) if place not in wrong]
        if answer := self.judgement.answer:
            same = [m for m in right if agree(m.argument.answer, answer)]
            own = [m for m in same if plain(m.argument.answer) == plain(answer)] or same
            return self._ended(own[0].argument.answer if own else answer, same or right)
        groups = self._by_answer(right)
        if not groups[0][0].argument.answer:
            warn("no agent has an answer")
            return self._ended(NO_ANSWER, self.members)
        capped = len({len(self._sites(group)) for group in groups}) > 1
        most, *others = sorted(groups, key=lambda g: self._weight(g, capped), reverse=True)
        if others:
            one, other = (self._weight(group, capped)[0] for group in (most, others[0]))
            rule = ", of each site at most one" * capped
            warn(f"a majority decides, by {one} to {other} votes{rule}")
        return self._ended(most[0].argument.answer, most)

    @staticmethod
    def _sites(group: Sequence[Member]) -> set[str]:
        """Whom the documents of members are from."""
        return {name for member in group for name in member.sites}

    def _weight(self, group: Sequence[Member], capped: bool) -> tuple[int, int, int, int]:
        """Sort key of a majority: votes, where capped one a site; all votes; sites; who is first.

        Votes are capped where rivals are from different numbers of sites: else all may be from one.
        """
        votes = sum(m.votes for m in group)
        left = {site(self.segments[row].document) for m in group for row in m.rows}
        counted = min(votes, len(self._sites(group))) if capped else votes
        return counted, votes, len(left), -group[0].number

    def _may(self, calls: int) -> bool:
        """Whether the limits leave so many calls; if not, the majority so far is to stand."""
        usages = self._calls()
        tokens = sum(usage.tokens_in + usage.tokens_out for usage in usages)
        so_far = len(usages), calls, tokens, time.monotonic() - self._began
        if reason := self.agent.limits.passed(*so_far):
            self._cut_short(reason)
        return not reason

    def _cut_short(self, reason: str) -> None:
        tell = warn if reason.startswith("max_seconds") else note  # others are foreseen
        tell(f"the debate is cut short: {reason}")
        self.ending = "the majority so far, as a limit is reached"

    def _calls(self) -> list[Usage]:
        return [usage for usage in recorded_usages() if not usage.embedded]

    def _argued(self) -> bool:
        """Let members with a new prompt argue; whether anything has changed for the critic."""
        remark = self.judgement.explanation
        prompts = {
            m.number: self.agent.argument_prompt(self.query, self._documents(m), remark)
            for m in self.members
        }
        fresh = [m for m in self.members if prompts[m.number] not in self._replies]
        replies = self.agent.argue([prompts[m.number] for m in fresh]) if fresh else []
        for member, reply in zip(fresh, replies, strict=True):
            if isinstance(reply, BadReply):
                note(f"agent {member.number} is unreadable twice, so it keeps its answer: {reply}")
                reply = Argument(member.argument.answer)
            reply = reply.checked(self._documents(member), self.query.text)
            if not reply.quoted:
                note(f"agent {member.number} quotes what none of its documents says")
            self._replies[prompts[member.number]] = reply
        for member in self.members:
            member.argument = self._replies[prompts[member.number]]
            text, evidence = member.argument.answer, member.argument.evidence
            note(f"agent {member.number} answers {_cut(text)!r}: {_cut(evidence)!r}")
        self._silence()
        arguments = [(member.number, member.argument) for member in self.members]
        changed = bool(fresh) or arguments != self._last_arguments
        self._last_arguments = arguments
        return changed

    def merge(self, into: Member, others: Sequence[Member], by: str, number: int) -> None:
        """Merge members into another, and say which documents fall by which inequality."""
        merged = self.merged(into, others, by)
        agents = _names([into.number, *(other.number for other in others)])
        values = dict(zip(merged.members, merged.values, strict=True))
        threshold = merged.threshold
        gone = []
        for row in sorted({*merged.members} - {*merged.kept}):
            segment, value = self.segments[row], values[row]
            record_drop(segment, f"{by} of {agents}: {inequality(value, threshold)}")
            gone.append({"document": segment.document.id, "value": value, "threshold": threshold})
        log_event(
            f"{_names([m.number for m in others])} merge{'s' * (len(others) == 1)} into "
            f"agent {into.number} by {by}: "
            f"{len(merged.kept)} documents stay, {len(gone)} fall",
            "merge",
            round=number,
            by=by,
            into=into.number,
            of=[other.number for other in others],
            kept=[self.segments[row].document.id for row in merged.kept],
            dropped=gone,
        )
        into.rows = list(merged.kept)
        self.members = [m for m in self.members if m not in others]

    def merged(self, into: Member, others: Sequence[Member], by: str) -> Merged:
        """The members' documents that stay."""
        return _MERGES[by](self.vectors, into.rows, *(other.rows for other in others))

    def _ended(self, answer: str, standing: Sequence[Member]) -> Answer:
        kept = sorted(row for member in standing for row in member.rows)
        for member in self.members:
            if member not in standing:
                why = f"agent {member.number}'s answer {_cut(member.argument.answer)!r}"
                for row in member.rows:
                    record_drop(self.segments[row], f"{why} does not stand")
        numbers = [m.number for m in standing]
        log_event(
            f"the answer of {_names(numbers)} stands: {_cut(answer)!r}, {self.ending}",
            "end",
            answer=answer,
            why=self.ending,
            agents=numbers,
            documents=[self.segments[row].document.id for row in kept],
            calls=len(self._calls()),
            embedded=sum(usage.embedded for usage in recorded_usages()),
        )
        return Answer(answer, tuple(self.segments[row] for row in kept))

    def _documents(self, member: Member) -> list[Segment]:
        return [self.segments[row] for row in member.rows]

    def _doubts(self, member: Member) -> bool:
        read = read_text(self._documents(member))
        return in_doubt(member.argument.answer, self.query.text, read)

    def _titles(self, member: Member) -> str:
        names = [s.document.title or s.document.id for s in self._documents(member)]
        shown = [_cut(" ".join(name.split())) for name in names[:3]]  # a note is one line
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{'; '.join(shown)}{more}"

    def _by_answer(self, members: Sequence[Member]) -> list[list[Member]]:
        """Members in groups whose answers are plainly the same, or short and long forms of one."""
        groups = same_answers([member.argument.answer for member in members])
        return [[members[place] for place in places] for places in groups]


def _names(numbers: Sequence[int]) -> str:
    *first, last = map(str, numbers)
    return f"agents {', '.join(first)} and {last}" if first else f"agent {last}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
