"""FILCO's filter model: FineFilter's extractor, taught the sentences that a measure chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ragsieve.errors import InputError
from ragsieve.models.base import LLM
from ragsieve.pipeline import Stage, best_first
from ragsieve.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve.train.lessons import Lesson
from ragsieve.train.recomp import Chosen

Measure = Literal["strinc", "lexical", "cxmi"]
LEAST: dict[Measure, float] = {"strinc": 0.5, "lexical": 1e-6, "cxmi": 0.5}


def filco_lessons(
    lessons: Sequence[Lesson], measure: Measure, *, llm: LLM | None = None, k: int = 1
) -> list[Lesson]:
    """Lessons whose clues are the ``k`` best sentences by a measure of the gold answer.

    ``ragsieve.train.extractor.train_extractor(folder, …, mode="write")`` makes of them the filter
    model that `ragsieve.systems.filco` takes. Where no sentence has anything of the answer, there
    is none to write.

    Args:
        lessons: Questions with sentences and gold answers.
        measure: String inclusion, overlap of words with the gold answer, or CXMI.
        llm: The generator, for CXMI.
        k: Sentences of a question; at least 1, the paper's.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model fails.

    Source: FILCO (arXiv 2311.08377), sections 2 and 3.
    Differs: The best of all sentences, not of each passage.
    """
    if measure not in get_args(Measure):
        raise InputError(f"measure must be one of {', '.join(get_args(Measure))}, got {measure!r}")
    if k < 1:
        raise InputError(f"k must be at least 1, got {k!r}")
    if measure == "cxmi" and llm is None:
        raise InputError("measure='cxmi' needs llm, the generator")
    found: list[Lesson] = []
    for lesson in lessons:
        scored = _measured(lesson, measure, llm)(lesson.query, lesson.sentences)
        place = {s.key: n for n, s in enumerate(scored)}
        best = [place[s.key] for s in best_first(scored)[:k] if s.score >= LEAST[measure]]
        found.append(Chosen.by(lesson, best, {}))
    return found


def _measured(lesson: Lesson, measure: Measure, llm: LLM | None) -> Stage:
    answers = {lesson.query.text: lesson.answers}
    if measure == "cxmi" and llm is not None:
        return CXMI(llm, answers)
    return Inclusion(answers) if measure == "strinc" else Overlap(answers)
