"""`ragsieve calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from ragsieve import models
from ragsieve.cli.base import FOLDER, INFO, info, warn
from ragsieve.cli.signature import command
from ragsieve.errors import InputError
from ragsieve.systems.base import SYSTEMS
from ragsieve_research import datasets
from ragsieve_research.cli.base import Data

if TYPE_CHECKING:
    from ragsieve_research.train.risk import Promise


@command("calibrate", short_help="Promise that the answer survives.")
def calibrate_command(
    name: Annotated[str, {"metavar": "FILTER"}],
    questions: Annotated[tuple[str, ...], {"metavar": "SOURCE..."}],
    *,
    data: Data = None,
    part: Annotated[
        Literal["train", "validation", "test", "all"] | None,
        {"show_default": "all of your own files, validation of others"},
    ] = None,
    keep_answer: float = 0.95,
    confidence: float | None = None,
    pruner: str = "pruner",
    output: Annotated[Path, FOLDER],
) -> None:
    """Cut a filter so that the answer survives as often as you ask.

    Sentences of at least a probability stay, and the probability is set on questions that the
    sentence pruner was not trained on: those of SOURCE… in the part that is named. The promise
    holds on average over such questions; with --confidence for this calibration, too.

    FILTER is finefilter: its sentence pruner is copied to --output, with thresholds for every
    --keep-answer that there are enough questions for. Questions may mark evidence, see `ragsieve
    train pruner --help`.

    \b
      ragsieve calibrate finefilter questions.jsonl --output my-pruner
      ragsieve filter --pruner pruner:my-pruner --keep-answer 0.9 -q "Who sang it?" notes.txt
      ragsieve calibrate finefilter mine.jsonl --output my-pruner --keep-answer 0.9 --confidence 0.9

    Args:
        part: all: of your own questions, if the pruner has seen none of them. Of named data sets it
            has seen train, and a promise on these does not hold for others.
        keep_answer: Over 0 and below 1.
        confidence: Over 0 and below 1; stricter.
        pruner: pruner, or pruner:FOLDER.
        output: A new folder for the pruner.
    """
    from ragsieve_research.train import evidence

    if name not in SYSTEMS or "keep_answer" not in SYSTEMS[name].options:
        raise InputError(f"what is calibrated must be finefilter, got {name!r}")
    sources = [datasets.load(one, folder=data) for one in questions]
    rule = {"keep_answer": keep_answer, "confidence": confidence}
    known = [source.name for source in sources if source.entry]
    if known and part in ("train", "all"):
        warn(f"--part {part}: what a pruner learned from {', '.join(known)} calibrates it too well")
    records = [*evidence.records(sources, part)]
    promise = _recalibrated(pruner, output, records, **rule)
    click.echo(
        f"promised: the answer survives in {promise.promised:.1%} of questions that have one\n"
        f"measured: {promise.measured:.1%} of {promise.questions}, at a probability of at least "
        f"{promise.cut:.4f}, {promise.kept:.1%} of the sentences kept"
    )


def _recalibrated(name: str, output: Path, records: Any, **rule: Any) -> Promise:
    """Write a copy of a pruner with other thresholds; the promise that it keeps."""
    from ragsieve.models.pruner import Pruner
    from ragsieve_research.train import promises, risk

    pruner = models.load(name)
    if not isinstance(pruner, Pruner):
        raise InputError(f"--pruner must be pruner or pruner:FOLDER, got {name!r}")
    promises.check_free(output)
    unscored = [promises.unscored(record) for record in records]  # too few are known without scores
    risk.calibrate(unscored, **rule)
    promises.possible(unscored, confidence=rule["confidence"])
    with INFO.status("scoring sentences …"):
        scored = promises.scored(pruner, records)
    promise = risk.calibrate(scored, **rule)
    promises.copy(pruner, output, scored, confidence=rule["confidence"])
    info(f"written: {output}")
    return promise
