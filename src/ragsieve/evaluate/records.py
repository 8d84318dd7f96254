"""Records of a benchmark: lines of a file, and the table of which every figure is computed.

A row is a question that a system was asked, a column a number. A column's name has two parts:
``("metrics", "f1")``, ``("cost", "llm_calls")``, ``("stage 1 Sentences", "calls")``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from ragsieve.errors import InputError
from ragsieve.evaluate.evidence import Presence
from ragsieve.evaluate.stats import Values
from ragsieve.result import Tokens
from ragsieve.schema import read

Name = tuple[str, str]
T = TypeVar("T")


class Costs(msgspec.Struct, frozen=True):
    """Calls and tokens of a model or a stage; what a cache answered counts, too."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Step(Costs, frozen=True, kw_only=True):
    """A stage's step; ``events`` are those that it logged."""

    stage: str
    seconds: float = math.nan
    models: dict[str, Costs] = {}
    unreadable: int = 0
    events: list[dict[str, Any]] = []


class Steps(msgspec.Struct, frozen=True):
    """The trace of a question."""

    steps: list[Step] = []
    warnings: list[str] = []


class Record(msgspec.Struct, frozen=True):
    """A line of a file of records, or of times; see `ragsieve.evaluate.bench`."""

    line: int
    id: str = ""
    answer: str | None = None
    error: str | None = None
    metrics: dict[str, float] = {}
    tokens: Tokens | None = None
    presence: list[Presence] = []
    trace: Steps | None = None
    seconds: float | None = None
    filter_seconds: float | None = None
    generator_seconds: float | None = None

    @property
    def key(self) -> str:
        """The question's id, or its line where it has none."""
        return self.id or f"line {self.line}"


@dataclass(frozen=True, order=True)
class NoiseLevel:
    """Noise among the documents: its kind, its share in [0, 1], the place of the answer."""

    kind: str
    share: float
    position: str = ""

    def __str__(self) -> str:
        return f"{self.share:.0%} {self.kind}{f', {self.position}' if self.position else ''}"


@dataclass(frozen=True)
class Records:
    """The rows of a system on a dataset.

    Args:
        expected: Questions of the cell; 0 where the header does not say.
        keys: Names of the questions, the same in every run; one a row.
        errors: Why a question failed, in one line; empty where it did not.
        columns: One value a row; nan where there is none.
    """

    dataset: str
    system: str
    generator: str
    noise: NoiseLevel | None
    expected: int
    keys: tuple[str, ...]
    errors: tuple[str, ...]
    columns: Mapping[Name, Values]

    @property
    def name(self) -> tuple[str, str, str, NoiseLevel | None]:
        """What differs from all other records of a report."""
        return (self.dataset, self.system, self.generator, self.noise)

    def column(self, part: str, name: str) -> Values:
        """A column; all nan where there is none."""
        missing = np.full(len(self.keys), math.nan)
        return self.columns.get((part, name), missing)

    def known(self, part: str, name: str) -> Values:
        """The finite values of a column."""
        values = self.column(part, name)
        return values[np.isfinite(values)]


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, if it is there, without a line that was cut while it was written.

    Raises:
        InputError: If a line is no record; names line, field and rule.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                value = json.loads(line)
            except ValueError as error:
                if not line.endswith(b"\n"):
                    return
                raise InputError(f"line {number} of {path} must be JSON, got {error}") from error
            yield read_as(Record, value, f"line {number} of {path}")


def read_as(kind: type[T], value: Any, where: str) -> T:
    """A value as ``kind``; an error says ``where`` it is."""
    try:
        return read(kind, value)
    except InputError as error:
        raise InputError(f"{where} must be as a benchmark writes it: {error}") from error
