"""Prompts for Self-RAG's judgements: by reflection tokens, or in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragsieve.errors import Unsupported
from ragsieve.models.base import LLM, Message, Prompt
from ragsieve.prompts import render
from ragsieve.text import safe, sentence_spans
from ragsieve_research.models.reflection import ALL, NEEDED, RAW, TOKENS
from ragsieve_research.models.replies import prose, strip_thinking
from ragsieve_research.prompts import quoted

Ask = Literal["retrieve", "relevant", "write", "supported", "useful"]

_WORDS: Mapping[str, tuple[str, ...]] = {
    "retrieve": ("yes", "no"),
    "relevant": ("yes", "no"),
    "supported": ("full", "part", "none"),
    "useful": ("1", "2", "3", "4", "5"),
}
_ANY = re.compile("|".join(map(re.escape, sorted(ALL))), re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """An answer so far, for a prompt that continues or judges it.

    Args:
        question: The question.
        text: The segments before, in plain text.
        marked: The same with the marks that the model gave them.
        passage: What the next segment is written from; empty where nothing was retrieved.
        relevant: The mark of the passage.
        segment: The next segment, once it is written.
        supported: The mark of the segment.
    """

    question: str
    text: str = ""
    marked: str = ""
    passage: str = ""
    relevant: str = ""
    segment: str = ""
    supported: str = ""


@dataclass(frozen=True)
class ByTokens:
    """A model trained to write reflection tokens continues its own text, without a chat format.

    Nothing in a question or passage can pass for a reflection token: theirs are in round brackets.

    ``options`` are the replies to each judgement, in the order of `TOKENS`.

    Source: Self-RAG (arXiv 2310.11511), section 3, in the form of the authors' code.
    """

    options: ClassVar[Mapping[str, tuple[str, ...]]] = TOKENS
    said = staticmethod(strip_thinking)

    def prompt(self, ask: Ask, draft: Draft, /) -> Prompt:
        """The text up to where the token stands, or the segment."""
        text = draft.marked
        if ask != "retrieve":
            passage = _tame(draft.passage)
            text += f"[Retrieval]<paragraph>{passage}</paragraph>" if passage else "[No Retrieval]"
        if ask in ("write", "supported", "useful"):
            text += draft.relevant
        if ask in ("supported", "useful"):
            text += draft.segment
        if ask == "useful":
            text += draft.supported
        prompt = f"### Instruction:\n{_tame(draft.question)}\n\n### Response:\n{text}"
        return (Message(RAW, prompt),)

    def marked(self, draft: Draft, /) -> str:
        """The text with the marks of passage and segment, without the passage."""
        return f"{draft.marked}{draft.relevant}{draft.segment}{draft.supported}"

    def check(self, llm: LLM, /) -> None:
        """Raise `Unsupported` where the model's tokenizer has not each of them as one token."""
        _check_can(llm)
        counts = llm.count(NEEDED)
        missing = [token for token, n in zip(NEEDED, counts, strict=True) if n != 1]
        if missing:
            raise Unsupported(
                f"{llm.identity} lacks Self-RAG's reflection tokens {', '.join(missing)}: take a "
                "model trained to write them, or reflection='prompted'"
            )


@dataclass(frozen=True)
class ByWords:
    """A model that has no reflection tokens: each judgement is a prompt of its own.

    Differs: From the paper, which trains a model; so any one can be tried, and is less sure.
    """

    options: ClassVar[Mapping[str, tuple[str, ...]]] = _WORDS
    said = staticmethod(prose)

    def prompt(self, ask: Ask, draft: Draft, /) -> Prompt:
        """The template of this judgement, its texts as JSON strings."""
        return render(
            f"selfrag_{ask}",
            question=draft.question,
            text=quoted(draft.text) if draft.text else "none",
            passage=quoted(draft.passage) if draft.passage else "none",
            segment=quoted(draft.segment),
        )

    def marked(self, draft: Draft, /) -> str:
        """The text itself."""
        return f"{draft.marked} {draft.segment}".strip()

    def check(self, llm: LLM, /) -> None:
        """Raise `Unsupported` where the model cannot tell probabilities."""
        _check_can(llm)


Reflection = ByTokens | ByWords


def first_segment(reply: str) -> tuple[str, bool]:
    """The first sentence of a reply, reflection tokens apart, and whether it is the last one."""
    parts = [*filter(None, (" ".join(part.split()) for part in _ANY.split(safe(reply))))]
    if not parts:
        return "", True
    ((start, end), *_) = sentence_spans(parts[0])
    return parts[0][start:end], len(parts) == 1 and end == len(parts[0])


def _tame(text: str) -> str:
    """A text on one line in which no reflection token stands."""
    return _ANY.sub(lambda match: f"({match[0][1:-1]})", " ".join(text.split()))


def _check_can(llm: LLM) -> None:
    lacking = sorted({"complete", "choose", "loglik"} - llm.can)
    if lacking:
        raise Unsupported(f"Self-RAG needs a model that can {', '.join(lacking)}: {llm.identity}")
