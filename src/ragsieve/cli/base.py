"""Shared parts of the commands: consoles, safe text, tables, progress bar, common options."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import click
from rich.console import Console
from rich.text import Text

from ragsieve.errors import InputError, RagsieveError
from ragsieve.run.batch import Done
from ragsieve.run.concurrency import cores
from ragsieve.schema import Count
from ragsieve.text import safe

INFO = Console(stderr=True, highlight=False, soft_wrap=True)
FILE = click.Path(dir_okay=False, path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
Cache = Annotated[Path | None, FILE, {"help": "Remember model replies here."}]
Json = Annotated[bool, {"flags": ["--json"], "help": "Print one JSON object."}]
WORKERS = max(16, 2 * cores())  # enough for a server of LLMs, and for every core
Workers = Annotated[Count, {"help": "Questions at once."}]


def describe(error: Exception) -> str:
    """The message of an error, with its type where it is none of ours."""
    return ("" if isinstance(error, RagsieveError) else f"{type(error).__name__}: ") + str(error)


def printable(text: str) -> str:
    """``text`` without what controls a terminal, a lone carriage return included.

    A form feed, as between pages, and a vertical tab end a line.
    """
    return re.sub("\r(?!\n)", "\ufffd", safe(re.sub("[\f\v]", "\n", text)))


def secret(flag: str, variable: str | None) -> str:
    """The value of the variable that ``flag`` names; empty where it names none.

    Raises:
        InputError: If it is not set.
    """
    if variable is None:
        return ""
    if not (value := os.environ.get(variable, "").strip()):
        raise InputError(f"{flag} must name a variable that is set, got {variable!r}")
    return value


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings, as wide as the terminal."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False)
    for heading in headings:
        grid.add_column(printable(heading), no_wrap=heading == "name")
    for row in rows:
        grid.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False, width=None if Console().is_terminal else 200).print(grid)


def progress() -> Any:
    """A bar over questions with the time left, on standard error; lines where it is no terminal."""
    if not INFO.is_terminal:
        from ragsieve.cli.lines import Lines

        return Lines(info, INFO)
    from rich import progress as bar

    columns = (bar.TextColumn("{task.description}"), bar.BarColumn(), bar.MofNCompleteColumn())
    return bar.Progress(*columns, bar.TimeRemainingColumn(), console=INFO)


def watched(
    done: Iterable[Done], total: int | None, source: str, label: str = "questions"
) -> Iterator[Done]:
    """Questions as they are done, with a bar; an error is printed once, and then how often."""
    told: Counter[str] = Counter()
    with progress() as bars:
        bar = bars.add_task(label, total=total)
        for one in done:
            told[text := describe(one.error) if one.error else ""] += 1
            bars.update(bar, advance=1, failed=told.total() - told[""])
            if text and told[text] == 1:
                print_error(bars.console, f"error: {source} line {one.line}: {text}")
            yield one
        for text, count in told.items():
            if text and count > 1:
                print_error(bars.console, f"error: {source}, {count - 1:,} more: {text}")


def info(text: str, style: str = "") -> None:
    """Print to standard error, whatever ``text`` holds."""
    INFO.print(Text(printable(text), style=style))


def warn(text: str) -> None:
    """Print a warning to standard error."""
    info(f"warning: {text}", "yellow")


def print_error(console: Console, text: str) -> None:
    """Print ``text`` as one red line, also where only errors are asked for."""
    line = printable(" ".join(text.split()))
    if console.quiet:
        click.echo(line, err=True)
    else:
        console.print(Text(line, style="red"), soft_wrap=True)
