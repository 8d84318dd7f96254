"""Plots of a report as inline SVG: text and axes take the page's colour, points show a value.

Systems are numbered as in the page's tables, so that neither long nor strange names meet a plot.
A point's colour is its verdict against the baseline, in the page's own ``--better``, ``--worse``
and ``--tie``.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ragsieve.errors import needs_extra

with needs_extra("bench"):
    from matplotlib import rc_context
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_INK, _PAPER = "#010203", "#010204"  # become the page's own colours
_VERDICTS = {"better": "#010205", "worse": "#010206", "tie": "#010207", "": _INK}
_COLOURS = {_INK: "currentColor", _PAPER: "var(--paper)"} | {
    colour: f"var(--{verdict})" for verdict, colour in _VERDICTS.items() if verdict
}
_DASHES = ("-", "--", ":", "-.")
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "ragsieve",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 11,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), _INK),
    **dict.fromkeys(("xtick.color", "ytick.color", "grid.color"), _INK),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.15,
}


@dataclass(frozen=True)
class Point:
    """A place with its interval; ``low`` and ``high`` are of y, ``wide`` of x.

    ``verdict`` is "better", "worse" or "tie", empty where nothing is compared.
    """

    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    wide: tuple[float, float] | None = None
    verdict: str = ""


@dataclass(frozen=True)
class Line:
    """A system's points, under its number in the tables; 0 where there is but one line."""

    number: int
    label: str
    points: tuple[Point, ...]


def front(points: Sequence[Point]) -> list[Point]:
    """Points to which none other is at least as good in both: small x, large y; by rising x."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.x, -p.y)):
        if not best or point.y > best[-1].y:
            best.append(point)
    return best


def picture(lines: Sequence[Line], x: str, y: str) -> str:
    """A file of its own: the first point of each line, with its name beside the axes, and through
    it and the others a curve."""
    with rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(7.2, 4.0), layout="constrained", facecolor=_PAPER)
        axes = figure.subplots()
        axes.set(xlabel=x, ylabel=f"{y}, %", axisbelow=True, facecolor=_PAPER)
        ends = front([line.points[0] for line in lines if len(line.points) == 1])
        axes.step([p.x for p in ends], [p.y for p in ends], where="post", color=_INK, lw=1, ls=":")
        for line in lines:
            curve = sorted((point.x, point.y) for point in line.points)
            axes.plot(*zip(*curve, strict=True), color=_INK, lw=1.2, alpha=0.4)
            for _ in _drawn(axes, line.number, line.points[0]):
                pass
        axes.set_xlim(left=-0.02 * max(line.points[0].x for line in lines))
        names = "\n".join(f"{line.number}  {line.label}" for line in lines)
        figure.text(1.01, 0.5, names, fontsize=9, va="center", color=_INK)
        svg = _svg(figure, f"{y} by {x}", [], tight=True)
    plain = {"currentColor": "#16191d", "var(--paper)": "#fff", "var(--better)": "#0b6b57"}
    plain |= {"var(--worse)": "#a33c00", "var(--tie)": "#6b7480"}
    for name, colour in plain.items():
        svg = svg.replace(name, colour)
    return svg + "\n"


def chart(lines: Sequence[Line], x: str, y: str, *, shares: bool = True, best: bool = False) -> str:
    """Lines with the intervals of their points, each of which shows its numbers when pointed at.

    Args:
        lines: At least one; one of a single point is a mark.
        x: Name of the axis, in small letters.
        y: The same.
        shares: Whether the numbers are in per cent.
        best: Whether the Pareto front of the first points is drawn.
    """
    unit = ", %" if shares else ""
    with rc_context(_STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=(5.0, 3.4 if shares else 2.6), layout="constrained")
        axes = figure.subplots()
        axes.set(xlabel=f"{x}{unit}", ylabel=f"{y}{unit}", axisbelow=True)
        if best:
            ends = front([line.points[0] for line in lines])
            steps = [p.x for p in ends], [p.y for p in ends]
            axes.step(*steps, where="post", color=_INK, lw=1, ls=":")
        titles: list[str] = []
        for line in lines:
            if len(line.points) > 1:
                places = [(p.x, p.y) for p in line.points]
                dashes = _DASHES[line.number % len(_DASHES)]
                axes.plot(*zip(*places, strict=True), color=_INK, lw=1.2, ls=dashes, alpha=0.6)
            for point in line.points:
                for artist in _drawn(axes, line.number, point):
                    artist.set_gid(f"point-{len(titles)}")
                    titles.append(_title(line.label, point, x, y, shares=shares))
        axes.margins(0.08)
        return _svg(figure, f"{y} by {x}", titles)


def _title(label: str, point: Point, x: str, y: str, *, shares: bool) -> str:
    if not shares:
        return f"{y} {point.y:.4g} at {x} {point.x:g}"
    spread = f"[{point.low:.1f}, {point.high:.1f}]"
    return f"{label}: {y} {point.y:.1f} % {spread}, {point.x:.1f} % of {x}"


def _drawn(axes: Axes, number: int, point: Point) -> Iterator[Artist]:
    """Draw the intervals of a point, and a marker with its number: what shows the title."""
    colour = _VERDICTS[point.verdict]
    axes.vlines(point.x, point.low, point.high, color=colour, lw=1.2, alpha=0.7)
    if point.wide:
        axes.hlines(point.y, *point.wide, color=colour, lw=1.2, alpha=0.7)
    if not number:
        yield from axes.plot(point.x, point.y, "o", ms=5, color=colour)
        return
    yield from axes.plot(point.x, point.y, "o", ms=12, color=colour, mec=_PAPER, mew=1)
    place = (point.x, point.y)
    yield axes.annotate(
        str(number), place, ha="center", va="center_baseline", fontsize=8, color=_PAPER
    )


def _svg(figure: Figure, name: str, titles: Sequence[str], *, tight: bool = False) -> str:
    """The figure without what a page needs not."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing")
        box = {"bbox_inches": "tight"} if tight else {"transparent": True}
        figure.savefig(out, format="svg", metadata={"Date": None}, **box)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, own in _COLOURS.items():
        svg = svg.replace(colour, own)
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"(?<![>\d.])(\d+\.\d\d)\d+", r"\1", svg)  # of places, not of labels
    svg = re.sub(
        r'<g id="point-(\d+)">', lambda m: f"<g><title>{escape(titles[int(m[1])])}</title>", svg
    )
    svg = re.sub(r' id="(?:figure|patch|axes|text|line2d|matplotlib\.)[^"]*"', "", svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    head = f'<svg role="img" aria-label="{escape(name)}"'.replace("\\", r"\\")
    svg = re.sub(r'<svg(.*?) width="[^"]*"', rf"{head}\1", svg, count=1)
    return re.sub(r' height="[^"]*pt"', "", svg, count=1)
