"""Measures of a ranking of clues: AUC inside a question, and recall."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve_research.evaluate.auc import auc
from ragsieve_research.train.examples import TrainingExample

FIRST = (1, 3, 5)  # sentences among which a clue is looked for
TENTH = 0.1  # share of the words that is kept


class JudgedSentences(NamedTuple):
    """One question: its data set, and of each sentence the score, whether a clue, and words."""

    data: str
    scores: NDArray[np.float32]
    clues: NDArray[np.bool_]
    words: NDArray[np.int64]

    @classmethod
    def of(
        cls, example: TrainingExample, scores: Sequence[float] | NDArray[np.float32]
    ) -> JudgedSentences:
        """An example by the scores of its sentences."""
        clues = np.isin(np.arange(len(example.sentences)), example.clues)
        words = np.array([len(s.text.split()) for s in example.sentences])
        return cls(example.data, np.asarray(scores, np.float32), clues, words)

    @property
    def both(self) -> bool:
        """Whether there are both clues and other sentences."""
        return bool(0 < self.clues.sum() < len(self.clues))


def figures(judged: Iterable[JudgedSentences]) -> dict[str, dict[str, float]]:
    """For each data set, and as ``mean`` of these, figures in [0, 1], higher is better.

    ``questions`` that have clues and other sentences, which alone count; ``auc`` inside a question;
    ``recall_1``, ``_3``, ``_5``: share of questions with a clue among so many first sentences;
    ``recall_tenth``: among the first that fit a tenth of the words, the very first in any case.
    """
    rows = defaultdict(list)
    for question in judged:
        if question.both:
            rows[question.data].append(_of_one(question))
    means = {name: _mean(some) for name, some in rows.items()}
    mean = {"mean": _mean(list(means.values()))} if means else {}
    return {name: {"questions": len(rows[name]), **row} for name, row in means.items()} | mean


def _of_one(question: JudgedSentences) -> dict[str, float]:
    order = np.argsort(-question.scores, kind="stable")
    clues, used = question.clues[order], question.words[order].cumsum()
    tenth = max(1, int((used <= TENTH * used[-1]).sum()))
    recalls = {f"recall_{k}": float(clues[:k].any()) for k in FIRST}
    area = auc(question.clues, question.scores) or 0.0  # both kinds are there
    return {"auc": area, **recalls, "recall_tenth": float(clues[:tenth].any())}


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
