"""Scorers by the gold answer in a segment: the string, its words, a model's trust in it.

A gold answer is known in training and to oracles only. Where a question has none, no segment has
anything of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.models.base import LLM
from ragsieve.prompts import context, render
from ragsieve.score.base import Scorer
from ragsieve.text import contains_answer, visible_answers, word_counts
from ragsieve.types import Query, Segment
from ragsieve_research.score.base import likelihood_gains, logistic

Answers = Mapping[str, Sequence[str]]
"""Gold answers by question."""


@dataclass(frozen=True, repr=False)
class _Measure(Scorer):
    """A scorer that knows gold answers, which no trace of a question should list."""

    least: ClassVar[float] = 1e-6
    """From which score on a segment has something of the answer."""

    def __repr__(self) -> str:
        shown = (f"{f.name}={_shown(getattr(self, f.name))}" for f in fields(self))
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Inclusion(_Measure):
    """1 where a segment holds a gold answer that is not yes or no, else 0.

    Args:
        answers: Gold answers by question.

    Source: FILCO (arXiv 2311.08377), section 2: string inclusion (StrInc).
    Differs: Strings are compared normalised and at word boundaries, not as lower-cased substrings.
    """

    answers: Answers
    name: ClassVar[str] = "inclusion"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """1 or 0, ``(len(segments),)``."""
        gold = visible_answers(self.answers.get(query.text, ()))
        return np.array([contains_answer(s.text, gold) for s in segments], np.float32)


@dataclass(frozen=True, repr=False)
class Overlap(_Measure):
    """F1 of a segment's words and the question's, or those of the nearest gold answer, in [0, 1].

    Args:
        answers: Gold answers by question; the question's own words count where None.

    Source: FILCO (arXiv 2311.08377), section 2: lexical overlap.
    Differs: Words are counted; the authors' code counts characters, by a slip as it seems. Scripts
        without spaces go by character here, too.
    """

    answers: Answers | None = None
    name: ClassVar[str] = "overlap"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """F1, ``(len(segments),)``."""
        wanted = [query.text] if self.answers is None else self.answers.get(query.text, ())
        gold = [word_counts(text) for text in wanted]
        counts = [word_counts(segment.text) for segment in segments]
        best = [max((word_f1(some, other) for other in gold), default=0.0) for some in counts]
        return np.array(best, np.float32)


@dataclass(frozen=True, repr=False)
class CXMI(_Measure):
    """Gain in likelihood of the gold answer by the segment, in [0, 1].

    The logistic function of `gains`: 0.5 where the segment makes no difference. CXMI is conditional
    cross-mutual information.

    Args:
        llm: A model that has `loglik`.
        answers: Gold answers by question; the first that is not blank counts.

    Raises:
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a segment does not fit its context.

    Source: FILCO (arXiv 2311.08377), section 2; the logistic function is that of the authors' code.
    Differs: The prompt is that of our reader.
    """

    llm: LLM
    answers: Answers
    name: ClassVar[str] = "cxmi"
    least: ClassVar[float] = 0.5

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Values of the logistic function, ``(len(segments),)``."""
        gold = self.answers.get(query.text, ())
        answer = next((text for text in gold if text.strip()), "")
        if not answer:
            return np.zeros(len(segments), np.float32)
        return np.asarray(logistic(gains(self.llm, query, segments, answer)), np.float32)


def gains(llm: LLM, query: Query, segments: Sequence[Segment], answer: str) -> NDArray[np.float64]:
    """By how much each segment alone raises the log-likelihood of ``answer``, in nats, ``(n,)``.

    Against the model's own, without a document. Both have the prompts of
    `ragsieve.answer.Reader`, in one call.

    Raises:
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a segment does not fit its context.
    """
    read = [render("reader", question=query.text, documents=context([s])) for s in segments]
    prompts = [*read, render("reader_closed", question=query.text, documents="")]
    return likelihood_gains(llm, prompts, [answer])[0][:, 0]


def _shown(value: object) -> str:
    return f"<of {len(value)} questions>" if isinstance(value, Mapping) else repr(value)


def word_f1(some: Counter[str], other: Counter[str]) -> float:
    """Harmonic mean of precision and recall of words, each as often as in both; in [0, 1].

    Source: SQuAD v1.1 (arXiv 1606.05250), section 6.1.
    """
    same = (some & other).total()
    return 2 * same / (some.total() + other.total()) if same else 0.0
