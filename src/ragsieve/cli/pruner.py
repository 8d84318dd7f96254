"""`ragsieve train exit` and `ragsieve train provence`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ragsieve import datasets
from ragsieve.cli.base import INFO, shown, table
from ragsieve.cli.train import DATA, FOLDER, SOURCES, WORK, _places

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
DOCUMENTS = click.option(
    "--documents", type=click.IntRange(1), default=5, help="So many of a question."
)
LIMIT = click.option("--limit", type=click.IntRange(1), help="Learn from so many questions only.")
SEED = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all chance.")
NAMES = ("auc", "recall_1", "recall_3", "recall_5", "recall_tenth")


@click.command("exit", help=EXIT_HELP, short_help="An LLM for system exit.")
@FOLDER
@SOURCES
@DATA
@click.option("--llm", default="smollm2", help="The local model that is tuned, by LoRA.")
@click.option("--window", type=click.IntRange(1), default=512, help="Tokens read of a document.")
@click.option(
    "--layers",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Upper share of the layers that is tuned; 1/3 takes about half the time.",
)
@DOCUMENTS
@LIMIT
@click.option("--epochs", type=click.IntRange(1), default=1, help="How often all are read.")
@SEED
@click.option("--merged/--adapter", default=True, help="The whole model, or the adapter alone.")
@WORK
def exit_command(
    folder: Path, sources: tuple[str, ...], data: Path | None, work: Path | None, **options: Any
) -> int:
    """Train, then say how good it is."""
    from ragsieve.train.exit import ExitPlan, make_exit

    plan = ExitPlan(**options)
    found = [datasets.load(name, folder=data) for name in sources]
    folder, work = _places(folder, work)
    with INFO.status("training …"):
        made = make_exit(folder, found, plan, work=work)
    _said({name: made[name] for name in ("before", "after")}, folder, work)
    return 0


@click.command("provence", help=PROVENCE_HELP, short_help="An encoder for system provence.")
@FOLDER
@SOURCES
@DATA
@click.option("--encoder", default="minilm", help="What it begins from: minilm, a folder, hub id.")
@DOCUMENTS
@LIMIT
@click.option("--epochs", type=click.IntRange(1), default=4, help="How often all are read.")
@click.option(
    "--learning-rate",
    type=click.FloatRange(0, min_open=True),
    default=1e-4,
    help="Of the encoder at its height.",
)
@SEED
@WORK
def provence_command(
    folder: Path, sources: tuple[str, ...], data: Path | None, work: Path | None, **options: Any
) -> int:
    """Train, then say how good it is."""
    from ragsieve.train.provence import ProvencePlan, make_provence

    plan = ProvencePlan(**options)
    found = [datasets.load(name, folder=data) for name in sources]
    folder, work = _places(folder, work)
    with INFO.status("training …"):
        made = make_provence(folder, found, plan, work=work)
    _said(made["validation"], folder, work)
    return 0


def _said(figures: Mapping[str, Mapping[str, float]], folder: Path, work: Path) -> None:
    """Figures of questions that were not learned from, and where it lies."""
    rows = [
        (
            name,
            *(f"{row[n]:.3f}" for n in NAMES),
            f"{row['questions']:.0f}" if "questions" in row else "",
        )
        for name, row in figures.items()
    ]
    table(("", *(name.replace("_", " ") for name in NAMES), "questions"), rows)
    INFO.print(Text(shown(f"written: {folder}; {work} may go")))
