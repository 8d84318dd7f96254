"""An agent of a debate: it answers from its documents alone, and argues for its answer."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from ragsieve.answer.parts import bare, parts, schema, text
from ragsieve.answer.reader import FRAME
from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import LLM, Prompt, complete_parsed, strip_thinking
from ragsieve.prompts import quoted, render, shown
from ragsieve.trace import note
from ragsieve.types import Query, Segment

_PARTS = {"Evidence": 240, "Explanation": 160, "Answer": 80}  # characters, where they can be held


@dataclass(frozen=True)
class Argument:
    """What an agent says: its answer, the evidence in its documents, and how that supports it."""

    answer: str
    evidence: str = ""
    explanation: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a question's debate may cost; a step that may go past a limit is not begun.

    Args:
        max_calls: LLM calls of agents and critic; each counts twice beforehand, as it may have to
            be asked once more. No more clusters than this.
        max_tokens: LLM tokens read and written, after which no step begins.
        max_seconds: Seconds after which no step begins; what runs then is not cut short.

    Raises:
        InputError: If a limit is not above 0.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_tokens", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name} must be above 0, got {value!r}")

    def passed(self, calls: int, more: int, tokens: int, seconds: float) -> str:
        """Which limit forbids up to so many more calls, for people; empty where none does."""
        if self.max_calls is not None and calls + more > self.max_calls:
            return f"up to {more} more calls after {calls} are past max_calls={self.max_calls}"
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"{tokens} tokens have reached the limit of {self.max_tokens}"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return f"max_seconds={self.max_seconds:g} are over"
        return ""


@dataclass(frozen=True)
class Agent:
    """Answers from documents alone; every call asks for many sets of documents in one batch.

    A document is a JSON string on a line of its own behind its number, so that nothing in it can
    pass for another document or for what is asked. Where the documents do not fit the model's
    context, each is read from its beginning as far as all have room, and the trace says so.

    Args:
        llm: Answers.
        max_tokens: Tokens of an answer; at least 1.
        max_argument: Tokens of evidence, explanation and answer; at least 1.
        limits: What a question's debate may cost.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails; `ContextOverflow` if not even the question fits.

    Source: WinnowRAG (arXiv 2511.04700), appendix D.1 and D.2.
    """

    llm: LLM
    max_tokens: int = 64
    max_argument: int = 512
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_argument"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    def answer(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[str]:
        """The answer from each set of documents."""
        prompts = [self._prompt("agent_answer", query, group, self.max_tokens) for group in groups]
        replies = self.llm.complete(prompts, max_tokens=self.max_tokens)
        return [bare(" ".join(strip_thinking(reply).split())) for reply in replies]

    def asked(self, query: Query, group: Sequence[Segment], remark: str = "", /) -> Prompt:
        """What is asked of the agent with these documents, after a critic's remark if there is one.

        Equal prompts have equal replies: who is asked the same need not be asked.
        """
        said = quoted(remark) if remark else "none"
        return self._prompt("agent_argue", query, group, self.max_argument, remark=said)

    def argue(self, prompts: Sequence[Prompt], /) -> list[Argument | BadReply]:
        """Evidence, explanation and answer to each of `asked`; the error of an unreadable reply."""
        return complete_parsed(
            self.llm,
            prompts,
            _argument,
            max_tokens=self.max_argument,
            schema=schema({name: {"type": "string", "maxLength": n} for name, n in _PARTS.items()}),
        )

    def _prompt(
        self, name: str, query: Query, group: Sequence[Segment], reply: int, **more: str
    ) -> Prompt:
        def asking(chars: int) -> Prompt:
            documents = _listed(group, chars)
            return render(name, question=query.text, documents=documents, **more)

        def size(chars: int) -> int:
            return sum(self.llm.count([message.content for message in asking(chars)]))

        room = self.llm.context - reply - FRAME
        longest = max(len(segment.text) for segment in group)
        if size(longest) <= room:
            return asking(longest)
        fitting = max(1, bisect(range(1, longest), room, key=size))
        note(f"{len(group)} documents are read up to {fitting} characters each, to fit the context")
        return asking(fitting)


def _listed(group: Sequence[Segment], chars: int) -> str:
    """Documents with their numbers and titles, each up to so many characters."""
    return "\n".join(
        f"Document [{n}] (Title: {quoted(s.document.title)}): {shown(s.text, chars)}"
        for n, s in enumerate(group, 1)
    )


def _argument(reply: str) -> Argument:
    found = {name: text(value, name, reply) for name, value in parts(reply, [*_PARTS]).items()}
    answer = bare(found["Answer"])
    if not answer:
        raise BadReply("text as Answer, not blank", reply)
    return Argument(answer, found["Evidence"], found["Explanation"])
