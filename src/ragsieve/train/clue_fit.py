"""How clue readers are trained: checkpoints, the best epoch, and a log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Protocol

import torch
import transformers

from ragsieve.errors import InputError
from ragsieve.models.clue_windows import Layout, Setter
from ragsieve.train.clue_data import Item, Questions, batch
from ragsieve.train.clue_figures import Judged, figures
from ragsieve.train.clue_prior import undivided
from ragsieve.train.lessons import Lesson
from ragsieve.train.resuming import Clock, last_checkpoint

QUESTIONS = 4  # that a step reads
WARMUP = 0.06  # of all steps


class Plan(Protocol):
    """A dataclass of all that a run's checkpoints depend on, beside its lessons."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def epochs(self) -> int:
        """At least 1."""

    @property
    def learning_rate(self) -> float:
        """At its height, over 0."""

    @property
    def layout(self) -> Layout:
        """Windows that are read."""

    @property
    def seed(self) -> int:
        """Of all chance."""


class Learner(torch.nn.Module):
    """Takes what `ragsieve.train.clue_data.batch` makes; gives ``loss`` and ``logits``."""

    def optimizer(self, learning_rate: float) -> torch.optim.Optimizer:
        """Of all weights that learn."""
        raise NotImplementedError


def claim(work: Path, plan: Plan, lessons: Sequence[Lesson]) -> None:
    """Note in ``work`` what its checkpoints are of, or check that it says the same."""
    asked = "\n".join(f"{lesson.query.id} {sorted(lesson.useful.items())}" for lesson in lessons)
    digest = hashlib.sha256(asked.encode()).hexdigest()
    told = json.dumps({**asdict(plan), "lessons": digest}, indent=1)
    note = work / "run.json"
    if note.is_file() and note.read_text(encoding="utf-8") != told:
        raise InputError(f"work must be a new folder or this run's, got another's: {str(work)!r}")
    work.mkdir(parents=True, exist_ok=True)
    note.write_text(told, encoding="utf-8")


def fit(
    learner: Learner,
    learned: Sequence[Item],
    checked: Sequence[Item],
    sets: Setter,
    plan: Plan,
    work: Path,
) -> list[dict[str, float]]:
    """Train, from the last checkpoint if there is one; the epoch with the best AUC stays.

    Args:
        learner: Changed in place.
        learned: Questions to learn from.
        checked: Questions that choose the epoch.
        sets: Sets their windows.
        plan: Epochs, learning rate, windows and seed.
        work: Folder for checkpoints.

    Returns:
        The log, in order, each with ``step``, ``epoch`` and ``seconds``, and with either ``loss``,
        the mean since the last, or ``validation``, the mean AUC inside a question, in [0, 1].
    """
    questions = Questions(learned, sets, plan.layout, seed=plan.seed)

    def metrics(found: transformers.EvalPrediction) -> dict[str, float]:
        rows = zip(checked, found.predictions, strict=True)
        judged = [
            Judged(item.data, row[: len(item.targets)], item.targets > 0, item.words)
            for item, row in rows
        ]
        return figures(judged)["mean"]

    trainer = transformers.Trainer(
        learner,
        undivided(_arguments(work / "encoder", plan)),
        batch,
        questions,
        Questions(checked, sets, plan.layout),
        compute_metrics=metrics,
        callbacks=[_Progress(questions)],
        optimizers=(learner.optimizer(plan.learning_rate), None),
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=last_checkpoint(work / "encoder"))
    return [row for entry in trainer.state.log_history if (row := _row(entry))]


def _arguments(output: Path, plan: Plan) -> transformers.TrainingArguments:
    return transformers.TrainingArguments(
        output_dir=str(output),
        per_device_train_batch_size=QUESTIONS,
        per_device_eval_batch_size=2 * QUESTIONS,
        num_train_epochs=plan.epochs,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=WARMUP,  # of all
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="auc",
        logging_steps=25,
        report_to=[],
        seed=plan.seed,
        remove_unused_columns=False,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )


class _Progress(Clock):
    """Tells the questions which epoch it is, and the log how long it took."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Each epoch shows other documents."""
        self._questions.epoch = int(state.epoch or 0)


def _row(entry: dict[str, float]) -> dict[str, float]:
    """What of an entry of Trainer's log is told; nothing where it is a summary."""
    row: dict[str, float] = {n: entry[n] for n in ("step", "epoch", "loss") if n in entry}
    if "eval_auc" in entry:
        row["validation"] = entry["eval_auc"]
    return {**row, "seconds": entry["seconds"]} if len(row) > 2 else {}
