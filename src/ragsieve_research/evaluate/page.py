"""A report as one HTML page without scripts, network or other files."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.text import safe
from ragsieve_research.evaluate.advice import advice
from ragsieve_research.evaluate.plots import Line, Point, chart, picture
from ragsieve_research.evaluate.report import Report, Row
from ragsieve_research.evaluate.stats import MeanInterval
from ragsieve_research.evaluate.tables import Table, tables

with needs_extra("bench"):
    from jinja2 import Environment, PackageLoader, StrictUndefined, Template
    from markupsafe import Markup

_Points = Mapping[str, Mapping[float, Point]]
"""Points by system, then by share of noise."""


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
    labels = dict.fromkeys(_who(row) for row in report.rows)
    numbers = {label: number for number, label in enumerate(labels, 1)}
    page = template("ragsieve_research.evaluate").render(
        report=report,
        advice=advice(report),
        numbers={row.label: numbers[_who(row)] for row in report.rows},
        runs=[_about(header) for header in report.headers],
        sections=[
            Section(name, tables(report, name), [*_pictures(report, name, numbers)])
            for name in report.datasets
        ],
    )
    return safe(page)


def to_svg(report: Report) -> str:
    """A picture of the first metric over the context's tokens, of the first dataset's rows.

    Empty where that is not measured.
    """
    metric = next(iter(report.headline), "")
    clean = report.select(report.datasets[0])
    rows = [row for row in clean if {metric, "tokens"} <= {*row.metrics}]
    if not rows or metric == "tokens_kept":
        return ""
    lines = [
        Line(number, _who(row), (replace(_point(row, metric), x=row.metrics["tokens"].value),))
        for number, row in enumerate(rows, 1)
    ]
    return safe(picture(lines, "tokens of the context", metric.replace("_", " ")))


def template(package: str) -> Template:
    """The page ``report.html.j2`` of a package; it escapes every text."""
    environment = Environment(
        loader=PackageLoader(package, "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("report.html.j2")


def _who(row: Row) -> str:
    """System and generator, with noise or without."""
    return f"{row.system} · {row.generator}" if row.generator else row.system


def _about(header: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a run, and its header without the cells and the run's file."""
    about = {name: value for name, value in header.items() if name not in ("cells", "config")}
    return str(header.get("name", "")), json.dumps(about, ensure_ascii=False, indent=1)


def _pictures(report: Report, dataset: str, numbers: Mapping[str, int]) -> Iterator[Picture]:
    """The first metric against the tokens kept, then against every kind and place of noise."""
    metric = next(iter(report.headline), "")
    clean = [row for row in report.select(dataset) if metric in row.metrics]
    kept = [row for row in clean if "tokens_kept" in row.metrics]

    def picture(name: str, caption: str, x: str, points: _Points, *, best: bool = False) -> Picture:
        lines = [Line(numbers[who], who, tuple(own.values())) for who, own in points.items()]
        return Picture(name, caption, Markup(chart(lines, x, metric.replace("_", " "), best=best)))

    if kept and metric != "tokens_kept":
        points = {_who(row): {0.0: _point(row, metric, row.metrics["tokens_kept"])} for row in kept}
        name = f"{metric.replace('_', ' ').capitalize()} against tokens kept"
        caption = "Up is more right, left is less to read; lines are 95% intervals. "
        caption += "No system is better in both than those on the dotted line."
        yield picture(name, caption, "tokens kept", points, best=True)
    noisy = [row for row in report.select(dataset, noisy=True) if metric in row.metrics]
    for kind, position in dict.fromkeys((r.noise.kind, r.noise.position) for r in noisy if r.noise):
        curves: dict[str, dict[float, Point]] = {}
        for row in noisy:
            if row.noise and (row.noise.kind, row.noise.position) == (kind, position):
                curves.setdefault(_who(row), {})[row.noise.share] = _point(row, metric)
        for row in clean:  # the documents as they were are at 0
            if _who(row) in curves:
                curves[_who(row)].setdefault(0.0, _point(row, metric))
        ordered = {who: dict(sorted(own.items())) for who, own in curves.items()}
        name = f"{kind.replace('_', ' ').capitalize()} noise"
        name += f", answer {position}" if position else ""
        caption = "The answers as more of the documents are noise; lines are 95% intervals."
        yield picture(name, caption, "noise", ordered)


def _point(row: Row, metric: str, wide: MeanInterval | None = None) -> Point:
    """A metric with its interval in per cent: at another mean, else at the share of noise."""
    mean = row.metrics[metric]
    low, high = (100 * (mean.value if math.isnan(v) else v) for v in (mean.low, mean.high))
    across = (100 * wide.low, 100 * wide.high) if wide and not math.isnan(wide.low) else None
    x = wide.value if wide else row.noise.share if row.noise else 0.0
    difference = row.differences.get(metric)
    verdict = difference.verdict if difference else ""
    return Point(100 * x, 100 * mean.value, low, high, across, verdict)
