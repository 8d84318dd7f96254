"""Costs of a question by system: calls, tokens, seconds, money, and when a filter pays."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragsieve.result import Result
from ragsieve.trace import Usage
from ragsieve_research.evaluate.prices import Prices
from ragsieve_research.evaluate.records import RecordTable
from ragsieve_research.evaluate.stats import Values, group_mean


def _tokens(cell: RecordTable, role: str) -> tuple[Values, Values]:
    """Tokens that a role reads and writes."""
    read, written = (cell.column("cost", f"{role}_tokens_{way}") for way in ("in", "out"))
    return read, written


def derived_costs(
    cells: Sequence[RecordTable], baseline: Sequence[RecordTable], prices: Prices
) -> dict[str, float]:
    """Costs that are no mean of a column, by name; nan where they were not measured.

    ``compression``: tokens before / tokens after, each summed over all questions.
    ``filter_price``, ``generator_price``: of 1,000 questions.
    ``p50``, ``p95``: quantiles of the seconds of questions asked alone.
    ``throughput``: questions a second that the generator answers, asked alone (FineFilter's TP).
    ``saved_seconds``: mean seconds less than the baseline, of questions that both were timed on;
    below 0 where slower.
    ``break_even``: document tokens from which on what a system spends is below what it saves; 0
    where always, infinite where never. It spends the filter's price, and that of what the generator
    reads beside the context (worked examples, more calls) beyond the baseline's mean.

    Args:
        cells: A system's records on one dataset or more.
        baseline: The same of the baseline, in the same order; may be empty.
        prices: Prices of tokens.
    """
    seconds = np.concatenate([cell.known("cost", "seconds") for cell in cells])
    p50, p95 = np.quantile(seconds, (0.5, 0.95)) if len(seconds) else (math.nan, math.nan)
    saved = math.nan
    if baseline and cells is not baseline:
        pairs = [paired(*both, "cost", "seconds") for both in zip(cells, baseline, strict=True)]
        saved = group_mean([other - own for own, other in pairs])
    generating = group_mean([cell.known("cost", "generator_seconds") for cell in cells])
    prices_of = {"filter": (prices.filter, "llm"), "generator": (prices.generator, "generator")}
    return {
        "compression": _compression(cells),
        **{
            f"{name}_price": group_mean([_finite(price(*_tokens(c, role))) for c in cells]) / 1000
            for name, (price, role) in prices_of.items()
        },
        "p50": float(p50),
        "p95": float(p95),
        "throughput": 1 / generating if generating else math.nan,
        "saved_seconds": saved,
        "break_even": _break_even(cells, baseline, prices),
    }


def paired(a: RecordTable, b: RecordTable, part: str, name: str) -> tuple[Values, Values]:
    """Values of a column in the questions that both have, in the same order."""
    place = {key: index for index, key in enumerate(b.keys)}
    both = [(i, place[key]) for i, key in enumerate(a.keys) if key in place]
    rows = np.array(both, dtype=int).reshape(-1, 2)
    own, other = a.column(part, name)[rows[:, 0]], b.column(part, name)[rows[:, 1]]
    known = np.isfinite(own) & np.isfinite(other)
    return own[known], other[known]


def break_even(before: Values, spent: Values, kept: float, price_in: float) -> float:
    """Document tokens from which on a filter is cheaper than what it saves; 0: always; inf: never.

    With D document tokens, the filter's price is taken as ``a + b D``, fitted by least squares to
    the questions and never falling (a, b >= 0; a = 0 where all questions are of one length), and
    what it saves as ``price_in (1 - kept) D``. So it pays from ``a / (price_in (1 - kept) - b)``
    on, never where b is at least what a token saves. Beyond the lengths measured this is an
    extrapolation, and it leaves out what the answers' length costs.

    Args:
        before: Document tokens of each question.
        spent: What a system spends on each question beside its context.
        kept: Share of the tokens that the generator still reads.
        price_in: Price of a token that the generator reads.
    """
    if not len(before) or math.isnan(kept):
        return math.nan
    slope, fixed = _rising(before, spent)
    gain = price_in * (1 - kept) - slope
    return float(fixed / gain) if gain > 0 else math.inf


def _rising(x: Values, y: Values) -> tuple[float, float]:
    """Slope and start of the nearest line to points with ``x`` over 0, neither negative."""
    steepest = max(0.0, float(x @ y / (x @ x)))
    lines = [(steepest, 0.0)]
    if np.ptp(x) > 0:
        slope, start = np.polyfit(x, y, 1).tolist()
        lines += [(0.0, max(0.0, float(y.mean())))] + [(slope, start)] * (min(slope, start) >= 0)
    return min(lines, key=lambda line: float(((line[0] * x + line[1] - y) ** 2).sum()))


def _break_even(
    cells: Sequence[RecordTable], baseline: Sequence[RecordTable], prices: Prices
) -> float:
    before = np.concatenate([cell.column("cost", "tokens_before") for cell in cells])
    spent = np.concatenate([prices.filter(*_tokens(cell, "llm")) for cell in cells])
    if baseline:
        usual = group_mean([_finite(_beside(cell)) for cell in baseline])
        more = np.concatenate([_beside(cell) for cell in cells]) - usual
        spent += prices.price_in * np.nan_to_num(more)  # nan where no generator was asked
    known = np.isfinite(before) & np.isfinite(spent) & (before > 0)
    return break_even(before[known], spent[known], 1 / _compression(cells), prices.price_in)


def _beside(cell: RecordTable) -> Values:
    """Tokens that the generator reads beside the context of each question, at least 0."""
    read, _ = _tokens(cell, "generator")
    return np.maximum(read - cell.column("cost", "tokens_after"), 0.0)


def _compression(cells: Sequence[RecordTable]) -> float:
    before, after = (
        sum(float(cell.known("cost", name).sum()) for cell in cells)
        for name in ("tokens_before", "tokens_after")
    )
    if not after:
        return math.inf if before else math.nan
    return before / after


def _finite(values: Values) -> Values:
    return values[np.isfinite(values)]


def timed(ask: Callable[[], Result]) -> dict[str, Any]:
    """Seconds of a question asked alone, in all and by stage."""
    began = time.perf_counter()
    result = ask()
    seconds, steps = time.perf_counter() - began, result.trace.steps
    generator = steps[-1].seconds if result.answer is not None else None
    return {
        "seconds": round(seconds, 4),
        "filter_seconds": round(seconds - (generator or 0), 4),
        "generator_seconds": generator and round(generator, 4),
        "trace": {"steps": [{"stage": s.stage, "seconds": round(s.seconds, 4)} for s in steps]},
    }


def costed_trace(result: Result) -> dict[str, Any]:
    """The trace, with calls and tokens that a cache has spared counted in: as without one."""
    values = result.trace.to_dict()
    for row, step in zip(values["steps"], result.trace.steps, strict=True):
        del row["cached"]
        vectors = sum(usage.embedded for usage in step.usages)
        row |= _costs(step.usages)
        row |= {"calls": row["calls"] - vectors, "embedded": vectors}
        names = dict.fromkeys(usage.model for usage in step.usages)
        row["models"] = {n: _costs([u for u in step.usages if u.model == n]) for n in names}
    return values


def _costs(usages: Sequence[Usage]) -> dict[str, int]:
    return {
        "calls": len(usages),
        "tokens_in": sum(usage.tokens_in for usage in usages),
        "tokens_out": sum(usage.tokens_out for usage in usages),
    }
