"""A benchmark run read from its folder: numbers only, so that large runs fit into memory."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.evaluate.stats import Values

_COSTS = ("calls", "tokens_in", "tokens_out")
_MAX_ERRORS = 20  # ways in which a cell failed


@dataclass(frozen=True, order=True)
class Noise:
    """What was mixed into the documents: its kind, its share in [0, 1], and where it was put."""

    kind: str
    share: float
    position: str = ""

    def __str__(self) -> str:
        return f"{self.share:.0%} {self.kind}{f', {self.position}' if self.position else ''}"


@dataclass(frozen=True)
class Usage:
    """What answering cost, one value a question; nan where the question failed.

    What a cache answered counts, too: what would be asked without one.
    """

    before: Values
    llm_calls: Values
    llm_tokens_in: Values
    llm_tokens_out: Values
    encoder_calls: Values
    encoder_tokens: Values
    generator_tokens_in: Values
    generator_tokens_out: Values


@dataclass(frozen=True)
class Presence:
    """Whether the evidence still holds a gold answer after a stage, and holds it first."""

    stage: str
    held: Values
    first: Values


@dataclass(frozen=True)
class Spent:
    """What a stage cost, one value a question; seconds of the questions asked alone."""

    stage: str
    calls: Values
    tokens_in: Values
    tokens_out: Values
    seconds: Values


@dataclass(frozen=True)
class Latency:
    """Seconds of questions asked one at a time without a cache."""

    total: Values
    filter: Values
    generator: Values


@dataclass(frozen=True)
class Cell:
    """A system on a dataset: one value a question, in the order of ``keys``.

    Args:
        file: Where its records lie.
        keys: What tells the questions of a dataset apart, in every run.
        metrics: Values by name; nan where a metric does not apply.
        asked: Questions of the dataset; 0 where the header does not say.
        after: Tokens of the kept context; nan where the question failed.
        warned: Questions answered without a source, or a stage, that failed.
        errors: Ways to fail, each one line, how often, and the first question's key.
        sessions: Questions, wall seconds and seconds in which a model was busy.
    """

    file: Path
    dataset: str
    system: str
    generator: str
    noise: Noise | None
    asked: int
    keys: tuple[str, ...]
    metrics: Mapping[str, Values]
    before: Values
    after: Values
    failed: int
    warned: int
    errors: tuple[tuple[str, int, str], ...]
    usage: Usage
    presence: tuple[Presence, ...]
    stages: tuple[Spent, ...]
    latency: Latency
    sessions: tuple[float, float, float]

    @property
    def name(self) -> tuple[str, str, str, Noise | None]:
        """What tells the cells of a report apart."""
        return (self.dataset, self.system, self.generator, self.noise)


@dataclass(frozen=True)
class Run:
    """A benchmark run: its header as the runner wrote it, and its cells."""

    name: str
    header: Mapping[str, Any]
    cells: tuple[Cell, ...]


def load_run(folder: Path) -> Run:
    """Read a run's folder, line by line; a question recorded twice counts as it was last.

    Raises:
        InputError: If the folder is not that of a run, cannot be read, or names a cell twice.
    """
    header = _header(folder / "run.json")
    try:
        sessions = _sessions(folder / "sessions.jsonl")
        cells = tuple(
            _cell(folder, about, sessions, _asked(header, about)) for about in header["cells"]
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"run {folder} must hold records as a benchmark writes them: {error!r:.120}"
        ) from error
    names = [cell.name for cell in cells]
    if doubles := {name for name in names if names.count(name) > 1}:
        raise InputError(f"run {folder} must name each cell once, got {min(map(str, doubles))}")
    return Run(str(header.get("name") or folder.name), header, cells)


def key_of(record: Mapping[str, Any]) -> str:
    """What tells the questions of a dataset apart: the id, or the line where there is none."""
    return str(record.get("id") or f"line {record['line']}")


def renamed(cell: Cell, system: str) -> Cell:
    """The same cell under another system's name."""
    return replace(cell, system=system)


def _header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"run {path.parent} must be a folder with a run.json: {error.strerror}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} must be JSON, got {error}") from error
    if not isinstance(header, dict) or not isinstance(header.get("cells"), list):
        raise InputError(f"{path} must be an object with a list of cells, got {header!r:.60}")
    return header


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Objects of a JSONL file, if it is there; what was cut while it was written is left out."""
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
            if not isinstance(value, dict):
                raise InputError(f"line {number} of {path} must be an object, got {value!r:.60}")
            yield value


def _sessions(path: Path) -> dict[str, tuple[float, float, float]]:
    """Questions, seconds and busy seconds of each cell's file, over all sessions."""
    found: dict[str, tuple[float, float, float]] = defaultdict(lambda: (0.0, 0.0, 0.0))
    for line in records(path):
        n, seconds, busy = found[line["cell"]]
        found[line["cell"]] = (
            n + line["questions"],
            seconds + line["seconds"],
            busy + line.get("busy", math.nan),
        )
    return found


@dataclass
class _Columns:
    """Numbers that some rows have, by any name; a row given twice stands as it was last."""

    rows: dict[str, dict[Any, float]] = field(default_factory=dict)
    stages: dict[int | str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)

    def add(self, key: str, record: Mapping[str, Any]) -> None:
        """Take a record's numbers."""
        self.errors.pop(key, None)
        self.warned.discard(key)
        if (record.get("trace") or {}).get("warnings"):
            self.warned.add(key)
        row: dict[Any, float] = {("metric", k): v for k, v in record.get("metrics", {}).items()}
        if "error" in record:
            self.errors[key] = " ".join(str(record["error"]).split())[:300]
        tokens = record.get("tokens") or {}
        row |= {name: tokens[name] for name in ("before", "after") if name in tokens}
        for place, about in enumerate(record.get("presence") or ()):
            row["held", place, about["stage"]] = about["present"]
            row["first", place, about["stage"]] = about.get("first")
        steps = (record.get("trace") or {}).get("steps", [])
        if "trace" in record:
            row["steps"] = len(steps)
        for place, step in enumerate(steps):
            answered = "answer" in record or "generator_seconds" in record
            part = "generator" if answered and place == len(steps) - 1 else place
            self.stages.setdefault(part, str(step["stage"]).split("(")[0])
            for name in (*_COSTS, "seconds"):
                row[part, name] = step.get(name, 0)
            models = step.get("models") or {f"those of step {place}": step}
            for model, costs in models.items():
                if costs.get("tokens_out"):
                    row["writer", model] = 1
                for name in _COSTS if part == place else ():
                    row["model", model, name] = row.get(("model", model, name), 0) + costs.get(
                        name, 0
                    )
        self.rows[key] = {name: float(v) for name, v in row.items() if v is not None}

    def names(self, kind: str) -> list[Any]:
        """Names whose first part is ``kind``, in the order in which they came."""
        found = {k: None for row in self.rows.values() for k in row if isinstance(k, tuple)}
        return [name for name in found if name[0] == kind]

    def column(self, name: Any) -> Values:
        """One value a row, nan where there is none."""
        return np.array([row.get(name, math.nan) for row in self.rows.values()], dtype=np.float64)


def _asked(header: Mapping[str, Any], about: Mapping[str, Any]) -> int:
    """Questions of a cell, by itself, or by the name of its questions' file or of its dataset."""
    if "asked" in about:
        return int(about["asked"])
    counts = header.get("datasets") or {}
    found = counts.get(Path(about.get("questions") or "").stem) or counts.get(about["dataset"])
    return int((found or {}).get("questions") or 0)


def _cell(
    folder: Path,
    about: Mapping[str, Any],
    sessions: Mapping[str, tuple[float, float, float]],
    asked: int,
) -> Cell:
    columns = _Columns()
    ids: dict[str, int] = {}  # the line that has an id, should two have the same
    for record in records(folder / about["file"]):
        line, key = record["line"], key_of(record)
        columns.add(key if ids.setdefault(key, line) == line else f"{key} (line {line})", record)
    latency, timed = _latency(folder / about["latency"] if about.get("latency") else None)
    usage = _usage(columns)
    return Cell(
        file=folder / about["file"],
        dataset=str(about["dataset"]),
        system=str(about["system"]),
        generator=str(about.get("generator") or ""),
        noise=_noise(about.get("noise")),
        asked=asked,
        keys=tuple(columns.rows),
        metrics={name[1]: columns.column(name) for name in columns.names("metric")},
        before=columns.column("before"),
        after=columns.column("after"),
        failed=len(columns.errors),
        warned=len(columns.warned),
        errors=_errors(columns),
        usage=usage,
        presence=_presence(columns),
        stages=_stages(columns, timed),
        latency=latency,
        sessions=sessions.get(about["file"], (0.0, 0.0, 0.0)),
    )


def _noise(about: Mapping[str, Any] | None) -> Noise | None:
    if not about:
        return None
    return Noise(str(about["kind"]), float(about["share"]), str(about.get("position") or ""))


def _latency(path: Path | None) -> tuple[Latency, _Columns]:
    """Seconds of the questions, of the whole and by stage."""
    columns = _Columns()
    seconds: list[Sequence[float]] = []
    for number, record in enumerate(records(path) if path else ()):
        if "seconds" not in record:
            continue
        parts = (record.get("filter_seconds"), record.get("generator_seconds"))
        seconds.append([record["seconds"], *(math.nan if s is None else s for s in parts)])
        columns.add(str(number), record)
    table = np.array(seconds, dtype=np.float64).reshape(-1, 3)
    return Latency(table[:, 0], table[:, 1], table[:, 2]), columns


def _errors(columns: _Columns) -> tuple[tuple[str, int, str], ...]:
    counts = Counter(columns.errors.values())
    first = {text: key for key, text in reversed(columns.errors.items())}
    return tuple((text, n, first[text]) for text, n in counts.most_common(_MAX_ERRORS))


def _presence(columns: _Columns) -> tuple[Presence, ...]:
    return tuple(
        Presence(name[2], columns.column(name), columns.column(("first", *name[1:])))
        for name in sorted(columns.names("held"), key=lambda name: int(name[1]))
    )


def _stages(columns: _Columns, timed: _Columns) -> tuple[Spent, ...]:
    """Costs by stage, the generator's last."""
    known = columns.column("steps") * 0
    found = []
    for part, name in sorted(columns.stages.items(), key=lambda s: (s[0] == "generator", s[0])):
        calls, tokens_in, tokens_out = _step(columns, (part,), known)
        seconds = timed.column((part, "seconds"))
        found.append(Spent(name, calls, tokens_in, tokens_out, seconds))
    return tuple(found)


def _usage(columns: _Columns) -> Usage:
    """Costs by role; a model that ever wrote something, as a reader too, is an LLM."""
    known = columns.column("steps") * 0
    llm, encoder = [known] * 3, [known] * 3
    writers = {name[1] for name in columns.names("writer")}
    for model in dict.fromkeys(name[1] for name in columns.names("model")):
        spent = _step(columns, ("model", model), known)
        if model in writers:
            llm = [a + b for a, b in zip(llm, spent, strict=True)]
        else:
            encoder = [a + b for a, b in zip(encoder, spent, strict=True)]
    generator = _step(columns, ("generator",), known)
    return Usage(columns.column("before"), *llm, *encoder[:2], *generator[1:])


def _step(columns: _Columns, place: tuple[Any, ...], known: Values) -> list[Values]:
    """Calls, tokens in and out of a step or model; 0 in questions that did not come to it."""
    return [np.nan_to_num(columns.column((*place, name))) + known for name in _COSTS]
