"""From a trained filter to one that promises that the answer survives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

import numpy as np

from ragsieve import trained
from ragsieve.datasets import Dataset
from ragsieve.datasets.parts import Part
from ragsieve.errors import InputError
from ragsieve.pipeline import Pipeline, System
from ragsieve.score import Clues
from ragsieve.train.lessons import Lesson, gather
from ragsieve.train.risk import Promise, Scored


def scored(
    system: System, sources: Sequence[Dataset], part: Part | Literal["all"] = "validation"
) -> Iterator[Scored]:
    """Questions as the extractor of a trained filter scores their sentences.

    Args:
        system: The filter; its extractor reads once.
        sources: Questions with gold answers.
        part: Which of them: none that the filter was trained on.

    Raises:
        InputError: If the filter's extractor gives no probabilities.
        ModelError: If it fails.
    """
    stages = system.stage.stages if isinstance(system.stage, Pipeline) else ()
    scorer = next((stage for stage in stages if isinstance(stage, Clues)), None)
    if scorer is None:
        raise InputError(
            "a filter to calibrate must score every sentence (form encoder or llm), its extractor "
            "only names some"
        )
    for example in gather(sources, part):
        lesson = Lesson.of(example)
        holds = np.zeros(len(lesson.sentences), np.bool_)
        holds[list(lesson.clues)] = True
        if len(holds):
            yield Scored(scorer.scores(lesson.query, lesson.sentences).astype(np.float64), holds)


def promise(folder: Path, made: Promise) -> None:
    """Let a trained filter cut where ``made`` says, and say so in its folder.

    Raises:
        InputError: If ``folder`` is no trained filter.
    """
    before = trained.read(folder)
    options = {**before.options, "min_score": made.cut, "min_keep": 0, "truncator": "none"}
    after = replace(before, options=options, cut=None, truncator=None, promise=asdict(made))
    trained.save(folder, after, {name: folder / name for name in after.folders})
