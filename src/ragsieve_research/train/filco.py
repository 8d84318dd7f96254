"""FILCO's filter model: FineFilter's extractor, trained on the sentence that a measure chose."""

from dataclasses import replace
from typing import Literal

from ragsieve.models.base import LLM
from ragsieve.system import best_first
from ragsieve_research.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve_research.train.examples import TrainingExample

Measure = Literal["strinc", "lexical", "cxmi"]


def silver(example: TrainingExample, measure: Measure, llm: LLM) -> TrainingExample:
    """The example whose clue is the sentence that a filter model should write.

    ``ragsieve train writer`` makes of such examples the filter model that
    `ragsieve_research.systems.filco` takes. Where no sentence has anything of the answer, there is
    none to write.

    Args:
        example: A question with sentences.
        measure: What the best sentence has of the gold answer: it includes it, overlaps in words,
            or makes it likelier (CXMI).
        llm: The generator, for CXMI.

    Raises:
        ModelError: If the model fails.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3.
    Differs: The best of all sentences, not of each passage.
    """
    answers = {example.query.text: example.answers}
    scorer: Inclusion | Overlap | CXMI
    if measure == "cxmi":
        scorer = CXMI(llm, answers)
    else:
        scorer = Inclusion(answers) if measure == "strinc" else Overlap(answers)
    scored = scorer(example.query, example.sentences)
    best = [s.key for s in best_first(scored)[:1] if s.score >= scorer.least]
    chosen = tuple(n for n, s in enumerate(scored) if s.key in best)
    return replace(example, chosen=chosen, useful={})
