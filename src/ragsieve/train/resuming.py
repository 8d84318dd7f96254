"""What every training by transformers' Trainer shares: quiet, resumed, with a clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragsieve.errors import needs_extra

with needs_extra("train"):
    import transformers


QUIET: Mapping[str, Any] = {"report_to": [], "disable_tqdm": True, "log_level": "error"}
"""Training arguments under which a trainer prints nothing and reports to nobody."""


def run_trainer(trainer: transformers.Trainer, work: Path) -> list[dict[str, Any]]:
    """Train from the last checkpoint in ``work``; the log, with ``seconds`` in each entry."""
    trainer.add_callback(Clock())
    trainer.remove_callback(transformers.PrinterCallback)
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
