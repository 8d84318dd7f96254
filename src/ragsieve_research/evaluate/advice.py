"""One sentence at the top of a report: which system to take, by how much, and at what cost."""

import math

from ragsieve.systems.base import SYSTEMS
from ragsieve.text import counted
from ragsieve_research.evaluate.formatting import amount, number
from ragsieve_research.evaluate.metrics import LOWER
from ragsieve_research.evaluate.report import Report, Row

MARGIN = 0.05  # a tie whose interval reaches further below the baseline says nothing


def advice(report: Report) -> str:
    """Advise which system to take, by the overall rows of a report or its first dataset.

    The best of those that beat the baseline in the first metric, by p-values that Holm's method
    adjusts, and of equal ones the one that keeps the fewest tokens; else, of those at most `MARGIN`
    worse with 95% confidence, that one; else the baseline. Systems named like those of ragsieve
    that know the gold answers are left out, and systems that failed in most questions.

    Returns:
        One sentence; it says so where the questions cannot tell or most of the baseline's failed,
        and is empty where there is no baseline, no system to compare with it, or less of the first
        metric is better.
    """
    rows = [row for row in report.select(report.datasets[0]) if not _knows(row)]
    base = next((row for row in rows if row.system == report.baseline), None)
    metric = next((m for m in report.headline if base and m in base.metrics), "")
    if base is None or not metric or metric in LOWER:
        return ""
    if _mostly_failed(base):
        many = f"{base.failed} of {base.questions} answers"
        return f"Nothing can be advised: {many} failed with {base.label}."
    rows = [row for row in rows if row.generator == base.generator and metric in row.differences]
    rows = [row for row in rows if not _mostly_failed(row)]
    if not (asked := [row.differences[metric].n for row in rows]):
        return ""
    name = metric.replace("_", " ")
    if better := [row for row in rows if row.differences[metric].verdict == "better"]:
        best = max(better, key=lambda row: (row.metrics[metric].value, -_more(row)))
        return f"Take {best.label}: {_against(best, base, metric, name)}."
    smaller = [row for row in rows if _more(row) < 0]
    sure = [row for row in smaller if row.differences[metric].low >= -MARGIN]
    if sure:
        best = min(sure, key=_more)
        bound = f"at most {100 * MARGIN:.0f} points worse with 95% confidence"
        return f"Take {best.label}: {_against(best, base, metric, name)}, {bound}."
    if ties := [row for row in smaller if row.differences[metric].verdict == "tie"]:
        known = [row for row in ties if math.isfinite(row.differences[metric].low)]
        least = max(known or ties, key=lambda row: row.differences[metric].low)
        few = counted(least.differences[metric].n, "question")
        most = number(metric, -least.differences[metric].low)
        worse = f"but may be {most} points of {name} worse" if known else "with no interval known"
        return f"{few} cannot tell: {least.label} ties with {base.label}, {worse}."
    return (
        f"Take {base.label}: no system beats it in {name}, or ties with it on fewer tokens, "
        f"on {counted(min(asked), 'question')}."
    )


def _knows(row: Row) -> bool:
    """Whether a system is given the gold answers."""
    entry = SYSTEMS.get(row.system.rpartition("/")[2])
    return entry is not None and entry.knows


def _mostly_failed(row: Row) -> bool:
    """Whether a system failed in more than half of its questions."""
    return 2 * row.failed > row.questions


def _means(row: Row, base: Row, metric: str) -> tuple[float, float]:
    """Means of a system and of the baseline, of the questions that the smaller had."""
    own, other = row.metrics[metric], base.metrics[metric]
    more = row.differences[metric].value
    return (own.value, own.value - more) if own.n <= other.n else (other.value + more, other.value)


def _more(row: Row) -> float:
    """Share of the tokens that a system keeps and the baseline does not; infinite if not known."""
    difference = row.differences.get("tokens_kept")
    return difference.value if difference else math.inf


def _against(row: Row, base: Row, metric: str, name: str) -> str:
    """Quality and cost of a system beside the baseline's."""
    difference = row.differences[metric]
    own, other = (number(metric, mean) for mean in _means(row, base, metric))
    low, high = (number(metric, v, signed=True) for v in (difference.low, difference.high))
    known = "tokens_kept" in row.differences
    kept, limit = _means(row, base, "tokens_kept") if known else (0.0, 0.0)
    costs = [f"{kept / limit:.0%} of its tokens"] if limit else []
    if math.isfinite(seconds := row.figure("cost", "filter_seconds")):
        costs.append(f"{amount(seconds)} s a question to filter")
    cost = f", with {' and '.join(costs)}" if costs else ""
    asked = counted(difference.n, "question")
    return f"{name} {own}% against {other}% of {base.label} [{low}, {high}]{cost}, on {asked}"
