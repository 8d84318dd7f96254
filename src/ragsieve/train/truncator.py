"""Fine-tune an LLM to choose the cut point, as `ragsieve.select.Truncate` asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from ragsieve.models.base import LLM
from ragsieve.select import Truncate
from ragsieve.select.truncate import SHOWN
from ragsieve.train.examples import TrainingExample
from ragsieve.train.sft import Log, Sample, Tuning, tunable, tune
from ragsieve.types import Segment


def train_truncator(
    folder: Path,
    lessons: Sequence[TrainingExample],
    validation: Sequence[TrainingExample],
    *,
    llm: str = "smollm2",
    max_clues: int = SHOWN,
    measured: int = 200,
    tuning: Tuning | None = None,
) -> Log:
    """Tune an LLM to say how many of the ranked sentences the generator needs, 0 where none helps.

    ``models.load(llm, adapter=folder)`` is the tuned model.

    Args:
        folder: Becomes the adapter; see `ragsieve.train.sft.tune`.
        lessons: Questions with labels; those without a ranking teach nothing.
        validation: Such questions, by which the best state is chosen.
        llm: A local model: ``"smollm2"``, ``"transformers:…"`` or ``"seq2seq:…"``.
        max_clues: So many of the best are shown; see `select.Truncate`.
        measured: How many validation questions the recipe's figures are taken from, 0 for none.
        tuning: How; the paper's where None.

    Returns:
        What happened, as `ragsieve.train.sft.tune` gives it.

    Raises:
        InputError: If an option breaks its rule, or no lesson has a cut point.
        ModelError: If the model cannot be loaded.

    Source: FineFilter (arXiv 2502.11811v4), section 4.3 and appendix A.
    """
    model = tunable(llm)
    truncate = Truncate(model, max_clues=max_clues)
    checked = [lesson for lesson in validation if samples(lesson, truncate)]
    return tune(
        folder,
        [s for lesson in lessons for s in samples(lesson, truncate)],
        [s for lesson in checked for s in samples(lesson, truncate)],
        llm=model,
        tuning=tuning or Tuning(),
        about={"part": "truncator", "max_clues": max_clues},
        measure=(lambda llm: figures(llm, checked[:measured], max_clues)) if measured else None,
    )


def samples(lesson: TrainingExample, truncate: Truncate) -> list[Sample]:
    """What ``truncate`` asks of a question, with its cut point; none where that is not known."""
    shown = _ranked(lesson)[: truncate.max_clues]
    if lesson.k is None or not shown or lesson.k > len(shown):
        return []
    return [Sample(truncate.asked(lesson.query, shown), str(lesson.k))]


def figures(llm: LLM, lessons: Sequence[TrainingExample], max_clues: int = SHOWN) -> dict[str, Any]:
    """How well a model chooses the cut points of lessons that have one.

    Returns:
        ``questions``; ``accuracy``: the label itself is chosen; ``survives``: at least the label
        where that is over 0, 0 where it is 0; ``survives_over_0`` and ``survives_0``: the same of
        either kind of label alone; all in [0, 1]; ``kept``: sentences, and ``seconds``, a question;
        ``labels`` and ``chosen``: how often each K.
    """
    truncate = Truncate(llm, max_clues=max_clues)
    start = perf_counter()
    chosen = [len(truncate(lesson.query, _ranked(lesson))) for lesson in lessons]
    seconds = perf_counter() - start
    pairs = [(lesson.k or 0, k) for lesson, k in zip(lessons, chosen, strict=True)]
    right = [k >= label if label else k == 0 for label, k in pairs]
    needed = [good for good, (label, _) in zip(right, pairs, strict=True) if label]
    empty = [good for good, (label, _) in zip(right, pairs, strict=True) if not label]
    return {
        "questions": len(lessons),
        "accuracy": _share([label == k for label, k in pairs]),
        "survives": _share(right),
        "survives_over_0": _share(needed),
        "survives_0": _share(empty),
        "kept": sum(chosen) / max(1, len(chosen)),
        "seconds": seconds / max(1, len(chosen)),
        "labels": dict(sorted(Counter(label for label, _ in pairs).items())),
        "chosen": dict(sorted(Counter(chosen).items())),
    }


def _ranked(lesson: TrainingExample) -> list[Segment]:
    return [lesson.sentences[n] for n in lesson.ranking]


def _share(right: Sequence[bool]) -> float:
    return sum(right) / max(1, len(right))
