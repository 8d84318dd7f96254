"""Shared parts of the commands that measure and train: data sets, tables of figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from ragsieve.cli.base import EXISTING_FOLDER, table
from ragsieve.cli.opening import completing
from ragsieve_research import datasets

complete_datasets = completing(lambda _: datasets.DATASETS)
"""Data sets by name."""


_DATA: dict[str, Any] = {
    "envvar": "RAGSIEVE_DATA",
    "show_envvar": True,
    "help": "Folder of data sets; the Hugging Face hub where none is named.",
}
Data = Annotated[Path | None, EXISTING_FOLDER, _DATA]
Questions = Annotated[tuple[str, ...], {"metavar": "DATA...", "shell_complete": complete_datasets}]


def figures(rows: Mapping[str, Mapping[str, float | None]]) -> None:
    """Print numbers by row under their names: counts as they are, others to three digits."""
    keys = dict.fromkeys(key for row in rows.values() for key in row)
    cells = [[name, *(_number(row.get(key)) for key in keys)] for name, row in rows.items()]
    table(["", *(key.replace("_", " ") for key in keys)], cells)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def means(
    name: str, rows: Mapping[Any, Mapping[str, Any]], costs: Mapping[Any, Mapping[str, float]]
) -> None:
    """Print means with intervals by row and measure, then what each row costs."""
    from ragsieve_research.evaluate.formatting import value_text  # an extra

    heads = [*next(iter(rows.values())), *next(iter(costs.values()))]
    cells = [
        [row, *map(value_text, own.values()), *(f"{cost:.1f}" for cost in costs[row].values())]
        for row, own in rows.items()
    ]
    table([name, *heads], cells)
