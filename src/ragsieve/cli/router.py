"""`ragsieve train router`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ragsieve import datasets
from ragsieve.cli.base import INFO, complain, named, progress, shown, table
from ragsieve.errors import InputError
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
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("questions", nargs=-1, required=True, metavar="QUESTIONS...")
@click.option(
    "--sources",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The sources to choose among, as TOML.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="RAGSIEVE_DATA",
    show_envvar=True,
    help="Folder of data sets; the Hugging Face hub where none is named.",
)
@click.option("--llm", default="smollm2", help="The generator; see `ragsieve ask --help`.")
@click.option("--embedder", default="minilm", help="Embeds questions, and ranks evidence.")
@click.option(
    "--form",
    default="light",
    help="light: regressions on the question's embedding; llm: an LLM by LoRA, --llm itself or "
    "llm:MODEL.",
)
@click.option("--limit", type=click.IntRange(1), help="Learn from so many questions only.")
@click.option("--epochs", type=click.IntRange(1), default=2, help="Of an LLM.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all chance.")
@click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where questions, labels and checkpoints lie.",
    show_default="FOLDER.work",
)
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
    from ragsieve.train.router_course import RouterCourse, RouterPlan

    plan = RouterPlan(**options)
    found = [datasets.load(name, folder=data) for name in questions]
    folder = folder.absolute()
    work = work.absolute() if work else folder.with_name(f"{folder.name}.work")
    if work == folder:
        raise InputError(f"--work must be another folder than the router's, got {work}")
    figures = RouterCourse(plan, found, sources, work, workers, _told, data).run(folder).figures
    rows = {name: row for name, row in figures.items() if isinstance(row, dict)}
    columns = ("exact", "covered", "right", "asked", "accuracy")
    cells = [
        (name, *(f"{row[c]:.3f}" if c in row else "-" for c in columns))
        for name, row in rows.items()
    ]
    table(("", *columns), cells)
    INFO.print(
        Text(
            shown(
                f"measured on {figures['questions']} other questions, {figures['seconds']:.3f} s "
                f"a choice; written: {folder}; {work} may go"
            )
        )
    )
    return 0


def _told(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
    """Run through questions with a bar, and say which failed."""
    found = []
    with progress() as bars:
        bar = bars.add_task(name.removesuffix(".jsonl"), total=total)
        for one in done:
            found.append(one)
            bars.advance(bar)
            if one.error:
                complain(bars.console, f"error: {name} line {one.line}: {named(one.error)}")
    return found
