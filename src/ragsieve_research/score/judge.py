"""Ratings of an LLM: relevance, reflection, critique."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import BadReply
from ragsieve.models.base import LLM, Prompt, complete_parsed, readable
from ragsieve.prompts import quoted, render, titled
from ragsieve.score.base import Scorer, scores_of
from ragsieve.types import Query, Segment

TOP = 9  # the scale is 0 to 9: each a single token, so that one pass gives the odds of all
_SCALE = tuple(str(digit) for digit in range(TOP + 1))
_VALUE = r"[0-9]+(?:\.[0-9]+)?"
_ALONE = re.compile(rf"({_VALUE}%?)(?:(?:\s+[-–—]\s+|\s*[(:,;]\s*)\D*)?", re.ASCII)  # "7 (good)"
_SCALED = re.compile(rf"(?<![\w.,/-])({_VALUE})\s*(?:/|out of)\s*([0-9]+)(?![\w/]|[.,][0-9])")
_NAMED = re.compile(
    r"\b(?:score|rating|rate|relevance|digit)\b(?:\s*\([^()]*\))?\W{0,4}"
    rf"(?:(?:it|is|as|of|be)\W{{1,3}}){{0,2}}(?<![\w.,/-])({_VALUE}%?)(?![\w/]|[.,–-][0-9])",
    re.IGNORECASE,
)
_SCALES = (1, 5, TOP, 10, 100)  # what a rating out of another number is, is not known


@dataclass(frozen=True)
class Relevance(Scorer):
    """Helpfulness of a segment for the answer, rated by an LLM, in [0, 1].

    The rating is the expectation over the digits 0 to 9, divided by 9: one forward pass gives their
    probabilities, nothing is sampled, and the score is finer than a digit. A model that cannot
    `choose` writes it, as a digit or on another scale that it names (``8/10``, ``Score: 80%``);
    where its reply stays unreadable, the segment gets the middle of the scale, and the trace says
    so. All segments go as one batch, the instructions and the question
    first, so that a backend that remembers what prompts begin with reads those once.

    Args:
        llm: Rates.

    Raises:
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Initial LLM Scoring".
    Differs: An expectation, not a written number.
    """

    llm: LLM
    name: ClassVar[str] = "relevance"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Ratings in [0, 1], ``(len(segments),)``."""
        prompts = [_prompt(self.name, query, s) for s in segments]
        return _rated(self.llm, prompts, [0.5] * len(prompts))


@dataclass(frozen=True)
class Reflection(Scorer):
    """The same after the LLM has seen its own rating and may correct it, in [0, 1].

    A further turn of the chat of `Relevance`. Where the reply stays unreadable, the
    rating stands.

    Args:
        llm: The one that rated.

    Raises:
        InputError: If a segment has no score of `Relevance`.
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Self-Reflection".
    """

    llm: LLM
    name: ClassVar[str] = "reflection"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Ratings in [0, 1], ``(len(segments),)``."""
        first = scores_of(segments, Relevance.name).tolist()
        prompts = [
            (
                *_prompt(Relevance.name, query, segment),
                *render("reflection", score=str(round(value * TOP))),
            )
            for segment, value in zip(segments, first, strict=True)
        ]
        return _rated(self.llm, prompts, first)


@dataclass(frozen=True)
class Critique(Relevance):
    """Helpfulness of a segment, rated by a critic on its own, in [0, 1].

    As `Relevance`, in other words: the critic does not see its rating.

    Args:
        llm: The critic: another model, or the same one.

    Raises:
        ModelError: If the model fails, or a segment does not fit its context.

    Source: ChunkRAG (arXiv 2410.19572), section 3, "Critic LLM Scoring".
    """

    name: ClassVar[str] = "critique"


def _prompt(name: str, query: Query, segment: Segment) -> Prompt:
    return render(name, question=quoted(query.text), passage=quoted(titled(segment)))


def _rated(llm: LLM, prompts: Sequence[Prompt], otherwise: Sequence[float]) -> NDArray[np.float32]:
    """Ratings in [0, 1], ``(len(prompts),)``; ``otherwise`` where a reply stays unreadable."""
    if "choose" in llm.can:
        odds = np.array(llm.choose(prompts, [_SCALE] * len(prompts)))  # (prompts, TOP + 1)
        return np.asarray(odds @ np.arange(TOP + 1) / TOP, np.float32)
    schema = {"type": "integer", "minimum": 0, "maximum": TOP}
    replies = complete_parsed(llm, prompts, _rating, max_tokens=16, schema=schema)
    pairs = zip(replies, otherwise, strict=True)
    ratings = [readable(reply, value, f"it counts as {value:.2f}") for reply, value in pairs]
    return np.array(ratings, np.float32)


def _rating(reply: str) -> float:
    """Rating of a reply, in [0, 1], on the scale that it names: ``7``, ``8/10``, ``Score: 80%``.

    One with several ratings that differ is unreadable, as is a number without a word for it in a
    sentence.
    """
    text = reply.strip(" \t\r\n*_`\"'.()[]")
    ratings = {_on_scale(value, top) for value, top in _SCALED.findall(reply)}
    if not ratings:
        alone = None if reply.lstrip().startswith("-") else _ALONE.fullmatch(text)
        ratings = {_by_itself(value) for value in ([alone[1]] if alone else _NAMED.findall(reply))}
    (rating,) = ratings if len(ratings) == 1 else (None,)
    if rating is None:
        raise BadReply(f"one digit from 0 to {TOP}", reply)
    return rating


def _on_scale(value: str, top: str) -> float | None:
    known = int(top) in _SCALES and float(value) <= int(top)
    return float(value) / int(top) if known else None


def _by_itself(value: str) -> float | None:
    """Of a number without a scale: a share, a digit, or 10, which is the top of another scale."""
    number = float(value.rstrip("%"))
    if value.endswith("%"):
        return number / 100 if number <= 100 else None
    if "." in value and number <= 1:
        return number
    return number / TOP if number <= TOP else 1.0 if number == 10 else None
