"""What every `ragsieve train` command takes, and what it says while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

from ragsieve import datasets
from ragsieve.cli.base import DATA, INFO, progress, shown
from ragsieve.datasets import Dataset
from ragsieve.errors import InputError
from ragsieve.evaluate.run import Done

FOLDER = click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
LLM = click.option("--llm", default="smollm2", help="The local model that is tuned, by LoRA.")
DOCUMENTS = click.option(
    "--documents", type=click.IntRange(1), default=5, help="So many of a question."
)
LIMIT = click.option("--limit", type=click.IntRange(1), help="Learn from so many questions only.")
MERGED = click.option(
    "--merged/--adapter", default=True, help="The whole model, or the adapter alone."
)
SEED = click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Of all chance.")
WORKERS = click.option("--workers", type=click.IntRange(1), default=16, help="Questions at once.")
WORK = click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where questions, labels and checkpoints lie.",
    show_default="FOLDER.work",
)


def questions(metavar: str) -> Callable[..., Any]:
    """Files or names of data sets."""
    return click.argument("questions", nargs=-1, required=True, metavar=f"{metavar}...")


def epochs(default: int, read: str = "all") -> Callable[..., Any]:
    """How often ``read`` are read."""
    told = f"How often {read} are read."
    return click.option("--epochs", type=click.IntRange(1), default=default, help=told)


class Opened(NamedTuple):
    """Where a training writes and works, and what it learns from."""

    folder: Path
    work: Path
    sources: list[Dataset]

    def written(self, said: str = "") -> None:
        """Say where it lies, behind what was ``said``."""
        INFO.print(Text(shown(f"{said}written: {self.folder}; {self.work} may go")))


Open = Callable[[], Opened]


def opened(
    folder: Path,
    questions: Sequence[str],
    data: Path | None,
    work: Path | None,
    called: str = "FOLDER",
) -> Opened:
    """What the words of a command name; ``called`` is the folder that it writes.

    Raises:
        InputError: If a data set is not known, or it would work where it writes.
    """
    sources = [datasets.load(name, folder=data) for name in questions]
    folder = folder.absolute()
    work = work.absolute() if work else folder.with_name(f"{folder.name}.work")
    if work == folder:
        raise InputError(f"--work must be another folder than {called}, got {work}")
    return Opened(folder, work, sources)


def given(metavar: str) -> Callable[..., Any]:
    """Puts FOLDER, questions called ``metavar`` and --data before the options of a command.

    These and its `WORK` it gets as one argument: a call that gives what they name, `opened`.
    """

    def decorate(command: Callable[..., int]) -> Any:
        @FOLDER
        @questions(metavar)
        @DATA
        @wraps(command)
        def gathered(folder: Any, questions: Any, data: Any, work: Any, **options: Any) -> int:
            return command(partial(opened, folder, questions, data, work), **options)

        return gathered

    return decorate


def told(name: str, done: Iterator[Done], total: int | None) -> list[Done]:
    """Run through questions with a bar."""
    found = []
    with progress() as bars:
        bar = bars.add_task(name.removesuffix(".jsonl"), total=total)
        for one in done:
            found.append(one)
            bars.advance(bar)
    return found
