"""`ragsieve train router`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ragsieve.cli import training
from ragsieve.cli.base import DATA, INFO, complain, named, table
from ragsieve.evaluate.run import Done

ROUTER_HELP = """Train a router that chooses sources for your generator, and write it to FOLDER.

The generator answers each question from each source of sources.toml alone; the router learns which
sources led it to a right answer. Where a question's metadata name its "sources", as in
{"metadata": {"sources": ["news"]}}, these are right, and nobody is asked. QUESTIONS are JSONL files
of questions with answers, or names of `ragsieve datasets`; a salted hash divides them: half to
learn from, a tenth to measure by. An interrupted training goes on where it stopped.

\b
  ragsieve train router my-router questions.jsonl --sources sources.toml
  ragsieve train router my-router nq popqa --data ~/questions --sources sources.toml --limit 200
  ragsieve train router my-router questions.jsonl --sources sources.toml --form llm

\b
A source is a table of sources.toml, of kind index, pages, passages, api or memory (the model
by itself):
  [[sources]]
  name = "news"
  description = "News articles of 2023."
  kind = "index"
  folder = "news-index"
"""


@click.command("router", help=ROUTER_HELP, short_help="Choose which sources to ask.")
@training.FOLDER
@training.questions("QUESTIONS")
@click.option(
    "--sources",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The sources to choose among, as TOML.",
)
@DATA
@click.option("--llm", default="smollm2", help="The generator; see `ragsieve ask --help`.")
@click.option("--embedder", default="minilm", help="Embeds questions, and ranks evidence.")
@click.option(
    "--form",
    default="light",
    help="light: regressions on the question's embedding; llm: an LLM by LoRA, --llm itself or "
    "llm:MODEL.",
)
@training.LIMIT
@click.option("--epochs", type=click.IntRange(1), default=2, help="Of an LLM.")
@training.SEED
@training.WORKERS
@training.WORK
def router_command(
    folder: Path,
    questions: tuple[str, ...],
    sources: Path,
    data: Path | None,
    workers: int,
    work: Path | None,
    **options: Any,
) -> int:
    """Label what is missing, train, then say how good it is."""
    from ragsieve.train.router_training import RouterPlan, RouterTraining

    plan = RouterPlan(**options)
    to = training.opened(folder, questions, data, work, "the router's")
    run = RouterTraining(plan, to.sources, sources, to.work, workers, _told, data)
    figures = run.run(to.folder).figures
    rows = {name: row for name, row in figures.items() if isinstance(row, dict)}
    columns = ("exact", "covered", "right", "asked", "accuracy")
    cells = [
        (name, *(f"{row[c]:.3f}" if c in row else "-" for c in columns))
        for name, row in rows.items()
    ]
    table(("", *columns), cells)
    asked = f"measured on {figures['questions']} other questions"
    to.written(f"{asked}, {figures['seconds']:.3f} s a choice; ")
    return 0


def _told(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
    """Run through questions with a bar, and say which failed."""

    def heard() -> Iterator[Done]:
        for one in done:
            if one.error:
                complain(INFO, f"error: {name} line {one.line}: {named(one.error)}")
            yield one

    return training.told(name, heard(), total)
