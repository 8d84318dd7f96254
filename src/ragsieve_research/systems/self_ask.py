"""Self-Ask: follow-up questions, each looked up and answered, then the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from ragsieve.answer import Reader
from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Embedder, Message, Prompt
from ragsieve.prompts import render
from ragsieve.retriever import AnySource
from ragsieve.schema import Count, Options
from ragsieve.system import Stage, System
from ragsieve.systems.base import system
from ragsieve.text import safe
from ragsieve.trace import log_event, note
from ragsieve.types import Answer, Query, Segment, StageResult
from ragsieve_research.answer.examples import answer_line
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import Field, plain_text, read_fields
from ragsieve_research.systems.iterating import SHOWN, Search, iterating

MAX_CHARS = 300  # of a follow-up question
_NEEDED = re.compile(  # the paper's own line before a follow-up question or the answer
    r"(?<![*_ ])[*_ ]*are follow[ -]?up questions? needed here:?[*_ ]*(?:yes\b|no\b)?[*_.,; ]*",
    re.IGNORECASE,
)
_FOLLOW_UP = Field(
    "Follow up: …",
    answer_line,
    ("follow up", "follow-up", "follow up question", "follow-up question"),
    bare=False,
)
_FINAL = Field("the final answer", answer_line, ("final answer", "answer"), bare=False)


@dataclass(frozen=True)
class SelfAsking(Options):
    """Asks itself one question after another, has each looked up and answered, then concludes.

    A reply is one line, a follow-up question or the final answer; what stands below that line, and
    the paper's "Are follow up questions needed here: Yes." before it, does not count. Unreadable
    ones are asked for once more. Where the model repeats a question, or has asked as many as it
    may, it is asked for the final answer. If that cannot be read, either, the system's reader
    answers from the evidence, at least of a search by the question itself.
    """

    llm: LLM
    reader: Reader
    follow_ups: Count = 5
    max_tokens: int = field(default=96, kw_only=True)

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        turns: list[Message] = []
        kept: list[Segment] = []
        questions: set[str] = set()
        reply = self._next(query, turns)
        while isinstance(reply, Query):
            repeated = reply.text.casefold() in questions
            if repeated or len(questions) == self.follow_ups:
                why = "asked before" if repeated else "no more are allowed"
                note(f"follow-up {reply.text[:SHOWN]!r} is not asked: {why}")
                reply = self._next(query, turns, final=True)
                break
            questions.add(reply.text.casefold())
            evidence = search(reply, reply)
            kept += evidence
            answer = " ".join(safe(self.reader(reply, evidence).text).split()) or "unknown"
            log_event(
                f"follow-up {reply.text[:SHOWN]!r}: {answer[:SHOWN]!r}",
                "follow-up",
                question=reply.text,
                answer=answer,
            )
            turns += [
                Message("assistant", f"Follow up: {reply.text}"),
                Message("user", f"Intermediate answer: {answer}"),
            ]
            reply = self._next(query, turns)
        if isinstance(reply, str):
            transcript = "\n".join(turn.content for turn in turns)
            final = Answer(reply, tuple(kept), f"{transcript}\n{reply}".strip())
            return StageResult(kept, answer=final)
        note("no final answer that can be read: the reader answers from what was found")
        return kept or search(query, query)

    def _next(
        self, query: Query, turns: Sequence[Message], *, final: bool = False
    ) -> Query | str | BadReply:
        """The next follow-up question, or the final answer."""
        prompt: Prompt = (*render("selfask", question=query.text), *turns)
        if final:
            (last,) = render("selfask_final", question=query.text)
            prompt = (*prompt[:-1], Message("user", f"{prompt[-1].content}\n\n{last.content}"))

        def parse(reply: str) -> Query | str:
            text = _NEEDED.sub("", safe(reply).strip(), count=1)
            line = next((line for line in plain_text(text).splitlines() if line.strip()), "")
            with suppress(BadReply):
                return str(read_fields(line, _FINAL)[0])
            asked = None
            with suppress(BadReply):
                (asked,) = read_fields(line, _FOLLOW_UP)
            if final or not asked or len(asked) > MAX_CHARS:
                either = "" if final else "'Follow up: …' or "
                raise BadReply(f"one line, {either}'So the final answer is: …'", reply)
            return Query(asked, query.id)

        return complete_parsed(self.llm, [prompt], parse, max_tokens=self.max_tokens)[0]


@system("self-ask", needs="LLM, embedder", paper="arXiv 2210.03350")
def self_ask(
    llm: LLM,
    embedder: Embedder,
    *,
    source: AnySource | None = None,
    prune: Stage | None = None,
    follow_ups: int = 5,
    k: int = 5,
) -> System:
    """Ask up to 5 follow-up questions, look each up, then answer.

    Args:
        llm: Asks, answers what it asked, and answers.
        embedder: See `hyde`; so for ``source``, ``prune``, ``k``.
        source: Asked in place of documents in hand.
        prune: Filters what each search finds.
        follow_ups: Follow-up questions at most; at least 1.
        k: Segments of a search that count.

    Raises:
        InputError: If an option breaks its rule.

    Source: Self-Ask (arXiv 2210.03350), section 4, with a search engine; PruningRAG, table 7: 5.
    Differs: What answers a follow-up question is the LLM, from the evidence, not the search
        engine. Where the model asks nothing, nothing is searched, as in the paper.
    """
    strategy = SelfAsking(llm, Reader(llm), follow_ups)
    return iterating(strategy, llm, embedder, source, prune, k)
