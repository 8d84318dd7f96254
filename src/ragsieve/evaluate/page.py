"""A report as one HTML page without scripts, network or other files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragsieve.errors import MissingExtra
from ragsieve.evaluate import plots
from ragsieve.evaluate.advice import advice
from ragsieve.evaluate.plots import COLOURS, Line, Point
from ragsieve.evaluate.report import Report, Row
from ragsieve.evaluate.stats import Mean
from ragsieve.evaluate.tables import Table, tables
from ragsieve.text import safe

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "jinja2", extra="bench") from error


@dataclass(frozen=True)
class Picture:
    """A plot with its caption."""

    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Section:
    """A dataset's tables and plots."""

    name: str
    tables: Sequence[Table]
    pictures: Sequence[Picture]


def to_html(report: Report) -> str:
    """The report as a page, every text in it escaped and without control characters."""
    environment = Environment(
        loader=PackageLoader("ragsieve.evaluate", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    labels = dict.fromkeys(_who(row) for row in report.rows)
    numbers = {label: number for number, label in enumerate(labels, 1)}
    page = environment.get_template("report.html.j2").render(
        report=report,
        advice=advice(report),
        legend=[(n, label, COLOURS[(n - 1) % len(COLOURS)]) for label, n in numbers.items()],
        runs=[_about(header) for header in report.headers],
        sections=[
            Section(
                name,
                tables(report, name),
                [*_tradeoff(report.select(name), report, numbers), *_noise(report, name, numbers)],
            )
            for name in report.datasets
        ],
    )
    return safe(page)


def _who(row: Row) -> str:
    """System and generator, with noise or without."""
    return f"{row.system} · {row.generator}" if row.generator else row.system


def _about(header: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a run, and its header without the cells and the run's file."""
    about = {name: value for name, value in header.items() if name not in ("cells", "config")}
    return str(header.get("name", "")), json.dumps(about, ensure_ascii=False, indent=1)


def _tradeoff(rows: Sequence[Row], report: Report, numbers: Mapping[str, int]) -> Iterator[Picture]:
    """The first metric against the tokens kept."""
    metric = next(iter(report.headline), "")
    lines = [
        Line(numbers[_who(row)], _who(row), (_point(kept.value, quality, kept),))
        for row in rows
        if (kept := row.metrics.get("tokens_kept")) and (quality := row.metrics.get(metric))
    ]
    if lines and metric != "tokens_kept":
        name = metric.replace("_", " ")
        caption = (
            "Left and up is better; bars are 95% intervals. Dotted: no system is better in both."
        )
        svg = Markup(plots.tradeoff(lines, name))
        yield Picture(f"{name.capitalize()} against tokens kept", caption, svg)


def _point(x: float, mean: Mean, wide: Mean | None = None) -> Point:
    """A mean with its interval in per cent, at a share ``x`` in per cent."""
    low, high = (mean.value if math.isnan(v) else v for v in (mean.low, mean.high))
    across = (100 * wide.low, 100 * wide.high) if wide and not math.isnan(wide.low) else None
    return Point(100 * x, 100 * mean.value, 100 * low, 100 * high, across)


def _noise(report: Report, dataset: str, numbers: Mapping[str, int]) -> Iterator[Picture]:
    """A plot for every kind and position of noise; the documents as they were are at 0."""
    metric = next(iter(report.headline), "")
    rows = [row for row in report.select(dataset, noisy=True) if metric in row.metrics]
    clean = [row for row in report.select(dataset) if metric in row.metrics]
    for kind, position in dict.fromkeys((r.noise.kind, r.noise.position) for r in rows if r.noise):
        points: dict[str, dict[float, Point]] = {}
        for row in rows:
            if row.noise and (row.noise.kind, row.noise.position) == (kind, position):
                share = row.noise.share
                points.setdefault(_who(row), {})[share] = _point(share, row.metrics[metric])
        for row in clean:
            if _who(row) in points:
                points[_who(row)].setdefault(0.0, _point(0, row.metrics[metric]))
        lines = [
            Line(numbers[label], label, tuple(own[x] for x in sorted(own)))
            for label, own in points.items()
        ]
        where = f", answer {position}" if position else ""
        name = f"{kind.replace('_', ' ').capitalize()} noise{where}"
        svg = Markup(plots.curves(lines, "noise, %", metric.replace("_", " ")))
        yield Picture(name, "Bars are 95% intervals.", svg)
