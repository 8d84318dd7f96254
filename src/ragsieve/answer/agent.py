"""An agent of a debate: answers from its own documents, and argues for its answer."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from ragsieve.answer.parts import bare, first_paragraph, parts, schema, text
from ragsieve.errors import BadReply, check_range
from ragsieve.models.base import LLM, Prompt, complete_parsed, strip_thinking
from ragsieve.prompts import FRAME, quoted, render, shown
from ragsieve.trace import note
from ragsieve.types import Query, Segment

_PARTS = {"Evidence": 240, "Explanation": 160, "Answer": 80}  # characters, where they can be held
_WORD = 20  # characters of a word that is not cut
_ENOUGH = 0.97  # of the tokens that fit: a longer prompt is not worth another count


@dataclass(frozen=True)
class Argument:
    """An agent's answer, the evidence in its documents, and how that supports it."""

    answer: str
    evidence: str = ""
    explanation: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """Limits of a question's debate; a step that may go past a limit is not begun.

    Args:
        max_calls: LLM calls of agents and critic; each counts twice beforehand, as a second
            request may be needed. No more clusters than this.
        max_tokens: LLM tokens read and written, after which no step begins.
        max_seconds: Seconds after which the debate ends, also in the middle of a reply
            (`ragsieve.models.deadline`); only the agents' first answers are waited for.

    Raises:
        InputError: If a limit of calls or tokens is below 1, or one of seconds negative.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        check_range(self, max_calls=(1, None), max_tokens=(1, None), max_seconds=(0, None))

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
    pass for another document or for the question. Where the documents do not fit the model's
    context, each is read from its beginning as far as all fit, and the trace says so.

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
    limits: AgentLimits = AgentLimits()

    def __post_init__(self) -> None:
        check_range(self, max_tokens=(1, None), max_argument=(1, None))

    def answer(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[str]:
        """The answer from each set of documents."""
        prompts = [self._prompt("agent_answer", query, group, self.max_tokens) for group in groups]
        replies = self.llm.complete(prompts, max_tokens=self.max_tokens)
        return [bare(" ".join(strip_thinking(reply).split())) for reply in replies]

    def argument_prompt(
        self, query: Query, group: Sequence[Segment], remark: str = "", /
    ) -> Prompt:
        """The prompt to argue from these documents, after a critic's remark if there is one.

        Equal prompts have equal replies: one of them is enough.
        """
        quoted_remark = quoted(remark) if remark else "none"
        return self._prompt("agent_argue", query, group, self.max_argument, remark=quoted_remark)

    def argue(self, prompts: Sequence[Prompt], /) -> list[Argument | BadReply]:
        """The argument in reply to each `argument_prompt`; the error of an unreadable reply."""
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

        budget = self.llm.context - reply - FRAME
        chars = max(len(segment.text) for segment in group)
        whole = size(chars)
        if whole > budget:
            counts = self.llm.count([quoted(segment.text) for segment in group])
            chars = _fitting(group, counts, whole, budget, size)
            read = f"{len(group)} documents are read up to {chars} characters each"
            note(f"{read}, to fit the context")
        return asking(chars)


def _fitting(
    group: Sequence[Segment],
    counts: Sequence[int],
    whole: int,
    budget: int,
    size: Callable[[int], int],
) -> int:
    """Characters of each document that fit, at least 1, with few calls of ``size``.

    Args:
        group: The documents.
        counts: Tokens of each.
        whole: Tokens of a prompt that has all of them, over ``budget``.
        budget: Tokens that fit.
        size: Tokens of a prompt with so many characters of each.
    """

    def even(chars: int) -> float:  # tokens, if spread evenly over a document; a mark costs one
        read = [min(1.0, chars / max(1, len(s.text))) for s in group]
        return sum(min(n, n * share + 1) for n, share in zip(counts, read, strict=True))

    high, most = max(len(s.text) for s in group), float(whole)
    low, least = 0, whole - even(high)
    for tries in count():
        if high - low < 2 or (low and (tries > 3 or least > _ENOUGH * budget)):
            break
        goal = (budget * (1 - tries / 100) - least) / (most - least)
        target = even(low) + goal * (even(high) - even(low))
        chars = low + bisect(range(low + 1, high), target, key=even)
        chars = (low + high) // 2 if tries > 3 else min(max(chars, low + 1), high - 1)
        if (used := size(chars)) <= budget:
            low, least = chars, used
        else:
            high, most = chars, used
    return max(low, 1)


def _listed(group: Sequence[Segment], chars: int) -> str:
    """Documents with their numbers and titles, each up to so many characters."""
    return "\n".join(
        f"Document [{n}] (Title: {quoted(s.document.title)}): {shown(s.text, _end(s.text, chars))}"
        for n, s in enumerate(group, 1)
    )


def _end(text: str, chars: int) -> int:
    """Where to cut a text of over ``chars`` characters: behind a word, if one ends shortly before.

    A longer word, or text without spaces, is cut inside.
    """
    if len(text) <= chars:
        return chars
    space = text.rfind(" ", max(0, chars - _WORD), chars + 1)
    return space if space > 0 else chars


def _argument(reply: str) -> Argument:
    evidence, explanation, answer = parts(reply, [*_PARTS]).values()
    stated = bare(first_paragraph(answer, "Answer", reply))
    if not stated:
        raise BadReply("text as Answer, not blank", reply)
    return Argument(
        stated, text(evidence, "Evidence", reply), text(explanation, "Explanation", reply)
    )
