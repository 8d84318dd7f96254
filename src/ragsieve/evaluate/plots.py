"""Plots of a report as inline SVG: text and axes take the page's colour, points tell their value.

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
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.ticker import MaxNLocator
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
    """A place with its interval; ``low`` and ``high`` are of y, and x where ``wide`` is given."""

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


@dataclass(frozen=True)
class Shares:
    """A numbered system's shares kept by one kind of merging, in per cent, each with its title."""

    number: int
    kind: str
    shares: tuple[tuple[float, str], tuple[float, str]]


@dataclass(frozen=True)
class Spot:
    """A document among others: its place, its agent's number, and what became of it."""

    x: float
    y: float
    number: int
    title: str
    kept: bool
    ringed: bool


@dataclass(frozen=True)
class Arrow:
    """From the middle of one agent's documents to the middle of another's."""

    of: int
    into: int
    title: str
    dashed: bool


@dataclass(frozen=True)
class Bar:
    """A numbered system's mean seconds in filter and generator, and the 95th percentile."""

    number: int
    label: str
    filter: float
    generator: float
    p95: float


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


def latency(bars: Sequence[Bar]) -> str:
    """Mean seconds of filter and generator, one above the other, and a line to the p95."""
    with _plot("Seconds a question", height=1.1 + 0.27 * len(bars)) as plot:
        axes = plot.axes("", "seconds a question, asked alone")
        for place, bar in enumerate(bars):
            total = bar.filter + bar.generator
            text = f"filter {bar.filter:.3f} s, generator {bar.generator:.3f} s, "
            title = f"{bar.label}: {text}p95 {bar.p95:.3f} s"
            for left, width, colour in (
                (0, bar.filter, COLOURS[5]),
                (bar.filter, bar.generator, COLOURS[0]),
            ):
                (patch,) = axes.barh(place, width, left=left, color=colour, height=0.7)
                patch.set_gid(plot.titled(title))
            (whisker,) = axes.plot([total, bar.p95], [place, place], color=_INK, lw=1.2, marker="|")
            whisker.set_gid(plot.titled(title))
        axes.set_yticks(range(len(bars)), [str(bar.number) for bar in bars])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
    return plot.svg


def curves(lines: Sequence[Line], x: str, y: str, *, whole: bool = False) -> str:
    """A line a system, with intervals where there are any; ``whole`` for counted stages."""
    with _plot(f"{y} by {x}") as plot:
        axes = plot.axes(f"{y}, %", x)
        for line in lines:
            colour = COLOURS[(line.number - 1) % len(COLOURS)]
            shift = 0.0 if not whole else (line.number - 1) * 0.03
            xs, ys = [p.x + shift for p in line.points], [p.y for p in line.points]
            axes.plot(xs, ys, color=colour, lw=1.5)
            for point, place in zip(line.points, xs, strict=True):
                plot.bars(line, point)
                title = f"{line.label}: {y} {point.y:.1f} % at {x} {point.x:g}"
                plot.mark(line.number, place, point.y, title)
        if whole:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(0.08)
    return plot.svg


def merging(rows: Sequence[Shares]) -> str:
    """Shares kept of documents that hold a gold answer, and below of those that hold none."""
    with _plot("What merging keeps", height=1.1 + 0.5 * len(rows)) as plot:
        axes = plot.axes("", "kept, %")
        for place, row in enumerate(rows):
            for shift, colour, (share, title) in zip(
                (-0.19, 0.19), (COLOURS[5], COLOURS[0]), row.shares, strict=True
            ):
                (patch,) = axes.barh(place + shift, share, color=colour, height=0.36)
                patch.set_gid(plot.titled(title))
        axes.set_yticks(range(len(rows)), [f"{row.number} {row.kind}" for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.grid(visible=False, axis="y")
    return plot.svg


def clusters(spots: Sequence[Spot], arrows: Sequence[Arrow], name: str) -> str:
    """Documents by agent; filled: kept, hollow: dropped, ringed; and who went into whom."""
    with _plot(name, height=4.2) as plot:
        axes = plot.axes("", "")
        axes.set_axis_off()
        axes.set_aspect("equal", adjustable="datalim")
        for spot in sorted(spots, key=lambda s: s.kept):  # what was kept lies above
            plot.spot(spot)
        middles = {}
        for number in {spot.number for spot in spots}:
            own = [(s.x, s.y) for s in spots if s.number == number]
            middles[number] = tuple(sum(places) / len(own) for places in zip(*own, strict=True))
        for arrow in arrows:
            if arrow.of in middles and arrow.into in middles:
                plot.arrow(arrow, middles[arrow.of], middles[arrow.into])
        axes.margins(0.1)
    return plot.svg


def history(points: Sequence[tuple[float, float]], x: str, y: str) -> str:
    """What became of one number on the way."""
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
        colour = COLOURS[(line.number - 1) % len(COLOURS)]
        self._axes.vlines(point.x, point.low, point.high, color=colour, lw=1.2, alpha=0.7)
        if point.wide:
            self._axes.hlines(point.y, *point.wide, color=colour, lw=1.2, alpha=0.7)

    def spot(self, spot: Spot) -> None:
        """A document's marker: hollow ones have but a tint, which still can be pointed at."""
        colour, shape = _look(spot.number)
        if spot.ringed:
            self._axes.plot(spot.x, spot.y, "o", ms=14.5, mfc="none", mec=_INK, mew=1.5)
        face, edge = (colour, _INK) if spot.kept else (to_rgba(colour, 0.12), colour)
        (marker,) = self._axes.plot(spot.x, spot.y, shape, ms=10, mfc=face, mec=edge)
        marker.set_markeredgewidth(0.6 if spot.kept else 1.3)
        marker.set_gid(self.titled(spot.title))
        ink = _INK if not spot.kept else "#fff" if colour == COLOURS[5] else "#111"
        self._number(spot.number, spot.x, spot.y, ink, spot.title)

    def arrow(self, arrow: Arrow, start: Sequence[float], end: Sequence[float]) -> None:
        """A bent arrow, so that there and back do not cover each other."""
        patch = FancyArrowPatch(
            (start[0], start[1]),
            (end[0], end[1]),
            arrowstyle="-|>",
            connectionstyle="arc3,rad=0.15",
            linestyle="--" if arrow.dashed else "-",
            mutation_scale=11,
            lw=1.2,
            color=_INK,
            alpha=0.8,
            zorder=5,
        )
        patch.set_gid(self.titled(arrow.title))
        self._axes.add_patch(patch)

    def mark(self, number: int, x: float, y: float, title: str) -> None:
        """A marker with the system's number in it."""
        colour, shape = _look(number)
        (marker,) = self._axes.plot(x, y, shape, ms=12, color=colour, mec=_INK, mew=0.6)
        marker.set_gid(self.titled(title))
        self._number(number, x, y, "#fff" if colour == COLOURS[5] else "#111", title)

    def _number(self, number: int, x: float, y: float, ink: str, title: str) -> None:
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

    def _with_title(self, found: re.Match[str]) -> str:
        return f"<g><title>{escape(self._titles[found[1]])}</title>"


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
