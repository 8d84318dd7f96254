"""Replies of an LLM between searches: a text, and sub-questions."""

from __future__ import annotations

from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Prompt, complete_with_room
from ragsieve.text import safe
from ragsieve_research.models.parsed import complete_parsed, readable
from ragsieve_research.models.replies import Field, plain_text, prose, read_fields, texts, unquoted

_MAX_CHARS = 200  # of a sub-question
_QUESTIONS = Field("sub-questions, one a line", texts, ("questions",))


def said(llm: LLM, prompt: Prompt, *, max_tokens: int) -> str:
    """What a reply says (`prose`); may be empty."""
    (reply,) = complete_with_room(llm, [prompt], max_tokens=max_tokens)
    return prose(safe(reply), "passage")


def sub_questions(llm: LLM, prompt: Prompt, most: int, otherwise: str) -> list[str]:
    """At most ``most`` questions of a reply that has one a line; none where none can be read.

    One that cannot be read is requested once more; then the trace says ``otherwise``.
    """

    def parse(reply: str) -> list[str]:
        try:
            (lines,) = read_fields(reply, _QUESTIONS)
        except BadReply:
            lines = plain_text(safe(reply)).splitlines()
        named = [line for line in dict.fromkeys(map(unquoted, lines)) if line[-1:] in ("?", "？")]
        if not named:
            raise BadReply(_QUESTIONS.rule, reply)
        if len(named) > most or max(map(len, named)) > _MAX_CHARS:
            raise BadReply(f"at most {most} lines of at most {_MAX_CHARS} characters", reply)
        return named

    (reply,) = complete_parsed(llm, [prompt], parse, max_tokens=48 * most)
    return readable(reply, [], otherwise)
