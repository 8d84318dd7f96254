"""Runs side by side: means with intervals, differences to a baseline, costs, what got lost where.

Differences are judged by p-values that Holm's method adjusts over a column of a table: one metric
on one dataset, over all systems and generators.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.evaluate.cases import Case, told_apart
from ragsieve.evaluate.cells import Cell, Noise, Run, renamed
from ragsieve.evaluate.cost import Cost, Prices, cost
from ragsieve.evaluate.metrics import LOWER, METRICS
from ragsieve.evaluate.returned import Returned, returned, together
from ragsieve.evaluate.stages import StageCost, Survival, finite, stage_costs, survival
from ragsieve.evaluate.stats import Difference, Mean, Values, compare, holm, interval
from ragsieve.evaluate.stories import Story
from ragsieve.evaluate.winnowing import Winnowing, tally, winnowing

OVERALL = "overall"
HEADLINE = ("accuracy", "f1", "exact_match", "answer_present", "tokens_kept")
_CRAG = ("crag_accuracy", "hallucination", "missing", "crag_score", *HEADLINE[-2:])


@dataclass(frozen=True)
class Row:
    """A system with a generator on a dataset, or `OVERALL`: the mean over common datasets.

    Args:
        noise: What was mixed in; None for the documents as they were.
        questions: Questions asked, those that failed included.
        failed: Those that failed; they count in every answer metric.
        metrics: Means by name.
        differences: To the baseline, by metric; empty for the baseline itself.
        presence: Empty where no stage was watched, or datasets have other stages.
        stages: The same of costs.
        winnowing: What winnowing did; None where a dataset's records tell no story.
        returned: What another framework's filter gave back; None of any other system.
    """

    dataset: str
    system: str
    generator: str
    noise: Noise | None
    questions: int
    failed: int
    metrics: Mapping[str, Mean]
    cost: Cost
    presence: tuple[Survival, ...]
    stages: tuple[StageCost, ...]
    winnowing: Winnowing | None = None
    returned: Returned | None = None
    differences: Mapping[str, Difference] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """System and generator."""
        return f"{self.system} · {self.generator}" if self.generator else self.system


@dataclass(frozen=True)
class Failure:
    """A way in which a system failed: how often, and the first question."""

    dataset: str
    system: str
    generator: str
    noise: Noise | None
    question: str
    error: str
    times: int


@dataclass(frozen=True)
class Report:
    """Everything a reader of a benchmark is told.

    Args:
        name: The runs' names.
        baseline: The system that the others are compared with; empty where there is none.
        headers: What each run says about itself.
        rows: By dataset, `OVERALL` first where several are common, then by noise.
        failures: The ways in which cells failed.
        cases: Some questions that tell the systems apart.
        stories: What became of the first questions, where a stage tells it.
        notes: What a reader must know to not misread the numbers, one line each.
        prices: What break-even and prices rest on.
    """

    name: str
    baseline: str
    headers: tuple[Mapping[str, Any], ...]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]
    cases: tuple[Case, ...]
    stories: tuple[Story, ...]
    notes: tuple[str, ...]
    prices: Prices

    @property
    def datasets(self) -> list[str]:
        """Names of the datasets, `OVERALL` first where it is there."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics, the headline's first."""
        found = dict.fromkeys(name for row in self.rows for name in row.metrics)
        first = self._first
        return [m for m in first if m in found] + [m for m in found if m not in first]

    @property
    def headline(self) -> list[str]:
        """The metrics of the first table: CRAG's four for answers where every row has them."""
        return [m for m in self.metrics if m in self._first] or self.metrics[:4]

    @property
    def _first(self) -> tuple[str, ...]:
        measured = [row.metrics for row in self.rows if row.metrics]
        return _CRAG if measured and all("crag_score" in m for m in measured) else HEADLINE

    def select(self, dataset: str, *, noisy: bool = False) -> list[Row]:
        """Rows of a dataset, without noise or with it."""
        rows = [row for row in self.rows if row.dataset == dataset]
        return [row for row in rows if (row.noise is not None) == noisy]


def lower_is_better(metric: str) -> bool:
    """Whether a smaller value of a metric is better; metrics of one's own are taken as higher."""
    return metric in LOWER


def summarise(
    runs: Sequence[Run],
    baseline: str | None = None,
    *,
    prices: Prices | None = None,
    stories: int = 3,
    draws: int = 10_000,
    seed: int = 0,
) -> Report:
    """Compare the systems of one run or several.

    Questions are paired by dataset and id. Systems that two runs call the same on the same dataset
    become ``RUN/SYSTEM``. The overall rows are over the datasets that every system has.

    Args:
        runs: At least one.
        baseline: Label of the system to compare with; that of the first run's header where None.
        prices: What tokens cost; the generator's 1 in and 4 out, the filter's the same, where None.
        stories: Questions of each dataset and system whose story is told; those without noise.
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
    tallies = {cell.name: tally(cell, stories if cell.noise is None else 0) for cell in cells}
    rows: list[Row] = []
    for (dataset, _), table_of in groupby(groups, key=lambda g: (g[0], g[1])):
        members = [group for *_, group in table_of]
        bases = {group[0].generator: group for group in members if group[0].system == base}
        table = []
        for group in members:
            row = _row(dataset, group, bases.get(group[0].generator, []), prices, draws, seed)
            told = winnowing([tallies[cell.name] for cell in group], draws=draws, seed=seed)
            counts = together([returned(cell) for cell in group])
            table.append(replace(row, winnowing=told, returned=counts))
        rows += _adjusted(table)
    return Report(
        name=", ".join(run.name for run in runs),
        baseline=base,
        headers=tuple(run.header for run in runs),
        rows=tuple(rows),
        failures=tuple(
            Failure(c.dataset, c.system, c.generator, c.noise, key, text, times)
            for c in cells
            for text, times, key in c.errors
        ),
        cases=tuple(told_apart(cells)),
        stories=tuple(story for one in tallies.values() if one for story in one.stories),
        notes=tuple(_notes(cells, base, groups)),
        prices=prices,
    )


def _joined(runs: Sequence[Run]) -> list[Cell]:
    """All cells, systems renamed where two runs have the same cell."""
    _check_datasets(runs)
    times = Counter(cell.name for run in runs for cell in run.cells)
    cells = []
    for run in runs:
        twice = {cell.system for cell in run.cells if times[cell.name] > 1}
        cells += [
            renamed(cell, f"{run.name}/{cell.system}") if cell.system in twice else cell
            for cell in run.cells
        ]
    for name, count in Counter(cell.name for cell in cells).items():
        if count > 1:
            raise InputError(
                f"runs must differ in name where they have the same system, got {name[1]!r} "
                f"on {name[0]!r} twice"
            )
    if not cells:
        raise InputError("a report needs at least one cell, got none")
    if len({cell.generator for cell in cells}) == 1:  # the header names it
        cells = [replace(cell, generator="") for cell in cells]
    return cells


def _check_datasets(runs: Sequence[Run]) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for run in runs:
        for name, about in (run.header.get("datasets") or {}).items():
            mark = (about or {}).get("sha256") or ""
            other, known = seen.setdefault(name, (run.name, mark))
            if mark and known and mark != known:
                raise InputError(
                    f"dataset {name!r} must be the same in all runs, "
                    f"got other questions in {run.name!r} than in {other!r}"
                )


def _baseline(runs: Sequence[Run], cells: Sequence[Cell], asked: str | None) -> str:
    systems = {cell.system for cell in cells}
    wanted = asked or next((b for run in runs if (b := run.header.get("baseline"))), "")
    for label in (wanted, *(f"{run.name}/{wanted}" for run in runs)):
        if label in systems:
            return label
    if asked:
        raise InputError(f"baseline must be one of {', '.join(sorted(systems))}, got {asked!r}")
    return ""


_Group = tuple[str, Noise | None, list[Cell]]


def _groups(cells: Sequence[Cell]) -> list[_Group]:
    """Cells that make a row each, those of a table beside each other."""
    systems: dict[tuple[str, str], list[Cell]] = {}
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
    single: list[_Group] = [(c.dataset, c.noise, [c]) for c in cells]
    place = {name: index for index, name in enumerate(names)}
    single.sort(key=lambda g: (place[g[0]], g[1] is not None, g[1] or Noise("", 0)))
    return overall + single


def _row(
    dataset: str, cells: list[Cell], base: list[Cell], prices: Prices, draws: int, seed: int
) -> Row:
    metrics, differences = {}, {}
    for name in dict.fromkeys(name for cell in cells for name in cell.metrics):
        values = [finite(cell.metrics.get(name, np.empty(0))) for cell in cells]
        if not all(map(len, values)):
            continue
        exact = name not in METRICS or METRICS[name].group != "cost"
        metrics[name] = interval(values, draws=draws, seed=seed, exact=exact)
        others = [] if base is cells or not base else zip(cells, base, strict=True)
        pairs = [_paired(ours, theirs, name) for ours, theirs in others]
        if pairs and all(len(ours) for ours, _ in pairs):
            differences[name] = compare(
                [ours for ours, _ in pairs],
                [theirs for _, theirs in pairs],
                draws=draws,
                seed=seed,
                lower_is_better=lower_is_better(name),
            )
    return Row(
        dataset=dataset,
        system=cells[0].system,
        generator=cells[0].generator,
        noise=cells[0].noise,
        questions=sum(len(cell.keys) for cell in cells),
        failed=sum(cell.failed for cell in cells),
        metrics=metrics,
        cost=cost(cells, base, prices),
        presence=survival(cells),
        stages=stage_costs(cells),
        differences=differences,
    )


def _paired(a: Cell, b: Cell, metric: str) -> tuple[Values, Values]:
    """Values of the questions that both have, in the same order."""
    if metric not in a.metrics or metric not in b.metrics:
        return np.empty(0), np.empty(0)
    place = {key: index for index, key in enumerate(b.keys)}
    both = [(i, place[key]) for i, key in enumerate(a.keys) if key in place]
    ours = a.metrics[metric][[i for i, _ in both]] if both else np.empty(0)
    theirs = b.metrics[metric][[j for _, j in both]] if both else np.empty(0)
    known = np.isfinite(ours) & np.isfinite(theirs)
    return ours[known], theirs[known]


def _adjusted(rows: Sequence[Row]) -> list[Row]:
    """Rows whose differences are judged by Holm's p-values over each metric."""
    found: list[dict[str, Difference]] = [dict(row.differences) for row in rows]
    for name in {name for differences in found for name in differences}:
        having = [differences for differences in found if name in differences]
        ps = holm([differences[name].p for differences in having])
        for differences, p in zip(having, ps, strict=True):
            lower = lower_is_better(name)
            differences[name] = differences[name].judged(p, lower_is_better=lower)
    return [replace(row, differences=d) for row, d in zip(rows, found, strict=True)]


def _notes(cells: Sequence[Cell], base: str, groups: Sequence[_Group]) -> list[str]:
    notes, unfinished = [], []
    for cell in cells:
        if len(cell.keys) < cell.asked:
            where = f"{cell.system} on {cell.dataset}{f' ({cell.noise})' if cell.noise else ''}"
            unfinished.append(f"{where} ({len(cell.keys)} of {cell.asked} questions)")
    if unfinished:
        more = f" and {len(unfinished) - 5} more" if len(unfinished) > 5 else ""
        notes.append(f"Unfinished: {', '.join(unfinished[:5])}{more}")
    if failed := sum(cell.failed for cell in cells):
        where = ", ".join(sorted({cell.system for cell in cells if cell.failed}))
        notes.append(f"{failed} of {sum(len(c.keys) for c in cells)} answers failed: {where}")
    if warned := sum(cell.warned for cell in cells):
        where = ", ".join(sorted({cell.system for cell in cells if cell.warned}))
        notes.append(f"{warned} answers were made without a source or a stage that failed: {where}")
    if not base:
        notes.append("No baseline is named, so no system is compared with another")
    if untimed := sorted({c.system for c in cells if not len(c.latency.total)}):
        notes.append(f"Not measured for latency everywhere: {', '.join(untimed)}")
    notes += _judge(cells)
    over = {c.dataset for name, _, group in groups if name == OVERALL for c in group}
    if over and (left := sorted({c.dataset for c in cells} - over)):
        notes.append(f"Not every system was asked {', '.join(left)}: left out of the overall rows")
    return notes


def _judge(cells: Sequence[Cell]) -> list[str]:
    """How far a judge agrees with exact match, where both have judged."""
    both = [
        (cell.metrics["judge"] >= 0.5, cell.metrics["exact_match"] >= 0.5)
        for cell in cells
        if "judge" in cell.metrics and "exact_match" in cell.metrics
    ]
    if not both:
        return []
    judge, exact = (np.concatenate(part) for part in zip(*both, strict=True))
    agree, by_chance = float((judge == exact).mean()), 0.0
    for right in (True, False):
        by_chance += float((judge == right).mean() * (exact == right).mean())
    kappa = (agree - by_chance) / (1 - by_chance) if by_chance < 1 else math.nan
    return [
        f"The judge agrees with exact match on {agree:.1%} of {len(judge)} answers "
        f"(Cohen's kappa {kappa:.2f}); it calls {judge.mean():.1%} right, exact match "
        f"{exact.mean():.1%}"
    ]
