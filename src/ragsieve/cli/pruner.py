"""`ragsieve train pruner` and `ragsieve train exit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from rich.text import Text

from ragsieve.cli import training
from ragsieve.cli.base import INFO, progress, shown, table

EXIT_HELP = """Train an LLM to say which sentences help (EXIT), and write it to FOLDER.

It learns to reply Yes of a sentence that holds a gold answer, read in its document, and No of
others. A source is a JSONL file of questions with documents and answers, or a name of `ragsieve
datasets`; a salted hash divides its questions: half to learn from, a tenth to choose by. An
interrupted training goes on where it stopped.

\b
  ragsieve train exit my-extractor questions.jsonl
  ragsieve train exit my-extractor nq popqa --data ~/questions --limit 200 --layers 0.3
  ragsieve ask --system exit --model extractor=transformers:my-extractor -q "Who?" notes.txt
"""
PRUNER_HELP = """Train the sentence pruner of the default filter on your questions, into FOLDER.

It goes on from the weights that come with the package. A source is a JSONL file of questions with
documents, or a name of `ragsieve datasets`. Where a document has a key evidence, [[start, end], …]
in characters of its text, that is learned; else which sentences hold one of the question's answers.
A salted hash divides the questions: three quarters to learn from, an eighth to set the thresholds
of --keep-answer, an eighth to check. An interrupted training goes on where it stopped.

\b
  ragsieve train pruner my-pruner questions.jsonl
  ragsieve train pruner my-pruner questions.jsonl --epochs 5 --learning-rate 5e-5
  ragsieve train pruner my-pruner nq hotpotqa --data ~/questions --from minilm --limit 5000
  ragsieve filter --pruner pruner:my-pruner -q "Who sang it?" notes.txt
"""
NAMES = ("auc", "recall_1", "recall_3", "recall_5", "recall_tenth")


@click.command("exit", help=EXIT_HELP, short_help="An LLM for system exit.")
@training.given("SOURCE")
@training.LLM
@click.option("--window", type=click.IntRange(1), default=512, help="Tokens read of a document.")
@click.option(
    "--layers",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Upper share of the layers that is tuned; 1/3 takes about half the time.",
)
@training.DOCUMENTS
@training.LIMIT
@training.epochs(1)
@training.SEED
@training.MERGED
@training.WORK
def exit_command(opened: training.Open, **options: Any) -> int:
    """Train, then say how good it is."""
    from ragsieve.train.exit import ExitPlan, make_exit

    plan = ExitPlan(**options)
    to = opened()
    with INFO.status("training …"):
        made = make_exit(to.folder, to.sources, plan, work=to.work)
    _said({name: made[name] for name in ("before", "after")})
    to.written()
    return 0


@click.command("pruner", help=PRUNER_HELP, short_help="The default filter's sentence pruner.")
@training.given("SOURCE")
@click.option(
    "--from",
    "base",
    default="pruner",
    help="What it goes on from: pruner, pruner:FOLDER; or an encoder's name, folder or hub id.",
)
@training.LIMIT
@training.epochs(3)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=3e-5,
    help="At its height.",
)
@click.option("--batch", type=click.IntRange(1), default=4, help="Questions a step.")
@training.SEED
@training.WORK
def pruner_command(opened: training.Open, **options: Any) -> int:
    """Train, calibrate, then say how good it is and was."""
    from ragsieve.train.pruner_training import PrunerPlan, make_pruner

    plan = PrunerPlan(**options)
    to = opened()
    with progress() as bars:
        bar = bars.add_task("reading", total=None)
        mean: float | None = None

        def tell(step: int, steps: int, loss: float) -> None:
            nonlocal mean
            mean = loss if mean is None else 0.9 * mean + 0.1 * loss
            bars.update(bar, total=steps, completed=step, description=f"loss {mean:.3f}")

        made = make_pruner(to.folder, to.sources, plan, work=to.work, warn=_warn, on_progress=tell)
    rows = [
        (name, f"{row['auc']:.3f}", f"{row['survival']:.1%}", f"{row['words']:.1%}",
         f"{row['questions']}")
        for name, row in made["figures"].items()
    ]  # fmt: skip
    table(("", "AUC", "evidence survives", "words kept", "questions"), rows)
    promises = made["promises"]
    INFO.print(
        f"at --keep-answer {made['keep_answer']}; calibrated from {promises[0]} to {promises[-1]} "
        f"on {made['calibrated_on']} other questions"
    )
    to.written()
    return 0


def _warn(line: str) -> None:
    INFO.print(Text(f"warning: {shown(line)}", style="yellow"))


def _said(figures: Mapping[str, Mapping[str, float]]) -> None:
    """Figures of questions that were not learned from."""
    rows = [
        (
            name,
            *(f"{row[n]:.3f}" for n in NAMES),
            f"{row['questions']:.0f}" if "questions" in row else "",
        )
        for name, row in figures.items()
    ]
    table(("", *(name.replace("_", " ") for name in NAMES), "questions"), rows)
