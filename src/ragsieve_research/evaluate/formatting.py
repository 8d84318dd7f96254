"""Figures as text: shares in per cent, costs to three digits, intervals and verdicts."""

import math

from ragsieve_research.evaluate.stats import Difference, MeanInterval

_COUNTS = {"tokens", "documents_read"}  # metrics that are no shares


def mean_text(name: str, mean: MeanInterval | None, *, digits: int = 1) -> str:
    """A mean with its interval: "71.0 [61.8, 79.2]", shares in per cent; "–" for None."""
    if mean is None:
        return "–"
    low, high = (number(name, end, digits=digits) for end in (mean.low, mean.high))
    return f"{number(name, mean.value, digits=digits)} [{low}, {high}]"


def difference_text(name: str, difference: Difference | None) -> str:
    """A difference with its interval and verdict: "tie: +1.0 [-2.0, +4.0], p = 0.41"."""
    if difference is None:
        return "–"
    value, low, high = (
        number(name, v, signed=True) for v in (difference.value, difference.low, difference.high)
    )
    p = "p < 0.001" if difference.p < 0.001 else f"p = {difference.p:.3f}"
    return f"{difference.verdict}: {value} [{low}, {high}], {p}"


def value_text(figure: MeanInterval | Difference | None, form: str = ".3f") -> str:
    """A figure with its interval, which one question does not give; "-" for None."""
    if figure is None:
        return "-"
    spread = "" if math.isnan(figure.low) else f" [{figure.low:{form}}, {figure.high:{form}}]"
    return f"{figure.value:{form}}{spread}"


def number(name: str, value: float, *, signed: bool = False, digits: int = 1) -> str:
    """A metric's value: shares in per cent, counts as they are, "–" where there is none."""
    if math.isnan(value):
        return "–"
    scale = 1 if name in _COUNTS else 100
    return f"{value * scale:{'+' if signed else ''}.{digits}f}"


def amount(value: float) -> str:
    """A cost to three digits: "0.012", "1,540"; "–" where it was not measured."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}" if value else "0"


def title(name: str) -> str:
    """A metric's name as a head: shares carry their unit."""
    return name.replace("_", " ") + ("" if name in _COUNTS else " %")
