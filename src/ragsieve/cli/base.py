"""What every command uses: consoles, safe text, tables, a bar."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ragsieve.errors import InputError, RagsieveError
from ragsieve.text import safe

INFO = Console(stderr=True, highlight=False, soft_wrap=True)
FILE = click.Path(dir_okay=False, path_type=Path)
DATA = click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="RAGSIEVE_DATA",
    show_envvar=True,
    help="Folder of data sets; the Hugging Face hub where none is named.",
)


def named(error: Exception) -> str:
    return ("" if isinstance(error, RagsieveError) else f"{type(error).__name__}: ") + str(error)


def shown(text: str) -> str:
    """``text`` without what controls a terminal, a lone carriage return included."""
    return re.sub("\r(?!\n)", "\ufffd", safe(text))


def pairs(flag: str, given: Sequence[str], form: str = "KEY=VALUE") -> dict[str, str]:
    """What ``KEY=VALUE`` arguments of ``flag`` say, by key; the last where one comes twice.

    Raises:
        InputError: If an argument has another form, or its key is no name.
    """
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f"{flag} must be {form}, got {pair!r}")
        found[key] = value
    return found


def values(flag: str, given: Sequence[str]) -> dict[str, Any]:
    """The same with every value as the JSON that it is, else as the string."""
    return {key: _json(value) for key, value in pairs(flag, given).items()}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    made = Table(box=None, pad_edge=False)
    for heading in headings:
        made.add_column(heading, no_wrap=heading == "name")
    for row in rows:
        made.add_row(*map(Text, row))
    wide = None if Console().is_terminal else 200
    Console(highlight=False, width=wide).print(made)


def progress() -> Progress:
    """A bar over questions with the time left, on standard error."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn(), console=INFO)


def complain(console: Console, text: str) -> None:
    """One red line, whatever ``text`` holds."""
    console.print(Text(shown(" ".join(text.split())), style="red"), soft_wrap=True)
