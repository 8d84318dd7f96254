"""`ragsieve train exit` and `ragsieve train provence`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ragsieve.cli import training
from ragsieve.cli.base import INFO, table

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
PROVENCE_HELP = """Train an encoder to rank documents and prune their sentences (Provence).

Of each token it learns whether its sentence holds a gold answer, of each document whether one of
its sentences does; what it learnt is written to FOLDER. A source is a JSONL file of questions with
documents and answers, or a name of `ragsieve datasets`; a salted hash divides its questions: half
to learn from, a tenth to choose by. An interrupted training goes on after its last epoch.

\b
  ragsieve train provence my-pruner questions.jsonl
  ragsieve train provence my-pruner nq popqa --data ~/questions --limit 1000 --epochs 2
  ragsieve ask --system provence --clues provence:my-pruner -q "Who sang it?" notes.txt
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


@click.command("provence", help=PROVENCE_HELP, short_help="An encoder for system provence.")
@training.given("SOURCE")
@click.option("--encoder", default="minilm", help="What it begins from: minilm, a folder, hub id.")
@training.DOCUMENTS
@training.LIMIT
@training.epochs(4)
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=1e-4,
    help="Of the encoder at its height.",
)
@training.SEED
@training.WORK
def provence_command(opened: training.Open, **options: Any) -> int:
    """Train, then say how good it is."""
    from ragsieve.train.provence import ProvencePlan, make_provence

    plan = ProvencePlan(**options)
    to = opened()
    with INFO.status("training …"):
        made = make_provence(to.folder, to.sources, plan, work=to.work)
    _said(made["validation"])
    to.written()
    return 0


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
