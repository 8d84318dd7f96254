"""An agent of a debate: answers from its own documents, and argues for its answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Cut, Prompt, complete_with_room
from ragsieve.prompts import render, titled
from ragsieve.schema import Count, Options, Weight
from ragsieve.text import contains_answer, normalise
from ragsieve.types import Query, Segment
from ragsieve_research.answer.parts import content_words, plain, refuses, schema, words
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import (
    Field,
    paragraph,
    plain_text,
    prose,
    read_fields,
    text,
    unquoted,
    word,
)
from ragsieve_research.prompts import begun, fitting, quoted, words_in

_QUOTATION = re.compile(r"[\"“](?:([^\"”]{12,})[\"”]|[^\"”]*\Z)")
_PIECE = re.compile(r"\.\.\.|…|\[\d+\]|(?<=[.!?;])\s")
_PARTS = re.compile(r"\b(?:evidence|explanation|answer)\b|[{}]", re.IGNORECASE)
_SHARE = 0.8  # of a quotation's runs of three words, or a sentence's content words
_FORM: dict[str, dict[str, Any]] = {  # characters, where they can be held
    "Evidence": {"type": "string", "maxLength": 240},
    "Explanation": {"type": "string", "maxLength": 160},
    "Answered": {"type": "boolean"},
    "Answer": {"type": "string", "maxLength": 80},
}


@dataclass(frozen=True)
class Argument:
    """An agent's answer, the evidence in its documents, and how that supports it.

    ``quoted`` is False where its evidence stands in none of its documents.
    """

    answer: str
    evidence: str = ""
    explanation: str = ""
    quoted: bool = True

    def checked(self, group: Sequence[Segment], question: str = "", /) -> Argument:
        """The argument, ``quoted`` as none of these documents says what it gives as evidence.

        Its answer is empty where it is none (`refuses`): also one that no document has, if not a
        word of what it gives as evidence is there either.
        """
        read = read_text(group)
        named = content_words(f"{self.evidence} {self.answer}") & {*words(read)}
        there = named or contains_answer(read, [self.answer, self.evidence])
        backed = there or not self.evidence or plain(self.answer) in ("yes", "no")
        answer = self.answer if backed and not refuses(self.answer, question, read) else ""
        return replace(self, answer=answer, quoted=_quotes(self.evidence, group))


@dataclass(frozen=True, kw_only=True)
class AgentLimits(Options):
    """Limits of a question's debate; a step that may go past a limit is not begun.

    Args:
        max_calls: LLM calls of agents and critic; each counts twice beforehand, as a second
            request may be needed. No more clusters than this.
        max_tokens: LLM tokens read and written, after which no step begins.
        max_seconds: Seconds after which the debate ends, also in the middle of a reply
            (`ragsieve.timeouts`); before the agents' first answers, with `Overdue`.

    Raises:
        InputError: If a limit of calls or tokens is below 1, or one of seconds negative.
    """

    max_calls: Count | None = None
    max_tokens: Count | None = None
    max_seconds: Weight | None = None

    def passed(self, calls: int, more: int, tokens: int, seconds: float) -> str:
        """Limit that forbids up to so many more calls, for people; empty where none does."""
        if self.max_calls is not None and calls + more > self.max_calls:
            return f"up to {more} more calls after {calls} are past max_calls={self.max_calls}"
        if self.max_tokens is not None and tokens >= self.max_tokens:
            return f"{tokens} tokens have reached the limit of {self.max_tokens}"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return f"max_seconds={self.max_seconds:g} are over"
        return ""


@dataclass(frozen=True)
class Agent(Options):
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
    max_tokens: Count = 64
    max_argument: Count = 512
    limits: AgentLimits = AgentLimits()

    def answer(self, query: Query, groups: Sequence[Sequence[Segment]], /) -> list[str]:
        """The answer from each set of documents; empty where it is none, or was cut."""
        prompts = [self._prompt("agent_answer", query, group, self.max_tokens) for group in groups]
        replies = complete_with_room(self.llm, prompts, max_tokens=self.max_tokens)
        whole = ["" if isinstance(reply, Cut) else prose(reply) for reply in replies]
        said = [unquoted(" ".join(reply.split())) for reply in whole]
        pairs = zip(said, groups, strict=True)
        return [Argument(text).checked(group, query.text).answer for text, group in pairs]

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
            self.llm, prompts, _argument, max_tokens=self.max_argument, schema=schema(_FORM)
        )

    def _prompt(
        self, name: str, query: Query, group: Sequence[Segment], reply: int, **more: str
    ) -> Prompt:
        def make(words: int) -> Prompt:
            documents = "\n".join(
                f"Document [{n}] (Title: {quoted(s.document.title)}): {begun(s.text, words)}"
                for n, s in enumerate(group, 1)
            )
            return render(name, question=query.text, documents=documents, **more)

        return fitting(self.llm, make, max(1, *(words_in(s.text) for s in group)), reply)


_FIELDS = (
    *(Field("text", text, (name,)) for name in ("Evidence", "Explanation")),
    Field("text, not blank", lambda value: "" if value is None else paragraph(value), ("Answer",)),
)
_ANSWERED = Field("yes or no", word(("yes", "no")), ("Answered",), bare=False)


def _argument(reply: str) -> Argument:
    if (said := plain_text(reply)) and len(said.splitlines()) == 1 and not _PARTS.search(said):
        return Argument(unquoted(said))  # as of an agent that is asked for its answer alone
    if isinstance(reply, Cut):
        raise BadReply("a reply that comes to its end", reply)
    with suppress(BadReply):
        if read_fields(reply, _ANSWERED) == ["no"]:
            return Argument("")
    evidence, explanation, answer = read_fields(reply, *_FIELDS)
    nothing = plain(answer) == "none" and plain(evidence) in ("", "none")
    return Argument("" if nothing else answer, evidence, explanation)


def read_text(group: Sequence[Segment]) -> str:
    """The text of an agent's documents, as it is asked whether an answer is of them."""
    return "\n".join(map(titled, group))


def _quotes(evidence: str, group: Sequence[Segment]) -> bool:
    """Whether a document has a quotation of the evidence, or what a sentence of it speaks of.

    Quotations in quotes are looked up nearly word for word; where there are none, sentences by
    their content words, in any order. One is enough; under three words none counts.
    """
    quotations = [*filter(None, _QUOTATION.findall(evidence))]
    parts: Callable[[str], set[Any]] = _runs if quotations else content_words
    least = 0 if quotations else 2
    pieces = [p for p in map(parts, quotations or _PIECE.split(evidence)) if len(p) > least]
    sources = [parts(f"{s.document.title} {s.text}") for s in group]
    return not pieces or any(len(p & s) >= _SHARE * len(p) for p in pieces for s in sources)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = normalise(text).split()
    return {*zip(words, words[1:], words[2:], strict=False)}
