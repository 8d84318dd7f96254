"""Means with intervals, and paired comparisons, by resampling the questions.

A *group* is a dataset: the value is the mean of the groups' means, so that each dataset counts the
same, and questions are drawn within their group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, needs_extra
from ragsieve.schema import Count, check_number

with needs_extra("bench"):
    from scipy import special  # of whose stats the import takes a second

Values = NDArray[np.float64]
_Drawn = NDArray[np.float32]
Outcome = Literal["better", "worse", "tie"]

LEVEL = 0.95  # coverage of every interval; a difference counts below 1 - LEVEL
_FEW = 16  # distinct values up to which counts are drawn instead of questions
_BLOCK = 2_000_000  # numbers drawn at once, to keep memory small


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its interval; ``low`` and ``high`` are nan where one question allows none.

    Args:
        value: The mean of the groups' means.
        low: Lower end of the interval.
        high: Upper end of the interval.
        n: Questions, over all groups.
    """

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Difference:
    """A mean difference of paired questions, its interval, and what it says.

    Args:
        value: Mean of the groups' mean differences; above 0 where the first is larger.
        low: Lower end of the interval.
        high: Upper end of the interval.
        p: Two-sided p-value of no difference.
        verdict: "tie" where p is at least 0.05 or the interval covers 0.
        n: Pairs, over all groups.
    """

    value: float
    low: float
    high: float
    p: float
    verdict: Outcome
    n: int

    def judged(self, p: float, *, lower_is_better: bool = False) -> Difference:
        """The same difference under another p-value, as `holm` gives it."""
        verdict: Outcome = "tie"
        if p < 1 - LEVEL and (self.low > 0 or self.high < 0):  # False for nan
            verdict = "better" if (self.value < 0) == lower_is_better else "worse"
        return replace(self, p=p, verdict=verdict)


def group_mean(groups: Sequence[Values]) -> float:
    """Mean of the groups' means; nan where there is no group, or one is empty."""
    return float(np.mean([g.mean() for g in groups])) if all(map(len, groups)) else math.nan


def json_figure(figure: MeanInterval | Difference) -> dict[str, Any]:
    """Its fields, with None for nan, which JSON has no word for."""
    return {name: None if value != value else value for name, value in asdict(figure).items()}


def interval(
    groups: Sequence[Values], *, draws: int = 10_000, seed: int = 0, exact: bool = True
) -> MeanInterval:
    """Mean of group means with a stratified percentile bootstrap interval of 95%.

    The percentile levels are expanded for small samples to ``Phi(sqrt(n / (n - 1)) t)``, where
    ``t`` is Student's quantile with n - 1 degrees of freedom and n the size of the smallest group,
    which errs on the wide side with several groups. Where every group is constant at 0 or 1, a
    bootstrap has no spread: the ends are then the means of the groups' exact Clopper-Pearson
    bounds. Other constant values give an interval of width 0.

    Args:
        groups: Values of the questions, one array a group; none empty, all finite.
        draws: Bootstrap samples; at least 1.
        seed: Of the random numbers: the same seed gives the same interval.
        exact: False for values that are no measurement of quality, such as a share of tokens
            that is 1 by construction: then constants at 0 or 1 have width 0 too.

    Raises:
        InputError: If an option breaks its rule, or a group is empty or holds a value that is
            not finite.

    Source: Hesterberg, "What Teachers Should Know About the Bootstrap" (2015), section 4.3 and
        its expanded percentile interval; Clopper and Pearson (1934).
    """
    arrays = _checked(groups, draws)
    value, n = float(np.mean([a.mean() for a in arrays])), sum(len(a) for a in arrays)
    if exact and all(np.all(a == a[0]) and a[0] in (0, 1) for a in arrays):
        low, high = np.mean([_clopper_pearson(a) for a in arrays], axis=0).tolist()
    else:
        low, high = _bootstrap(arrays, draws, seed)
    return MeanInterval(value, low, high, n)


def compare(
    a_groups: Sequence[Values],
    b_groups: Sequence[Values],
    *,
    draws: int = 10_000,
    seed: int = 0,
    lower_is_better: bool = False,
    exact: bool = True,
) -> Difference:
    """Compare two systems on the same questions: mean of a - b, interval, p-value, verdict.

    Values are paired by position. The interval is that of `interval` over the pairs' differences;
    the p-value is that of a sign-flip permutation test, exact where all flips are at most
    ``draws``. The p-value is *not* corrected for several comparisons: see `holm`. The verdict is
    "tie" where p >= 0.05 or the interval covers 0: a tie is no proof of equality.

    A bootstrap cannot draw what no pair shows. Where p >= 0.05 and no pair is below 0, up to a
    share u of all questions still may be, u the exact Clopper-Pearson bound for 0 of n pairs: the
    lower end is then ``(1 - u) low - u``, with a difference of -1 for each of them. The same holds
    of the upper end where no pair is above 0. With several groups, n is their number times the size
    of the smallest, as P(none of n is seen) is largest where all groups have the same share.

    Args:
        a_groups: Values of the first system, one array a group.
        b_groups: Values of the second, with the same shapes.
        draws: Bootstrap samples, and random flips; at least 1.
        seed: Of the random numbers.
        lower_is_better: Whether a smaller value is "better".
        exact: False for values that are no shares from 0 to 1, or no measurement of quality: the
            ends are then the bootstrap's.

    Raises:
        InputError: If the shapes differ, and as `interval` does.
    """
    if [len(a) for a in a_groups] != [len(b) for b in b_groups]:
        raise InputError(
            "paired groups must have equal sizes, "
            f"got {[len(a) for a in a_groups]} and {[len(b) for b in b_groups]}"
        )
    pairs = [np.asarray(a) - np.asarray(b) for a, b in zip(a_groups, b_groups, strict=True)]
    mean = interval(pairs, draws=draws, seed=seed, exact=False)
    p, low, high = _sign_flip(pairs, draws, seed), mean.low, mean.high
    if exact and p >= 1 - LEVEL:
        _, most = _clopper_pearson(np.zeros(len(pairs) * min(map(len, pairs))))
        low -= most * (1 + low) * all(np.all(pair >= 0) for pair in pairs)
        high += most * (1 - high) * all(np.all(pair <= 0) for pair in pairs)
    difference = Difference(mean.value, low, high, p, "tie", mean.n)
    return difference.judged(p, lower_is_better=lower_is_better)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: they hold the family-wise error rate.

    Source: Holm, "A Simple Sequentially Rejective Multiple Test Procedure" (1979).
    """
    adjusted, highest = [0.0] * len(ps), 0.0
    for place, index in enumerate(np.argsort(ps, kind="stable")):
        highest = max(highest, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = highest
    return adjusted


def _checked(groups: Sequence[Values], draws: int) -> list[Values]:
    check_number("draws", draws, Count)
    if not groups or any(len(group) == 0 for group in groups):
        raise InputError(f"no group may be empty, got sizes {[len(g) for g in groups]}")
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    if not all(np.isfinite(a).all() for a in arrays):
        raise InputError("every value must be finite, got nan or infinity")
    return arrays


def _clopper_pearson(group: Values) -> tuple[float, float]:
    hits, n, tail = int(group.sum()), len(group), (1 - LEVEL) / 2
    low = special.betaincinv(hits, n - hits + 1, tail) if hits else 0.0
    high = special.betaincinv(hits + 1, n - hits, 1 - tail) if hits < n else 1.0
    return float(low), float(high)


def _bootstrap(groups: list[Values], draws: int, seed: int) -> tuple[float, float]:
    smallest = min(len(g) for g in groups)
    if smallest == 1:
        return math.nan, math.nan
    resampled = [_resampled(g, draws, seed, place) for place, g in enumerate(groups)]
    expansion = math.sqrt(smallest / (smallest - 1))
    tail = special.ndtr(expansion * special.stdtrit(smallest - 1, (1 - LEVEL) / 2))
    low, high = np.quantile(np.mean(resampled, axis=0), [tail, 1 - tail])
    return float(low), float(high)


def _resampled(group: Values, draws: int, seed: int, place: int) -> Values:
    """Means of ``draws`` bootstrap samples; shape (draws,)."""
    n = len(group)
    distinct, counts = np.unique(group, return_counts=True)
    if len(distinct) == 1:
        return np.full(draws, distinct[0])  # without the rounding of a sum
    if len(distinct) <= _FEW:
        rng = np.random.default_rng([seed, place])
        return np.asarray(rng.multinomial(n, counts / n, size=draws) @ distinct / n)
    shares = (group / n).astype(np.float32)
    drawn = [_counts(n, *block, seed, place) @ shares for block in _blocks(draws, n)]
    return np.asarray(np.concatenate(drawn), dtype=np.float64)


def _blocks(draws: int, width: int) -> Iterator[tuple[int, int]]:
    """First and number of rows of blocks, each of at most `_BLOCK` numbers."""
    rows = max(1, _BLOCK // width)
    for start in range(0, draws, rows):
        yield start, min(rows, draws - start)


@lru_cache(maxsize=32)  # a report asks for the same draws for every metric and system
def _counts(n: int, start: int, rows: int, seed: int, place: int) -> _Drawn:
    """Counts of each of ``n`` questions in bootstrap samples; shape (rows, n)."""
    rng = np.random.default_rng([seed, place, start])
    return rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(np.float32)


@lru_cache(maxsize=32)
def _signs(n: int, start: int, rows: int, seed: int, place: int) -> _Drawn:
    """Random signs, -1 or 1; shape (rows, n)."""
    rng = np.random.default_rng([seed, place, start])
    return (2 * rng.integers(0, 2, size=(rows, n), dtype=np.int8) - 1).astype(np.float32)


def _sign_flip(groups: list[Values], draws: int, seed: int) -> float:
    """Share of sign flips whose mean lies at least as far from 0 as the one seen."""
    parts = [np.asarray(g) / (len(g) * len(groups)) for g in groups]
    weights = np.concatenate(parts)
    reach = abs(weights.sum()) - 1e-6 * np.abs(weights).sum()  # equal sums may differ by rounding
    weights = weights[weights != 0]  # a flipped 0 changes nothing
    if len(weights) <= math.log2(draws):
        flips = np.array(list(product((-1.0, 1.0), repeat=len(weights))))  # (2 ** n, n)
        return float(np.mean(np.abs(flips @ weights) >= reach)) if len(weights) else 1.0
    sums = sum(_flipped(part, draws, seed, place) for place, part in enumerate(parts))
    return float((np.sum(np.abs(sums) >= reach) + 1) / (draws + 1))


def _flipped(part: Values, draws: int, seed: int, place: int) -> Values:
    """Sums of ``part`` under random signs; shape (draws,)."""
    distinct, counts = np.unique(np.abs(part), return_counts=True)
    if len(distinct) <= _FEW:
        heads = np.random.default_rng([seed, place]).binomial(
            counts, 0.5, size=(draws, len(distinct))
        )
        return np.asarray((2 * heads - counts) @ distinct)
    n, sizes = len(part), part.astype(np.float32)
    drawn = [_signs(n, *block, seed, place) @ sizes for block in _blocks(draws, n)]
    return np.asarray(np.concatenate(drawn), dtype=np.float64)
