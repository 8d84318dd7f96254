"""Parts that all trainings by transformers' Trainer share: quiet, resumed, timed, written down."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ragsieve.errors import needs_extra

with needs_extra("train"):
    import transformers

from ragsieve.files import replace_lines, writing
from ragsieve_research.artifacts.folder import ordinary
from ragsieve_research.train.artifacts import RECIPE
from ragsieve_research.train.run import digest

Log = list[dict[str, Any]]

QUIET: Mapping[str, Any] = {"report_to": [], "disable_tqdm": True, "log_level": "error"}
"""Training arguments under which a trainer prints nothing and reports to nobody."""

_NAMES = {name: name for name in ("step", "epoch", "seconds", "loss")} | {
    "eval_loss": "validation_loss",
    "eval_rewards/accuracies": "accuracy",
    "eval_first": "first",
    "eval_pairs": "pairs",
    "learning_rate": "lr",
    "num_input_tokens_seen": "tokens",
}


def checkpoints(folder: Path, *inputs: object) -> Path:
    """Path of checkpoints, by the ``repr`` of all inputs; another run's are never taken up."""
    return folder.with_name(f".{folder.name}.{digest(*inputs)}.work")


def finish(
    trainer: transformers.Trainer,
    folder: Path,
    work: Path,
    *,
    save: Callable[[Any, Path], object],
    recipe: Callable[[], Mapping[str, Any]],
) -> Log:
    """Run a trainer, write what it learned into ``folder``, and remove its checkpoints.

    Args:
        trainer: Ready to train.
        folder: Gets weights and ``recipe.json``.
        work: Checkpoints; a run that was killed goes on from the last.
        save: Writes a model to a folder.
        recipe: Called when it is written: what ``recipe.json`` says beside the log.

    Returns:
        Entries with ``step``, ``epoch``, ``seconds`` and what was logged there.
    """
    log = [entry for known in run_trainer(trainer, work) if (entry := _entry(known))]
    main = trainer.is_world_process_zero()
    if main:
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            save(trainer.model, folder)
            ordinary(folder)
    trainer.accelerator.wait_for_everyone()
    if main:
        text = json.dumps({**recipe(), "log": log}, indent=1, ensure_ascii=False) + "\n"
        replace_lines(folder / RECIPE, [text.encode()])
        shutil.rmtree(work, ignore_errors=True)
    return log


def _entry(known: Mapping[str, Any]) -> dict[str, Any]:
    """A log entry of transformers in our words; empty where it holds no result."""
    if not {"loss", "eval_loss", "eval_pairs"} & known.keys():
        return {}
    return {ours: known[theirs] for theirs, ours in _NAMES.items() if theirs in known}


def run_trainer(trainer: transformers.Trainer, work: Path) -> list[dict[str, Any]]:
    """Train from the last checkpoint in ``work``; the log, with ``seconds`` in each entry."""
    trainer.add_callback(Clock())
    trainer.remove_callback(transformers.PrinterCallback)
    with writing(work):
        trainer.train(resume_from_checkpoint=last_checkpoint(work))
    return trainer.state.log_history


def last_checkpoint(work: Path) -> str | None:
    """The last checkpoint in ``work`` that is whole: its state is written last."""
    whole = [file.parent for file in work.glob("checkpoint-*/trainer_state.json")]
    return str(max(whole, key=lambda f: int(f.name.partition("-")[2]))) if whole else None


class Clock(transformers.TrainerCallback):
    """Adds to each entry of the log the seconds since the run began, killed starts included."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin where the start that is gone on with ended."""
        past = max((entry.get("seconds", 0.0) for entry in state.log_history), default=0.0)
        self._began = time.monotonic() - past

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Add the seconds to the entry that was just written."""
        state.log_history[-1]["seconds"] = round(time.monotonic() - self._began, 1)
