"""FILCO's filter model: FineFilter's extractor, trained on the sentences that a measure chose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ragsieve.errors import InputError
from ragsieve.models.base import LLM
from ragsieve.pipeline import best_first
from ragsieve.score.inclusion import CXMI, Answers, Inclusion, Overlap
from ragsieve.train.examples import TrainingExample
from ragsieve.train.options import Count, Options
from ragsieve.types import Example

Measure = Literal["strinc", "lexical", "cxmi"]


@dataclass(frozen=True)
class Silver(Options):
    """The sentences that a filter model should write: the best by a measure of the gold answer.

    ``ragsieve train writer`` makes of such examples the filter model that `ragsieve.systems.filco`
    takes. Where no sentence has anything of the answer, there is none to write.

    Args:
        measure: String inclusion, overlap of words with the gold answer, or CXMI.
        llm: The generator, for CXMI.
        k: Sentences of a question at most; at least 1, the paper's.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: When it measures, if the model fails.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3.
    Differs: The best of all sentences, not of each passage.
    """

    measure: Measure
    llm: LLM | None = None
    k: Count = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure == "cxmi" and self.llm is None:
            raise InputError("measure='cxmi' needs llm, the generator")

    def __call__(self, example: TrainingExample) -> TrainingExample:
        """The example whose clues are these sentences."""
        scorer = self._scorer({example.query.text: example.answers})
        scored = scorer(example.query, example.sentences)
        place = {s.key: n for n, s in enumerate(scored)}
        chosen = [s for s in best_first(scored)[: self.k] if s.score >= scorer.least]
        return replace(example, chosen=tuple(place[s.key] for s in chosen), useful={})

    def labels(self, example: Example) -> dict[str, list[int]]:
        """``clues``: their places, best first."""
        return {"clues": [*self(TrainingExample.of(example)).clues]}

    def _scorer(self, answers: Answers) -> Inclusion | Overlap | CXMI:
        if self.measure == "cxmi" and self.llm is not None:
            return CXMI(self.llm, answers)
        return Inclusion(answers) if self.measure == "strinc" else Overlap(answers)
