"""Runs side by side: means with intervals, differences to a baseline, and costs.

Differences are judged by p-values that Holm's method adjusts over a column of a table: one metric
on one dataset, over all systems and generators.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from ragsieve.errors import InputError, nearest
from ragsieve_research.evaluate import stats
from ragsieve_research.evaluate.cost import derived_costs, paired
from ragsieve_research.evaluate.metrics import LOWER, METRICS
from ragsieve_research.evaluate.notes import count, documents_notes, report_notes, unable_notes
from ragsieve_research.evaluate.prices import Prices
from ragsieve_research.evaluate.records import NoiseLevel, RecordedRun, RecordTable

OVERALL = "overall"
HEADLINE = ("accuracy", "f1", "exact_match", "answer_present", "tokens_kept")
_CRAG = ("crag_accuracy", "hallucination", "missing", "crag_score", *HEADLINE[-2:])
_MAX_FAILURES = 20  # of a cell, by their words
_Group = tuple[str, NoiseLevel | None, list[RecordTable]]


@dataclass(frozen=True)
class Row:
    """A system with a generator on a dataset, or `OVERALL`: the mean over common datasets.

    Args:
        noise: The noise among the documents; None for the documents as they were.
        questions: Questions asked, those that failed included.
        failed: Those that failed; they count in every answer metric.
        metrics: Means by name.
        figures: Means of all other columns of the records by the parts of their names, such as
            ``"cost"`` and ``"stage 1 Sentences"``; see `ragsieve_research.evaluate.records`.
        differences: To the baseline, by metric; empty for the baseline itself.
    """

    dataset: str
    system: str
    generator: str
    noise: NoiseLevel | None
    questions: int
    failed: int
    metrics: Mapping[str, stats.MeanInterval]
    figures: Mapping[str, Mapping[str, stats.MeanInterval]]
    differences: Mapping[str, stats.Difference] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """System, generator and noise."""
        label = f"{self.system} · {self.generator}" if self.generator else self.system
        return f"{label} ({self.noise})" if self.noise else label

    def figure(self, part: str, name: str) -> float:
        """A figure's value; nan where it was not measured."""
        mean = self.figures.get(part, {}).get(name)
        return mean.value if mean else math.nan

    @property
    def stages(self) -> list[str]:
        """Parts of the figures that are of a stage, in order, the generator's last."""
        places = {part: int(part.split()[1]) for part in self.figures if part.startswith("stage ")}
        generators = [part for part in self.figures if part.startswith("generator ")]
        return [*sorted(places, key=places.__getitem__), *generators]


@dataclass(frozen=True)
class Failure:
    """A way in which a system failed: how often, and the first question."""

    dataset: str
    system: str
    generator: str
    noise: NoiseLevel | None
    question: str
    error: str
    times: int


@dataclass(frozen=True)
class Report:
    """A benchmark for its readers.

    Args:
        name: The runs' names.
        baseline: The system that the others are compared with; empty where there is none.
        headers: The runs' headers.
        rows: By dataset, `OVERALL` first where several are common, then by noise; those of groups
            of questions (`ragsieve_research.datasets.Entry`) last.
        failures: The ways in which cells failed.
        notes: Warnings against misreading the numbers, one line each.
        prices: Prices that break-even rests on.
    """

    name: str
    baseline: str
    headers: tuple[Mapping[str, Any], ...]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    prices: Prices

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets, `OVERALL` first where it is there."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    @property
    def headline(self) -> list[str]:
        """The metrics of the first table: the run's, or CRAG's four where every row has them."""
        measured = [row.metrics for row in self.rows if row.metrics]
        names = list(dict.fromkeys(name for metrics in measured for name in metrics))
        own = [m for header in self.headers for m in header.get("metrics") or () if m in names]
        if own:
            return list(dict.fromkeys(own))
        crag = measured and all("crag_score" in metrics for metrics in measured)
        return [m for m in (_CRAG if crag else HEADLINE) if m in names] or names[:4]

    def select(self, dataset: str, *, noisy: bool = False) -> list[Row]:
        """Rows of a dataset, without noise or with it."""
        rows = [row for row in self.rows if row.dataset == dataset]
        return [row for row in rows if (row.noise is not None) == noisy]


def summarise(
    runs: Sequence[RecordedRun],
    baseline: str | None = None,
    *,
    prices: Prices | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> Report:
    """Compare the systems of one run or several.

    Questions are paired by dataset and id. Systems that two runs call the same on the same dataset
    become ``RUN/SYSTEM``. The overall rows are over the datasets that every system has.

    Args:
        runs: At least one.
        baseline: Label of the system to compare with; that of the first run's header where None.
        prices: Prices of tokens; the generator's 1 in and 4 out, the filter's the same, where None.
        draws: Bootstrap samples and random flips of each number.
        seed: Of the random numbers.

    Raises:
        InputError: If there is no cell, the baseline is not among the systems, two runs have the
            same name and system, or a dataset's questions differ between them.
    """
    cells = _joined(runs)
    base = _baseline(runs, cells, baseline)
    prices = prices or Prices()
    groups = _groups(cells)
    compared = {c.dataset for name, _, group in groups if name == OVERALL for c in group}
    rows: list[Row] = []
    for (dataset, _), table in groupby(groups, key=lambda g: (g[0], g[1])):
        members = [group for *_, group in table]
        bases = {group[0].generator: group for group in members if group[0].system == base}
        rows += _adjusted(
            [
                _row(dataset, group, bases.get(group[0].generator, []), prices, draws, seed)
                for group in members
            ]
        )
    return Report(
        name=", ".join(run.name for run in runs),
        baseline=base,
        headers=tuple(run.header for run in runs),
        rows=tuple(rows),
        failures=tuple(failure for cell in cells for failure in _failures(cell)),
        notes=(
            *report_notes(cells, base, compared),
            *documents_notes(run.header for run in runs),
            *unable_notes(run.header for run in runs),
        ),
        prices=prices,
    )


def _joined(runs: Sequence[RecordedRun]) -> list[RecordTable]:
    """All cells, systems renamed where two runs have the same cell."""
    _check_datasets(runs)
    times = Counter(cell.name for run in runs for cell in run.cells)
    cells = []
    for run in runs:
        twice = {cell.system for cell in run.cells if times[cell.name] > 1}
        cells += [
            replace(cell, system=f"{run.name}/{cell.system}") if cell.system in twice else cell
            for cell in run.cells
        ]
    for name, uses in Counter(cell.name for cell in cells).items():
        if uses > 1:
            raise InputError(
                f"runs must differ in name where they have the same system, got {name[1]!r} "
                f"on {name[0]!r} twice"
            )
    if not cells:
        raise InputError("a report needs at least one cell, got none")
    if len({cell.generator for cell in cells}) == 1:  # the header names it
        cells = [replace(cell, generator="") for cell in cells]
    return cells


def _check_datasets(runs: Sequence[RecordedRun]) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for run in runs:
        for name, about in (run.header.get("datasets") or {}).items():
            digest = (about or {}).get("sha256") or ""
            other, known = seen.setdefault(name, (run.name, digest))
            if digest and known and digest != known:
                raise InputError(
                    f"dataset {name!r} must be the same in all runs, "
                    f"got other questions in {run.name!r} than in {other!r}"
                )


def _baseline(runs: Sequence[RecordedRun], cells: Sequence[RecordTable], named: str | None) -> str:
    systems = {cell.system for cell in cells}
    wanted = named or next((b for run in runs if (b := run.header.get("baseline"))), "")
    for label in (wanted, *(f"{run.name}/{wanted}" for run in runs)):
        if label in systems:
            return label
    if named:
        known, near = ", ".join(sorted(systems)), nearest(named, systems)
        raise InputError(f"baseline must be one of {known}, got {named!r}{near}")
    return ""


def _groups(cells: Sequence[RecordTable]) -> list[_Group]:
    """Cells that make a row each, those of a table beside each other."""
    systems: dict[tuple[str, str], list[RecordTable]] = {}
    for cell in (c for c in cells if c.noise is None):
        systems.setdefault((cell.system, cell.generator), []).append(cell)
    names = list(dict.fromkeys(c.dataset for c in cells))
    held = [{c.dataset for c in group if c.keys} for group in systems.values()]
    common = [name for name in names if all(name in h for h in held)]
    overall: list[_Group] = []
    if systems and len(common) > 1:
        overall = [
            (OVERALL, None, [c for name in common for c in group if c.dataset == name])
            for group in systems.values()
        ]
    keys = {key for cell in cells for row in cell.groups for key in row}
    parts = [part for cell in cells for part in cell.parts(named=len(keys) > 1)]
    return [*overall, *_singles(cells), *_singles(parts)]


def _singles(cells: Sequence[RecordTable]) -> list[_Group]:
    """A row a cell, those of a dataset beside each other, without noise first."""
    names = list(dict.fromkeys(c.dataset for c in cells))
    single: list[_Group] = [(c.dataset, c.noise, [c]) for c in cells]
    single.sort(key=lambda g: (names.index(g[0]), g[1] is not None, g[1] or NoiseLevel("", 0)))
    return single


def _row(
    dataset: str,
    cells: list[RecordTable],
    base: list[RecordTable],
    prices: Prices,
    draws: int,
    seed: int,
) -> Row:
    metrics, differences = {}, {}
    for name in dict.fromkeys(n for c in cells for part, n in c.columns if part == "metrics"):
        values = [cell.known("metrics", name) for cell in cells]
        if not all(map(len, values)):
            continue
        exact = name not in METRICS or METRICS[name].group != "cost"
        metrics[name] = stats.interval(values, draws=draws, seed=seed, exact=exact)
        others = [] if base is cells or not base else zip(cells, base, strict=True)
        pairs = [paired(own, other, "metrics", name) for own, other in others]
        if pairs and all(len(own) for own, _ in pairs):
            differences[name] = stats.compare(
                [own for own, _ in pairs],
                [other for _, other in pairs],
                draws=draws,
                seed=seed,
                lower_is_better=name in LOWER,
                exact=exact,
            )
    figures = _figures(cells)
    for name, value in derived_costs(cells, base, prices).items():
        figures.setdefault("cost", {})[name] = stats.MeanInterval(value, math.nan, math.nan, 0)
    return Row(
        dataset=dataset,
        system=cells[0].system,
        generator=cells[0].generator,
        noise=cells[0].noise,
        questions=sum(len(cell.keys) for cell in cells),
        failed=count(cells, "failed"),
        metrics=metrics,
        figures=figures,
        differences=differences,
    )


def _figures(cells: Sequence[RecordTable]) -> dict[str, dict[str, stats.MeanInterval]]:
    """Means of the columns that every cell has, but metrics."""
    figures: dict[str, dict[str, stats.MeanInterval]] = {}
    for part, name in cells[0].columns:
        if part != "metrics" and all((part, name) in cell.columns for cell in cells):
            groups = [cell.known(part, name) for cell in cells]
            mean = stats.MeanInterval(
                stats.group_mean(groups), math.nan, math.nan, sum(map(len, groups))
            )
            figures.setdefault(part, {})[name] = mean
    return figures


def _adjusted(rows: Sequence[Row]) -> list[Row]:
    """Rows whose differences are judged by Holm's p-values over each metric."""
    adjusted: list[dict[str, stats.Difference]] = [dict(row.differences) for row in rows]
    for name in {name for differences in adjusted for name in differences}:
        having = [differences for differences in adjusted if name in differences]
        ps = stats.holm([differences[name].p for differences in having])
        for differences, p in zip(having, ps, strict=True):
            differences[name] = differences[name].judged(p, lower_is_better=name in LOWER)
    return [replace(row, differences=d) for row, d in zip(rows, adjusted, strict=True)]


def _failures(cell: RecordTable) -> list[Failure]:
    """The most common ways to fail first."""
    failed = [(error, key) for error, key in zip(cell.errors, cell.keys, strict=True) if error]
    first = dict(reversed(failed))
    who = (cell.dataset, cell.system, cell.generator, cell.noise)
    common = Counter(error for error, _ in failed).most_common(_MAX_FAILURES)
    return [Failure(*who, first[error], error, times) for error, times in common]
