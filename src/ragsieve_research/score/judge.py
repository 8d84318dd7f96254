"""Ratings of an LLM: relevance, reflection, critique."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.models.base import LLM, Prompt
from ragsieve.prompts import render, titled
from ragsieve.score.base import UNREAD, Scorer
from ragsieve.types import Query, Segment
from ragsieve_research.models.choices import odds
from ragsieve_research.models.parsed import readable
from ragsieve_research.prompts import quoted
from ragsieve_research.score.base import scores_of

TOP = 9  # the scale is 0 to 9: each a single token, so that one pass gives the odds of all
_SCALE = tuple(str(digit) for digit in range(TOP + 1))


class _Rating(Scorer):
    """A scorer whose score of a segment may be unknown."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        values = self.scores(query, segments)
        known = values[~np.isnan(values)]
        middle = float(known.mean()) if known.size else 0.5
        return [
            s.scored(UNREAD, middle) if np.isnan(value) else s.scored(self.name, value)
            for s, value in zip(segments, values, strict=True)
        ]


@dataclass(frozen=True)
class Relevance(_Rating):
    """Helpfulness of a segment for the answer, rated by an LLM, in [0, 1].

    The rating is the expectation over the digits 0 to 9, divided by 9: one forward pass gives their
    probabilities, nothing is sampled, and the score is finer than a digit. A model that cannot
    `choose` writes it, as a digit or on another scale that it names (``8/10``, ``Score: 80%``).
    Where its reply stays unreadable, or all digits are improbable, the rating is unknown: the
    segment has the mean of the others' as score ``unread``, which `Mean` leaves out.

    All segments go as one batch, the instructions and the question first, so that a backend that
    remembers what prompts begin with reads those once.

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
        """Ratings in [0, 1], ``(len(segments),)``; NaN where one is unknown."""
        return _rated(self, [_prompt(self.name, query, s) for s in segments])


@dataclass(frozen=True)
class Reflection(_Rating):
    """The same after the LLM has seen its own rating and may correct it, in [0, 1].

    A further turn of the chat of `Relevance`. Where the reply stays unreadable, or there is no
    rating to correct, it is unknown, as there.

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
        """Ratings in [0, 1], ``(len(segments),)``; NaN where one is unknown."""
        rated = [s for s in segments if Relevance.name in s.scores or UNREAD not in s.scores]
        first = scores_of(rated, Relevance.name).tolist()
        prompts = [
            (
                *_prompt(Relevance.name, query, segment),
                *render("reflection", score=str(round(value * TOP))),
            )
            for segment, value in zip(rated, first, strict=True)
        ]
        known = dict(zip(map(id, rated), _rated(self, prompts), strict=True))
        return np.array([known.get(id(s), np.nan) for s in segments], np.float32)


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


def _rated(judge: Relevance | Reflection, prompts: Sequence[Prompt]) -> NDArray[np.float32]:
    """Ratings in [0, 1], ``(len(prompts),)``; NaN, noted, where one is unknown."""
    unknown = [np.nan] * len(_SCALE)
    rows = odds(judge.llm, prompts, [_SCALE] * len(prompts))
    meaning = "a rating is left out of the mean"
    table = np.array([readable(row, unknown, meaning) for row in rows])  # (prompts, TOP + 1)
    ratings = np.asarray(table.reshape(-1, TOP + 1) @ np.arange(TOP + 1) / TOP, np.float32)
    if np.isnan(ratings).sum() > sum(row is None for row in rows):
        got = " ".join(repr(ratings).split())
        raise ModelError(f"{judge!r} must give {len(rows)} finite scores, got {got:.100}")
    return ratings
