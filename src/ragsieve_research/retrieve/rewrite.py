"""Query → Query: the question rewritten for search."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragsieve.errors import BadReply, ModelError
from ragsieve.models.base import LLM
from ragsieve.prompts import render
from ragsieve.text import safe, words
from ragsieve.trace import note
from ragsieve.types import Query, Segment
from ragsieve_research.models.parsed import complete_parsed
from ragsieve_research.models.replies import Field, paragraph, read_fields, strip_thinking, unquoted

_NAME = re.compile(r"[^\W_]+")
_MAX_CHARS = 300  # of a rewrite


@dataclass(frozen=True)
class Rewrite:
    """The question as an LLM would rather search for it; the original where that makes no sense.

    A rewrite makes sense if it is one line of at most 300 characters, or twice as many as the
    original has, no statement (small models answer instead), shares a word with the original
    and holds its names: words with a capital letter behind the first one. What does not is asked
    for once more, the reason named; then, and where the model fails, the original stands, and the
    trace says so.

    Args:
        llm: Rewrites.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Query Rewriting".
    """

    llm: LLM

    def __call__(self, query: Query, /) -> Query:
        most = max(_MAX_CHARS, 2 * len(query.text))
        known, names = {*words(query.text)}, _names(query.text)

        rule = f"one line of at most {most} characters"
        field = Field(rule, _line, ("query", "question"))

        def parse(reply: str) -> str:
            text: str
            (text,) = read_fields(unquoted(strip_thinking(safe(reply))), field)
            if len(text) > most:
                raise BadReply(rule, reply)
            if text.endswith((".", "!", "。")):
                raise BadReply("a question or words to search for, no statement", reply)
            rewritten = {*words(text)}
            if (known and known.isdisjoint(rewritten)) or not names <= rewritten:
                raise BadReply("the same question with all its names", reply)
            return text

        prompt = render("rewrite", question=query.text)
        text: str | ModelError
        try:
            (text,) = complete_parsed(self.llm, [prompt], parse, max_tokens=most // 2 + 16)
        except ModelError as error:  # a search by the original is better than none
            text = error
        if isinstance(text, ModelError):
            note(f"not rewritten, the question as it is searches: {text}")
            return query
        note(f"rewritten to search: {text!r}")
        return replace(query, text=text)


def _line(value: Any) -> str:
    if isinstance(value, str) and "\n" in value.strip():
        raise ValueError("several lines")
    return paragraph(value)


def _names(text: str) -> set[str]:
    """Words of ``text`` behind the first that begin with a capital letter, in lower case."""
    names = [word for word in _NAME.findall(text)[1:] if word[0].isupper()]
    return {*words(" ".join(names))}


@dataclass(frozen=True)
class Rewritten:
    """A source or a stage that is asked by another query; whatever comes after sees the original.

    Args:
        rewrite: Makes the other query.
        inner: What is asked by it.
    """

    rewrite: Callable[[Query], Query]
    inner: Callable[..., list[Segment]]

    def __call__(self, query: Query, /, *segments: Sequence[Segment]) -> list[Segment]:
        return self.inner(self.rewrite(query), *segments) if all(segments) else []
