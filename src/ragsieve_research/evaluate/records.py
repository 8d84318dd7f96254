"""Records of a benchmark: a run's folder read into the table of which every figure is computed.

A row is a question that a system was asked, a column a number. A column's name has two parts:
``("metrics", "f1")``, ``("cost", "llm_calls")``, ``("stage 1 Sentences", "calls")``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from ragsieve.errors import InputError, naming
from ragsieve.result import Tokens
from ragsieve.run.questions import load_json
from ragsieve.schema import Below, read
from ragsieve_research.evaluate.evidence import Presence
from ragsieve_research.evaluate.stats import Values

Name = tuple[str, str]
T = TypeVar("T")

COSTS = ("calls", "tokens_in", "tokens_out")
STEPS = ("cost", "steps")
TIMES = ("seconds", "filter_seconds", "generator_seconds")


class Costs(msgspec.Struct, frozen=True):
    """Calls and tokens of a model or a stage; what a cache answered counts, too."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class StepRecord(Costs, frozen=True, kw_only=True):
    """A stage's step; ``events`` are those that it logged."""

    stage: str
    segments_in: int = 0
    segments_out: int = 0
    seconds: float = math.nan
    models: dict[str, Costs] = {}
    unreadable: int = 0
    events: list[dict[str, Any]] = []


class Steps(msgspec.Struct, frozen=True):
    """The trace of a question."""

    steps: list[StepRecord] = []
    warnings: list[str] = []


class Record(msgspec.Struct, frozen=True):
    """A line of a file of records, or of times; see `ragsieve_research.evaluate.bench`."""

    line: int
    id: str = ""
    answer: str | None = None
    error: str | None = None
    metrics: dict[str, float] = {}
    tokens: Tokens | None = None
    presence: list[Presence] = []
    groups: dict[str, str | list[str]] = {}  # one of a question, or several
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
class RecordTable:
    """The rows of a system on a dataset.

    Args:
        expected: Questions of the cell; 0 where the header does not say.
        keys: Names of the questions, the same in every run; one a row.
        errors: Why a question failed, in one line; empty where it did not.
        columns: One value a row; nan where there is none.
        groups: The groups of each row, by the metadata that names them.
    """

    dataset: str
    system: str
    generator: str
    noise: NoiseLevel | None
    expected: int
    keys: tuple[str, ...]
    errors: tuple[str, ...]
    columns: Mapping[Name, Values]
    groups: tuple[Mapping[str, str | list[str]], ...] = ()

    def parts(self, named: bool = False) -> Iterator[RecordTable]:
        """The rows of each group, as of a dataset of its own; ``named`` also by its metadata."""
        each = [
            {
                (key, one)
                for key, own in row.items()
                for one in ([own] if isinstance(own, str) else own)
            }
            for row in self.groups
        ]
        for key, value in sorted({one for own in each for one in own}):
            rows = [n for n, own in enumerate(each) if (key, value) in own]
            yield replace(
                self,
                dataset=f"{self.dataset}: {f'{key} {value}' if named else value}",
                expected=0,
                keys=tuple(self.keys[n] for n in rows),
                errors=tuple(self.errors[n] for n in rows),
                columns={name: values[rows] for name, values in self.columns.items()},
                groups=(),
            )

    @property
    def name(self) -> tuple[str, str, str, NoiseLevel | None]:
        """The settings that differ from all other records of a report."""
        return (self.dataset, self.system, self.generator, self.noise)

    def column(self, part: str, name: str) -> Values:
        """A column; all nan where there is none."""
        return self.columns.get((part, name), np.full(len(self.keys), math.nan))

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
                value = load_json(line)
            except InputError as error:
                if not line.endswith(b"\n"):
                    return
                raise InputError(f"line {number} of {path} is {error}") from error
            yield read_as(Record, value, f"line {number} of {path}")


def read_as(kind: type[T], value: Any, where: str) -> T:
    """A value as ``kind``; an error says ``where`` it is."""
    with naming(f"{where} must be as a benchmark writes it"):
        return read(kind, value)


class PeerCounts(msgspec.Struct, frozen=True):
    """Input and output of a filter of `ragsieve_research.peers.filters.base.Peer`."""

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
    file: Below
    generator: str | None = None
    noise: NoiseLevel | None = None
    latency: Below = ""
    questions: str = ""
    asked: int | None = None


class Header(msgspec.Struct, frozen=True):
    """The fields of ``run.json`` that a report reads."""

    cells: list[CellHeader]
    name: str = ""
    datasets: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class RecordedRun:
    """A benchmark run: its header as it was written, and its records."""

    name: str
    header: Mapping[str, Any]
    cells: tuple[RecordTable, ...]


def load_runs(folders: Iterable[Path]) -> list[RecordedRun]:
    """Read runs as `load_run`; those of one name have their folders' instead."""
    runs = [(folder, load_run(folder)) for folder in folders]
    times = Counter(run.name for _, run in runs)
    return [
        replace(run, name=folder.resolve().name) if times[run.name] > 1 else run
        for folder, run in runs
    ]


def load_run(folder: Path) -> RecordedRun:
    """Read a run's folder, line by line; a question recorded twice counts as it was last.

    Records of an earlier start with more questions than the header says are left out.

    Raises:
        InputError: If the folder is not that of a run, cannot be read, or names a cell twice.
    """
    path = folder / "run.json"
    try:
        values = load_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"run {folder} must be a folder with a run.json: {error.strerror}") from (
            error
        )
    except InputError as error:
        raise InputError(f"{path} is {error}") from error
    header = read_as(Header, values, str(path))
    cells = tuple(_load(folder, cell, header) for cell in header.cells)
    names = [cell.name for cell in cells]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise InputError(f"run {folder} must name each cell once, got {min(map(str, doubles))}")
    return RecordedRun(header.name or folder.name, values, cells)


def _load(folder: Path, about: CellHeader, header: Header) -> RecordTable:
    path, expected = folder / about.file, _expected(about, header)
    records = {r.line: r for r in read_records(path) if r.line <= (expected or math.inf)}
    latency = read_records(folder / about.latency) if about.latency else ()
    times = {record.line: _times(record) for record in latency}
    writers = writers_of(records.values())
    rows = [
        _numbers(record)
        | _peers(record, f"line {line} of {path}")
        | times.get(line, {})
        | by_role(record, writers)
        for line, record in records.items()
    ]
    first: dict[str, int] = {}
    return RecordTable(
        dataset=about.dataset,
        system=about.system,
        generator=about.generator or "",
        noise=about.noise,
        expected=expected,
        keys=tuple(
            r.key if first.setdefault(r.key, line) == line else f"{r.key} (line {line})"
            for line, r in records.items()
        ),
        errors=tuple(" ".join((r.error or "").split())[:300] for r in records.values()),
        columns=_columns(rows),
        groups=tuple(record.groups for record in records.values()),
    )


def _columns(rows: Sequence[Mapping[Name, float]]) -> dict[Name, Values]:
    """One array a name, nan where a row has no value.

    Calls and tokens are 0, not unknown, in questions that did not come to a stage.
    """

    def value(row: Mapping[Name, float], name: Name) -> float:
        missed = name[0] != "cost" and name[1] in COSTS and STEPS in row
        return row.get(name, 0.0 if missed else math.nan)

    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([value(row, name) for row in rows], np.float64) for name in names}


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
    parts = [*_parts(record)]
    row |= {STEPS: float(len(parts))} if parts else {}
    readers = [step for part, step in parts if part.startswith("generator ")]
    row["cost", "unread"] = float(any(step.unreadable for _, step in parts))
    row["cost", "overflowed"] = float(any(s.segments_out < s.segments_in for s in readers))
    return row | {(part, n): getattr(step, n) for part, step in parts for n in COSTS}


def _models(record: Record) -> Iterator[tuple[str, str, Costs]]:
    """Steps, their models and what these cost; a step that names no model is one itself."""
    for part, step in _parts(record):
        for model, costs in (step.models or {part: step}).items():
            yield part, model, costs


def writers_of(records: Iterable[Record]) -> set[str]:
    """Models that ever write something: LLMs, where others only read."""
    models = (one for record in records for one in _models(record))
    return {model for _, model, costs in models if costs.tokens_out}


def by_role(record: Record, writers: Set[str]) -> dict[Name, float]:
    """Costs of LLMs, which ever write something, of encoders, and of the generator."""
    if not (models := [*_models(record)]):
        return {}
    roles = ("llm", "encoder", "generator")
    row: dict[Name, float] = {("cost", f"{role}_{name}"): 0.0 for name in COSTS for role in roles}
    for part, model, costs in models:
        role = "llm" if model in writers else "encoder"
        for name in COSTS:
            own = "generator" if part.startswith("generator ") else role
            row["cost", f"{own}_{name}"] += getattr(costs, name)
    return row


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
    if record.seconds is None:
        return {}
    values = {name: getattr(record, name) for name in TIMES}
    row = {("cost", name): math.nan if v is None else v for name, v in values.items()}
    return row | {(part, "seconds"): step.seconds for part, step in _parts(record)}


def _parts(record: Record) -> Iterator[tuple[str, StepRecord]]:
    """Steps with the first part of their columns' names; the generator's is the last, if any."""
    steps = record.trace.steps if record.trace else []
    answered = record.answer is not None or record.generator_seconds is not None
    for place, step in enumerate(steps, 1):
        last = answered and place == len(steps)
        yield f"{'generator' if last else f'stage {place}'} {_stage_name(step.stage)}", step


def _stage_name(stage: str) -> str:
    return stage.split("(")[0]
