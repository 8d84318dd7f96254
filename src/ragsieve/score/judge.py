"""An LLM asked for a number: relevance, reflection, critique."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import LLM, Prompt, complete_parsed
from ragsieve.prompts import quoted, render, titled
from ragsieve.score.base import Scorer
from ragsieve.trace import note
from ragsieve.types import Query, Segment

TOP = 9  # the scale is 0 to 9: each a single token, so that one pass gives the odds of all
_SCALE = tuple(str(digit) for digit in range(TOP + 1))
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True)
class Relevance(Scorer):
    """How much a segment helps to answer, as an LLM rates it, in [0, 1].

    The rating is the expectation over the digits 0 to 9, divided by 9: one forward pass gives their
    probabilities, nothing is sampled, and the score is finer than a digit. A model that cannot
    `choose` writes a digit; where its reply stays unreadable, the segment gets the middle of the
    scale, and the trace says so. All segments go as one batch, the instructions and the question
    first, so that a backend that remembers what prompts begin with reads those once.

    Args:
        llm: Rates.
        titles: Whether a segment is read behind its document's title.

    Raises:
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Initial LLM Scoring".
    Differs: An expectation, not a written number.
    """

    llm: LLM
    titles: bool = True
    name: ClassVar[str] = "relevance"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Ratings in [0, 1], ``(len(segments),)``."""
        asked = [_asked(self.name, query, s, titles=self.titles) for s in segments]
        return _rated(self.llm, asked, [0.5] * len(asked))


@dataclass(frozen=True)
class Reflection(Scorer):
    """The same after the LLM has seen its own rating and may correct it, in [0, 1].

    A further turn of the chat in which `Relevance` asked. Where the reply stays unreadable, the
    rating stands.

    Args:
        llm: The one that rated.
        titles: As `Relevance` has it.

    Raises:
        InputError: If a segment has no score of `Relevance`.
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Self-Reflection".
    """

    llm: LLM
    titles: bool = True
    name: ClassVar[str] = "reflection"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Ratings in [0, 1], ``(len(segments),)``."""
        if bare := next((s for s in segments if Relevance.name not in s.scores), None):
            raise InputError(f"segment {bare.key!r} has no relevance: put score.Relevance before")
        first = [s.scores[Relevance.name] for s in segments]
        asked = [
            (
                *_asked(Relevance.name, query, segment, titles=self.titles),
                *render("reflection", score=str(round(value * TOP))),
            )
            for segment, value in zip(segments, first, strict=True)
        ]
        return _rated(self.llm, asked, first)


@dataclass(frozen=True)
class Critique(Relevance):
    """How much a segment helps to answer, as a critic rates it by itself, in [0, 1].

    As `Relevance`, in other words: the critic does not see its rating.

    Args:
        llm: The critic: another model, or the same one.
        titles: Whether a segment is read behind its document's title.

    Raises:
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Critic LLM Scoring".
    """

    name: ClassVar[str] = "critique"


def _asked(name: str, query: Query, segment: Segment, *, titles: bool) -> Prompt:
    passage = quoted(titled(segment) if titles else segment.text)
    return render(name, question=quoted(query.text), passage=passage)


def _rated(llm: LLM, prompts: Sequence[Prompt], otherwise: Sequence[float]) -> NDArray[np.float32]:
    """Ratings in [0, 1], ``(len(prompts),)``; ``otherwise`` where a reply stays unreadable."""
    if "choose" in llm.can:
        odds = np.array(llm.choose(prompts, [_SCALE] * len(prompts)))  # (prompts, TOP + 1)
        ratings = odds @ np.arange(TOP + 1) / TOP
        return np.asarray(ratings, np.float32)
    schema = {"type": "integer", "minimum": 0, "maximum": TOP}
    replies = complete_parsed(llm, prompts, _digit, max_tokens=16, schema=schema)
    written = []
    for reply, fallback in zip(replies, otherwise, strict=True):
        if isinstance(reply, BadReply):
            note(f"unreadable twice, so it counts as {fallback:.2f}: {reply}")
        written.append(fallback if isinstance(reply, BadReply) else reply / TOP)
    return np.array(written, np.float32)


def _digit(reply: str) -> int:
    if not _DIGIT.fullmatch(reply.strip()):
        raise BadReply(f"one digit from 0 to {TOP}", reply)
    return int(reply)
