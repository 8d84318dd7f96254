"""A report as one HTML page that needs nothing beside: no network, no scripts, no other file."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragsieve.errors import MissingExtra
from ragsieve.evaluate import plots
from ragsieve.evaluate.advice import advice
from ragsieve.evaluate.cases import Case
from ragsieve.evaluate.plots import COLOURS, Arrow, Bar, Line, Point, Shares, Spot
from ragsieve.evaluate.report import Report, Row
from ragsieve.evaluate.stats import Mean
from ragsieve.evaluate.stories import Story, chapters, short
from ragsieve.evaluate.tables import sections
from ragsieve.text import safe

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "jinja2", extra="bench") from error


@dataclass(frozen=True)
class Picture:
    """A plot with what it shows."""

    title: str
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Tale:
    """A question's story: its clusters as a plot, and to be read."""

    question: str
    who: str
    about: str
    svg: Markup | None
    chapters: Sequence[tuple[str, list[str]]]


@dataclass(frozen=True)
class Section:
    """A dataset's tables, plots, cases and stories."""

    name: str
    cases: Sequence[Case]
    tables: Sequence[tuple[str, list[str], list[list[str]]]]
    pictures: Sequence[Picture]
    tales: Sequence[Tale]


def to_html(report: Report) -> str:
    """The whole report as a page, every text in it escaped and without control characters."""
    environment = Environment(
        loader=PackageLoader("ragsieve.evaluate", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    numbers = {label: n for n, label in enumerate(dict.fromkeys(r.label for r in report.rows), 1)}
    page = environment.get_template("report.html.j2").render(
        report=report,
        advice=advice(report),
        legend=[(n, label, COLOURS[(n - 1) % len(COLOURS)]) for label, n in numbers.items()],
        runs=[_about(header) for header in report.headers],
        sections=[
            Section(
                name,
                [case for case in report.cases if case.dataset == name],
                sections(report, name),
                _pictures(report, name, numbers),
                [_tale(story) for story in report.stories if story.dataset == name],
            )
            for name in report.datasets
        ],
    )
    return safe(page)


def _about(header: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run says about itself, as pairs of name and text."""
    names = ("name", "about", "started", "ragsieve", "command", "seed", "workers", "machine")
    pairs = [(n, header[n]) for n in (*names, "versions", "models", "datasets") if header.get(n)]
    return [(name, _text(value)) for name, value in pairs]


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return shlex.join(value)
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_inner(inner)}" for key, inner in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _inner(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_inner(inner)}" for key, inner in value.items())
    return _text(value)


def _pictures(report: Report, dataset: str, numbers: Mapping[str, int]) -> list[Picture]:
    rows = report.select(dataset)
    metric = next(iter(report.headline), "")
    found = [
        _tradeoff(rows, metric, numbers),
        _latency(rows, numbers),
        _presence(rows, numbers),
        _merging(rows, numbers),
        *_noise(report, dataset, metric, numbers),
    ]
    return [picture for picture in found if picture]


def _tradeoff(rows: Sequence[Row], metric: str, numbers: Mapping[str, int]) -> Picture | None:
    lines = []
    for row in rows:
        kept, quality = row.metrics.get("tokens_kept"), row.metrics.get(metric)
        if kept and quality:
            lines.append(Line(numbers[row.label], row.label, (_point(kept.value, quality, kept),)))
    if not lines or metric == "tokens_kept":
        return None
    caption = "Left and up is better; bars are 95% intervals. Dotted: no system is better in both."
    name = metric.replace("_", " ")
    title = f"{name.capitalize()} against tokens kept"
    return Picture(title, caption, Markup(plots.tradeoff(lines, name)))


def _point(x: float, mean: Mean, wide: Mean | None = None) -> Point:
    """A mean with its interval in per cent, at a share ``x`` in per cent."""
    low, high = (mean.value if math.isnan(v) else v for v in (mean.low, mean.high))
    across = (100 * wide.low, 100 * wide.high) if wide and not math.isnan(wide.low) else None
    return Point(100 * x, 100 * mean.value, 100 * low, 100 * high, across)


def _latency(rows: Sequence[Row], numbers: Mapping[str, int]) -> Picture | None:
    bars = [
        Bar(
            numbers[row.label],
            row.label,
            row.cost.filter_seconds,
            row.cost.generator_seconds,
            row.cost.p95,
        )
        for row in rows
        if not math.isnan(row.cost.filter_seconds + row.cost.generator_seconds)
    ]
    if not bars:
        return None
    caption = (
        "Blue: mean of the filter. Orange: mean of the generator. The line ends at the 95th "
        "percentile of the whole."
    )
    return Picture("Seconds a question", caption, Markup(plots.latency(bars)))


def _presence(rows: Sequence[Row], numbers: Mapping[str, int]) -> Picture | None:
    lines = [
        Line(
            numbers[row.label],
            row.label,
            tuple(
                Point(place, 100 * s.held, 100 * s.held, 100 * s.held)
                for place, s in enumerate(row.presence)
                if not math.isnan(s.held)
            ),
        )
        for row in rows
    ]
    lines = [line for line in lines if line.points]
    if not lines:
        return None
    caption = (
        "Of the questions whose documents hold an answer, how many still do after each stage; "
        "0 are the documents as given. The table below names the stages."
    )
    svg = Markup(plots.curves(lines, "stage", "answer held", whole=True))
    return Picture("Answers held by stage", caption, svg)


def _merging(rows: Sequence[Row], numbers: Mapping[str, int]) -> Picture | None:
    """What merging keeps; a kind without documents of one sort has an empty bar there."""
    shares = []
    for row in rows:
        for kind in row.winnowing.merging if row.winnowing else ():
            pairs = [
                (0.0 if math.isnan(m.value) else 100 * m.value, f"{n:,} documents that hold {what}")
                for m, n, what in (
                    (kind.holding, kind.n_holding, "a gold answer"),
                    (kind.others, kind.n_others, "none"),
                )
            ]
            first, second = (
                (share, f"{row.label}, {kind.by}: {share:.1f} % kept of {text}")
                for share, text in pairs
            )
            shares.append(Shares(numbers[row.label], kind.by, (first, second)))
    if not shares:
        return None
    caption = (
        "By system and kind of merging. Blue: of the documents that hold a gold answer. Orange: "
        "of those that hold none. A good merging keeps more of the first."
    )
    return Picture("What merging keeps", caption, Markup(plots.merging(shares)))


def _tale(story: Story) -> Tale:
    verdict = "" if story.right is None else "right: " if story.right >= 0.5 else "wrong: "
    gold = f" Gold: {short('; '.join(story.gold[:8]), 200)}." if story.gold else ""
    return Tale(
        story.question,
        f"{story.system} · {story.generator}" if story.generator else story.system,
        f"{verdict}“{short(story.end.answer, 200)}”, {short(story.end.why, 200)}.{gold}",
        _clusters(story),
        chapters(story),
    )


def _clusters(story: Story) -> Markup | None:
    """The plot; none where no document has a place."""
    fell = {f.document: (merge, f) for merge in story.merges for f in merge.dropped}
    spots = []
    for placed in story.clusters:
        if placed.x is None or placed.y is None or not math.isfinite(placed.x + placed.y):
            continue
        kept, holds = placed.document in story.end.documents, placed.document in story.holding
        became = "kept" if kept else "not behind the answer"
        if placed.document in fell and not kept:
            merge, fallen = fell[placed.document]
            became = f"{merge}: {fallen.broken}" if fallen.broken else f"dropped by {merge}"
        title = f"{short(placed.title, 80)} ({short(placed.document, 80)}), agent {placed.agent}"
        text = f"{title}{', holds a gold answer' if holds else ''}; {became}"
        spots.append(Spot(placed.x, placed.y, placed.agent, text.lstrip(), kept, holds))
    arrows = [
        Arrow(of, m.into, f"{m}: {len(m.kept)} kept, {len(m.dropped)} dropped", m.round > 0)
        for m in story.merges
        for of in m.of
        if m.into is not None
    ]
    name = f"Clusters of the question {story.question}"
    return Markup(plots.clusters(spots, arrows, name)) if spots else None


def _noise(report: Report, dataset: str, metric: str, numbers: Mapping[str, int]) -> list[Picture]:
    """A plot for every kind and position of noise; the documents as they were are at 0."""
    rows = [row for row in report.select(dataset, noisy=True) if metric in row.metrics]
    clean = {row.label: row for row in report.select(dataset) if metric in row.metrics}
    pictures = []
    for kind, position in dict.fromkeys((r.noise.kind, r.noise.position) for r in rows if r.noise):
        points: dict[str, dict[float, Point]] = {}
        for row in rows:
            if not row.noise or (row.noise.kind, row.noise.position) != (kind, position):
                continue
            if row.label not in points:
                start = clean.get(row.label)
                points[row.label] = {0: _point(0, start.metrics[metric])} if start else {}
            share = row.noise.share
            points[row.label][share] = _point(share, row.metrics[metric])
        lines = [
            Line(numbers[label], label, tuple(found[x] for x in sorted(found)))
            for label, found in points.items()
        ]
        where = f", answer {position}" if position else ""
        name = f"{kind.replace('_', ' ').capitalize()} noise{where}"
        svg = Markup(plots.curves(lines, "noise, %", metric.replace("_", " ")))
        pictures.append(Picture(name, "Bars are 95% intervals.", svg))
    return pictures
