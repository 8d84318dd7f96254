"""A benchmark run read from its folder into a table of records."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ragsieve.errors import InputError
from ragsieve.evaluate.records import (
    Name,
    NoiseLevel,
    Record,
    Records,
    Step,
    read_as,
    read_records,
)
from ragsieve.evaluate.stats import Values

COSTS = ("calls", "tokens_in", "tokens_out")
TIMES = ("seconds", "filter_seconds", "generator_seconds")


class PeerCounts(msgspec.Struct, frozen=True):
    """Input and output of another framework's filter; see `ragsieve.systems.peers.base.Peer`."""

    given: int
    returned: int
    invented: int
    repeated: int
    grown: int
    words: int
    invented_words: int
    repeated_words: int


class CellHeader(msgspec.Struct, frozen=True):
    """A cell as the header of its run names it."""

    dataset: str
    system: str
    file: str
    generator: str | None = None
    noise: NoiseLevel | None = None
    latency: str = ""
    questions: str = ""
    asked: int | None = None


class Header(msgspec.Struct, frozen=True):
    """The fields of ``run.json`` that a report reads."""

    cells: list[CellHeader]
    name: str = ""
    datasets: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Run:
    """A benchmark run: its header as it was written, and its records."""

    name: str
    header: Mapping[str, Any]
    cells: tuple[Records, ...]


def load_run(folder: Path) -> Run:
    """Read a run's folder, line by line; a question recorded twice counts as it was last.

    Raises:
        InputError: If the folder is not that of a run, cannot be read, or names a cell twice.
    """
    path = folder / "run.json"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"run {folder} must be a folder with a run.json: {error.strerror}") from (
            error
        )
    except ValueError as error:
        raise InputError(f"{path} must be JSON, got {error}") from error
    header = read_as(Header, values, str(path))
    cells = tuple(_load(folder, cell, header) for cell in header.cells)
    names = [cell.name for cell in cells]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise InputError(f"run {folder} must name each cell once, got {min(map(str, doubles))}")
    return Run(header.name or folder.name, values, cells)


@dataclass
class _Rows:
    """Rows by their lines, while they are read."""

    keys: dict[int, str] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    values: dict[int, dict[Name, float]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # the first line of each key

    def add(self, record: Record, values: dict[Name, float]) -> None:
        """Take a record in, in place of an earlier one of its line."""
        line, key = record.line, record.key
        own = self.lines.setdefault(key, line) == line
        self.keys[line] = key if own else f"{key} (line {line})"
        self.errors[line] = " ".join((record.error or "").split())[:300]
        self.values[line] = values

    def columns(self) -> dict[Name, Values]:
        """One array a name, nan where a row has no value."""
        names = dict.fromkeys(name for row in self.values.values() for name in row)
        return {
            name: np.array([row.get(name, math.nan) for row in self.values.values()])
            for name in names
        }


def _load(folder: Path, about: CellHeader, header: Header) -> Records:
    rows, path = _Rows(), folder / about.file
    for record in read_records(path):
        rows.add(record, _numbers(record) | _peers(record, f"line {record.line} of {path}"))
    for record in read_records(folder / about.latency) if about.latency else ():
        if record.line in rows.values and record.seconds is not None:
            rows.values[record.line] |= _times(record)
    return Records(
        dataset=about.dataset,
        system=about.system,
        generator=about.generator or "",
        noise=about.noise,
        expected=_expected(about, header),
        keys=tuple(rows.keys.values()),
        errors=tuple(rows.errors.values()),
        columns=_by_role(_filled(rows.columns())),
    )


def _expected(about: CellHeader, header: Header) -> int:
    """Questions of a cell, by itself, or by the name of its questions' file or of its dataset."""
    if about.asked is not None:
        return about.asked
    counts = header.datasets
    known = counts.get(Path(about.questions).stem) or counts.get(about.dataset) or {}
    return int(known.get("questions") or 0)


def _numbers(record: Record) -> dict[Name, float]:
    """All but times and events."""
    row = {("metrics", name): value for name, value in record.metrics.items()}
    row["cost", "failed"] = float(record.error is not None)
    row["cost", "warned"] = float(bool(record.trace and record.trace.warnings))
    if record.tokens:
        row["cost", "tokens_before"] = record.tokens.before
        row["cost", "tokens_after"] = record.tokens.after
    if record.presence and record.presence[0].present:  # else there was no answer to lose
        for place, held in enumerate(record.presence):
            part = f"stage {place} {_stage_name(held.stage)}"
            row[part, "held"] = float(held.present)
            row[part, "first"] = math.nan if held.first is None else float(held.first)
    return row | _spent(record)


def _spent(record: Record) -> dict[Name, float]:
    """Calls and tokens by stage, and by model for all stages but the generator's."""
    row: dict[Name, float] = defaultdict(float)
    for part, step in _parts(record, answered=record.answer is not None):
        row["cost", "steps"] += 1
        row.update({(part, name): getattr(step, name) for name in COSTS})
        for model, costs in (step.models or {part: step}).items():
            row[f"model {model}", "writes"] += costs.tokens_out
            for name in COSTS if part.startswith("stage") else ():
                row[f"model {model}", name] += getattr(costs, name)
    return dict(row)


def _peers(record: Record, where: str) -> dict[Name, float]:
    """Counts of other frameworks' filters, and whether one raised."""
    if (record.error or "").startswith("PeerError: "):
        return {("peer", "raised"): 1.0}
    row: dict[Name, float] = defaultdict(float)
    for step in record.trace.steps if record.trace else ():
        for event in step.events:
            if event.get("event") == "peer":
                counts = msgspec.structs.asdict(read_as(PeerCounts, event, where))
                for name, value in {**counts, "unreadable": step.unreadable, "raised": 0}.items():
                    row["peer", name] += value
    return dict(row)


def _times(record: Record) -> dict[Name, float]:
    """Seconds of a question asked alone, in all and by stage."""
    row = {("cost", name): _or_nan(getattr(record, name)) for name in TIMES}
    parts = _parts(record, answered=record.generator_seconds is not None)
    return row | {(part, "seconds"): step.seconds for part, step in parts}


def _parts(record: Record, *, answered: bool) -> Iterator[tuple[str, Step]]:
    """Steps with the first part of their columns' names; the generator's is the last, if any."""
    steps = record.trace.steps if record.trace else []
    for place, step in enumerate(steps, 1):
        last = answered and place == len(steps)
        yield f"{'generator' if last else f'stage {place}'} {_stage_name(step.stage)}", step


def _stage_name(stage: str) -> str:
    return stage.split("(")[0]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _filled(columns: dict[Name, Values]) -> dict[Name, Values]:
    """Calls and tokens are 0, not unknown, in questions that did not come to a stage or model."""
    known = columns.get(("cost", "steps"))
    for (part, name), values in columns.items():
        if known is not None and part != "cost" and name in (*COSTS, "writes"):
            columns[part, name] = np.where(np.isnan(values) & np.isfinite(known), 0.0, values)
    return columns


def _by_role(columns: dict[Name, Values]) -> dict[Name, Values]:
    """Costs of models as those of LLMs, which ever write something, encoders and the generator."""
    known = columns.get(("cost", "steps"))
    models = [part for part, name in columns if name == "writes" and part.startswith("model ")]
    kept = {name: values for name, values in columns.items() if name[0] not in models}
    if known is None:
        return kept

    def total(name: str, chosen: Callable[[str], bool]) -> Values:
        parts = [values for (part, n), values in columns.items() if n == name and chosen(part)]
        return np.asarray(sum(parts, known * 0))

    writers = {part for part in models if np.nansum(columns[part, "writes"])}
    for name in COSTS:
        kept["cost", f"llm_{name}"] = total(name, lambda part: part in writers)
        kept["cost", f"encoder_{name}"] = total(name, lambda p: p in models and p not in writers)
        kept["cost", f"generator_{name}"] = total(name, lambda p: p.startswith("generator "))
    return kept
