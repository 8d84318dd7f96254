"""How Self-RAG's model is asked to judge itself: by reflection tokens, or in plain words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from ragsieve.errors import Unsupported
from ragsieve.models.base import LLM, Message, Prompt
from ragsieve.prompts import quoted, render
from ragsieve.text import safe, sentence_spans

Ask = Literal["retrieve", "relevant", "write", "supported", "useful"]

TOKENS: Mapping[str, tuple[str, ...]] = {
    "retrieve": ("[Retrieval]", "[No Retrieval]"),
    "relevant": ("[Relevant]", "[Irrelevant]"),
    "supported": ("[Fully supported]", "[Partially supported]", "[No support / Contradictory]"),
    "useful": ("[Utility:1]", "[Utility:2]", "[Utility:3]", "[Utility:4]", "[Utility:5]"),
}
"""Reflection tokens by what they say; arXiv 2310.11511, table 1, as its authors' model has them."""

_OTHERS = ("<paragraph>", "</paragraph>")
_CONTINUE = "[Continue to Use Evidence]"
_WORDS: Mapping[str, tuple[str, ...]] = {
    "retrieve": ("yes", "no"),
    "relevant": ("yes", "no"),
    "supported": ("full", "part", "none"),
    "useful": ("1", "2", "3", "4", "5"),
}
_NEEDED = (*(token for group in TOKENS.values() for token in group), *_OTHERS)
_ANY = re.compile("|".join(map(re.escape, (*_NEEDED, _CONTINUE))), re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """What there is of an answer when the model is asked how to go on, or how good that is.

    Args:
        question: The question.
        said: The segments before, in plain text.
        marked: The same with the marks that the model gave them.
        passage: What the next segment is written from; empty where nothing was retrieved.
        relevant: The mark of the passage.
        segment: The next segment, once it is written.
        supported: The mark of the segment.
    """

    question: str
    said: str = ""
    marked: str = ""
    passage: str = ""
    relevant: str = ""
    segment: str = ""
    supported: str = ""


class Reflection(Protocol):
    """Words a model is asked in, and the replies whose probabilities are its judgement."""

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The replies to each judgement, in the order of `TOKENS`."""

    def prompt(self, ask: Ask, draft: Draft, /) -> Prompt:
        """What asks the model for a judgement of ``draft``, or to write its next segment."""

    def marked(self, draft: Draft, /) -> str:
        """The text so far with the draft's segment, and the marks where the model reads them."""

    def check(self, llm: LLM, /) -> None:
        """Raise `Unsupported` where the model cannot be asked so."""


@dataclass(frozen=True)
class ByTokens:
    """A model trained to write reflection tokens: its text so far is the prompt.

    Nothing in a question or passage can pass for a reflection token: theirs are in round brackets.

    Source: Self-RAG (arXiv 2310.11511), section 3, in the form of the authors' code.
    """

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The tokens."""
        return TOKENS

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
        asked = f"### Instruction:\n{_tame(draft.question)}\n\n### Response:\n{text}"
        return (Message("user", asked),)

    def marked(self, draft: Draft, /) -> str:
        """The text with the marks of passage and segment, without the passage."""
        return f"{draft.marked}{draft.relevant}{draft.segment}{draft.supported}"

    def check(self, llm: LLM, /) -> None:
        """Raise `Unsupported` where the model's tokenizer has not each of them as one token."""
        _check_can(llm)
        counts = llm.count(_NEEDED)
        missing = [token for token, n in zip(_NEEDED, counts, strict=True) if n != 1]
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

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        """The words."""
        return _WORDS

    def prompt(self, ask: Ask, draft: Draft, /) -> Prompt:
        """The template of this judgement, its texts as JSON strings."""
        return render(
            f"selfrag_{ask}",
            question=draft.question,
            said=quoted(draft.said) if draft.said else "none",
            passage=quoted(draft.passage) if draft.passage else "none",
            segment=quoted(draft.segment),
        )

    def marked(self, draft: Draft, /) -> str:
        """The text itself."""
        return f"{draft.marked} {draft.segment}".strip()

    def check(self, llm: LLM, /) -> None:
        """Raise `Unsupported` where the model cannot tell probabilities."""
        _check_can(llm)


def first_segment(reply: str) -> tuple[str, bool]:
    """The first sentence of a reply, reflection tokens apart, and whether it is the last one."""
    spoken = [" ".join(part.split()) for part in _ANY.split(safe(reply))]
    parts = [part for part in spoken if part]
    if not parts:
        return "", True
    ((start, end), *_) = sentence_spans(parts[0])
    return parts[0][start:end], len(parts) == 1 and end == len(parts[0])


def _tame(text: str) -> str:
    """A text on one line in which no reflection token stands."""
    return _ANY.sub(lambda found: f"({found[0][1:-1]})", " ".join(text.split()))


def _check_can(llm: LLM) -> None:
    lacking = sorted({"complete", "choose", "loglik"} - llm.can)
    if lacking:
        raise Unsupported(f"Self-RAG needs a model that can {', '.join(lacking)}: {llm.identity}")
