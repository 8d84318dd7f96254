"""Fine-tune an LLM to say whether a sentence helps, as `ragsieve.score.Helpful` asks it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from ragsieve.errors import InputError
from ragsieve.score.helpful import NO, YES, Helpful
from ragsieve.train.lessons import Lesson
from ragsieve.train.sft import Log, Sample, Tuning, tunable, tune

CLUES = 2  # of a question at most, each with one sentence that is none


def train_exit(
    folder: Path,
    lessons: Sequence[Lesson],
    validation: Sequence[Lesson],
    *,
    llm: str = "smollm2",
    window: int = 512,
    tuning: Tuning | None = None,
) -> Log:
    """Tune an LLM to say Yes of clues, and No of other sentences.

    ``Helpful(models.load(llm, adapter=folder))`` asks it.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.sft.tune`.
        lessons: Questions to learn from: those with both clues and other sentences.
        validation: Questions of the same kind, by which the best state is chosen.
        llm: A local model: ``"smollm2"``, ``"transformers:…"`` or ``"seq2seq:…"``.
        window: See `ragsieve.score.Helpful`.
        tuning: How; that of `Tuning` with 1 epoch where None.

    Returns:
        What happened, as `ragsieve.train.sft.tune` gives it.

    Raises:
        InputError: If an option breaks its rule, or no lesson of either kind has both clues and
            other sentences.
        ModelError: If the model cannot be loaded.

    Source: EXIT (arXiv 2412.12559), section 3.4: as many Yes as No, of the No as many from the
        documents of the clues as from others.
    Differs: A clue holds a gold answer; the paper has HotpotQA's supporting sentences. Of a
        question few sentences are taken, so that more questions are seen.
    """
    for name, given in (("lessons", lessons), ("validation", validation)):
        if not any(lesson.usable for lesson in given):
            raise InputError(f"{name} must have a question with clues and others, got {len(given)}")
    tuning = tuning or Tuning(epochs=1, checks=4)
    model = tunable(llm)
    scorer = Helpful(model, window)
    taught, checked = (
        [s for lesson in some if lesson.usable for s in samples(lesson, scorer, tuning.seed)]
        for some in (lessons, validation)
    )
    return tune(
        folder,
        taught,
        checked,
        llm=model,
        tuning=tuning,
        about={"part": "exit", "window": window},
    )


def samples(lesson: Lesson, scorer: Helpful, seed: int = 0) -> list[Sample]:
    """What ``scorer`` asks of some sentences of a question, with the word to reply.

    At most `CLUES` clues, and as many other sentences: in turns one of a document that has a clue,
    and one of a document that has none, while there are such.
    """
    chance = random.Random(f"{seed} {lesson.query.id} {lesson.query.text}")
    clues = {lesson.sentences[n].key for n in lesson.clues}
    holding = {lesson.sentences[n].document.id for n in lesson.clues}
    spans, prompts = scorer.asked(lesson.query, lesson.sentences)
    order = chance.sample(range(len(spans)), len(spans))
    yes = [n for n in order if spans[n].key in clues][:CLUES]
    others = [n for n in order if spans[n].key not in clues]
    near = [n for n in others if spans[n].document.id in holding]
    far = [n for n in others if spans[n].document.id not in holding]
    if chance.random() < 0.5:  # where an odd number is taken, neither kind leads
        near, far = far, near
    turns = [n for pair in zip(near, far, strict=False) for n in pair]
    no = list(dict.fromkeys([*turns, *near, *far]))[: len(yes)]
    return [Sample(prompts[n], YES) for n in yes] + [Sample(prompts[n], NO) for n in no]
