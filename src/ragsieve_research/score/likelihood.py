"""Likelihood of the question given a segment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.models.base import LLM
from ragsieve.prompts import render, titled
from ragsieve.score.base import Scorer
from ragsieve.types import Query, Segment
from ragsieve_research.prompts import quoted
from ragsieve_research.score.base import likelihood_gains, logistic


@dataclass(frozen=True)
class Likelihood(Scorer):
    """Gain in likelihood of the question by the segment, to an LLM, in [0, 1].

    The logistic function of the gain in log-likelihood per token of the question: 0.5 where the
    segment makes no difference. Nothing is written. Models that are too small to rate a passage
    still tell by this which one a question belongs to.

    Args:
        llm: A model that has `loglik`.

    Raises:
        Unsupported: If the model has no `loglik`.
        ModelError: If the model fails, or a segment does not fit its context.

    Source: Unsupervised passage reranking (arXiv 2204.07496), section 2.2.
    Differs: Relative to the question's likelihood without a passage, so that it is comparable
        between questions; the order of a question's segments is the same.
    """

    llm: LLM
    name: ClassVar[str] = "likelihood"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Likelihoods, ``(len(segments),)``."""
        texts = [titled(s) for s in segments]
        prompts = [*(render("asks", passage=quoted(text)) for text in texts), render("asks_closed")]
        nats, tokens = likelihood_gains(self.llm, prompts, [query.text])
        return np.asarray(logistic(nats[:, 0] / max(1, tokens)), np.float32)
