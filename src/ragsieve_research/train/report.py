"""The report of a training, as one page: loss and validation curves, figures before and after."""

from collections.abc import Mapping, Sequence

from ragsieve.errors import needs_extra
from ragsieve_research.artifacts.recipe import Trained
from ragsieve_research.evaluate.page import template
from ragsieve_research.evaluate.plots import Line, Point, chart

with needs_extra("train"):
    from markupsafe import Markup

Log = Sequence[Mapping[str, float]]
_AXES = ("step", "epoch", "seconds", "lr", "tokens")  # keys of a log that are no result


def to_html(trained: Trained, logs: Mapping[str, Log]) -> str:
    """A page that needs nothing beside, every text in it escaped.

    Args:
        trained: What came out.
        logs: Of each part that was trained, entries with ``step`` and what was seen there.
    """
    sets = {k: v for k, v in trained.figures.items() if isinstance(v, Mapping)}
    answers = {k: sets.pop(k) for k in ("before", "after") if k in sets}
    return template("ragsieve_research.train").render(
        plan=trained.training,
        answers={"5 documents": answers.get("before"), "the filter": answers.get("after")},
        figures=sets,
        columns=list(dict.fromkeys(name for row in sets.values() for name in row)),
        curves=[(part, name, svg) for part, log in logs.items() for name, svg in _curves(log)],
        data=trained.data,
        rounded=lambda value: f"{value:.3f}" if isinstance(value, float) else str(value),
    )


def _curves(log: Log) -> list[tuple[str, Markup]]:
    """A plot for every number that a log follows."""
    followed: dict[str, list[Point]] = {}
    for entry in log:
        for name, value in entry.items():
            if name not in _AXES and isinstance(value, int | float):
                followed.setdefault(name, []).append(Point(entry["step"], value))
    return [
        (name, Markup(chart([Line(0, "", tuple(p))], "step", name.replace("_", " "), shares=False)))
        for name, p in followed.items()
    ]
