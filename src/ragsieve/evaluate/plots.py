"""Plots of a report as inline SVG: text and axes take the page's colour, points show a value.

Systems are numbered as in the page's legend, so that neither long nor strange names meet a plot.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ragsieve.errors import MissingExtra

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "matplotlib", extra="bench") from error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours for the colour-blind, but yellow and black, which one scheme swallows
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2", "#999999")
_SHAPES = ("o", "s", "D")
_INK = "#010203"  # becomes the page's own colour
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
    """A place with its interval; ``low`` and ``high`` are of y, ``wide`` of x."""

    x: float
    y: float
    low: float
    high: float
    wide: tuple[float, float] | None = None


@dataclass(frozen=True)
class Line:
    """A numbered system's points."""

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


def tradeoff(lines: Sequence[Line], metric: str) -> str:
    """Quality against the share of tokens kept, in per cent, with the Pareto front."""
    with _plot(f"{metric} against tokens kept") as plot:
        axes = plot.axes(f"{metric}, %", "tokens kept, %")
        best = front([line.points[0] for line in lines])
        axes.step([p.x for p in best], [p.y for p in best], where="post", color=_INK, lw=1, ls=":")
        for line in lines:
            point = line.points[0]
            title = f"{line.label}: {metric} {point.y:.1f} % [{point.low:.1f}, {point.high:.1f}]"
            plot.bars(line, point)
            plot.mark(line.number, point.x, point.y, f"{title}, {point.x:.1f} % of tokens kept")
        axes.margins(0.08)
    return plot.svg


def curves(lines: Sequence[Line], x: str, y: str) -> str:
    """A line a system, with intervals."""
    with _plot(f"{y} by {x}") as plot:
        axes = plot.axes(f"{y}, %", x)
        for line in lines:
            places = [(p.x, p.y) for p in line.points]
            axes.plot(*zip(*places, strict=True), color=_look(line.number)[0], lw=1.5)
            for point in line.points:
                plot.bars(line, point)
                title = f"{line.label}: {y} {point.y:.1f} % at {x} {point.x:g}"
                plot.mark(line.number, point.x, point.y, title)
        axes.margins(0.08)
    return plot.svg


def history(points: Sequence[tuple[float, float]], x: str, y: str) -> str:
    """One number over the steps of a training."""
    with _plot(f"{y} by {x}", height=2.6) as plot:
        axes = plot.axes(y, x)
        axes.plot([p[0] for p in points], [p[1] for p in points], color=COLOURS[5], lw=1.5)
        for at, value in points:
            (dot,) = axes.plot(at, value, "o", ms=5, color=COLOURS[5])
            dot.set_gid(plot.titled(f"{y} {value:.4g} at {x} {at:g}"))
        axes.margins(0.08)
    return plot.svg


class _Plot:
    """A figure on its way to SVG."""

    def __init__(self, name: str, height: float) -> None:
        self.figure = Figure(figsize=(5.0, height), layout="constrained")
        self.name = name
        self.svg = ""
        self._titles: dict[str, str] = {}

    def axes(self, y: str, x: str) -> Axes:
        self._axes = self.figure.subplots()
        self._axes.set_xlabel(x)
        self._axes.set_ylabel(y)
        self._axes.set_axisbelow(True)
        return self._axes

    def titled(self, text: str) -> str:
        """The id of what shows ``text`` when it is pointed at."""
        key = f"point-{len(self._titles)}"
        self._titles[key] = text
        return key

    def bars(self, line: Line, point: Point) -> None:
        """The point's intervals."""
        colour, _ = _look(line.number)
        self._axes.vlines(point.x, point.low, point.high, color=colour, lw=1.2, alpha=0.7)
        if point.wide:
            self._axes.hlines(point.y, *point.wide, color=colour, lw=1.2, alpha=0.7)

    def mark(self, number: int, x: float, y: float, title: str) -> None:
        """A marker with the system's number in it."""
        colour, shape = _look(number)
        (marker,) = self._axes.plot(x, y, shape, ms=12, color=colour, mec=_INK, mew=0.6)
        marker.set_gid(self.titled(title))
        ink = "#fff" if colour == COLOURS[5] else "#111"
        text = self._axes.annotate(
            str(number), (x, y), ha="center", va="center_baseline", fontsize=8, color=ink
        )
        text.set_gid(self.titled(title))

    def draw(self) -> None:
        """Write the figure as SVG without what a page needs not."""
        out = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"Glyph .* missing")
            self.figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        svg = out.getvalue()
        svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
        svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
        svg = re.sub(r"(?<![>\d.])(\d+\.\d\d)\d+", r"\1", svg)  # of places, not of labels
        svg = re.sub(r'<g id="(point-\d+)">', self._with_title, svg)
        svg = re.sub(r' id="(?:figure|patch|axes|text|line2d|matplotlib\.)[^"]*"', "", svg)
        svg = re.sub(r"\s*\n\s*", "\n", svg)
        head = f'<svg role="img" aria-label="{escape(self.name)}"'
        self.svg = re.sub(r'<svg(.*?) width="[^"]*"', rf"{_verbatim(head)}\1", svg, count=1)
        self.svg = re.sub(r' height="[^"]*pt"', "", self.svg, count=1)

    def _with_title(self, match: re.Match[str]) -> str:
        return f"<g><title>{escape(self._titles[match[1]])}</title>"


def _look(number: int) -> tuple[str, str]:
    """The colour and the shape of a number."""
    place = number - 1
    return COLOURS[place % len(COLOURS)], _SHAPES[place // len(COLOURS) % 3]


def _verbatim(text: str) -> str:
    return text.replace("\\", r"\\")


@contextmanager
def _plot(name: str, height: float = 3.4) -> Iterator[_Plot]:
    with rc_context(_STYLE):  # type: ignore[arg-type]
        plot = _Plot(name, height)
        yield plot
        plot.draw()
