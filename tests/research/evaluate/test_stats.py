"""Intervals that cover, comparisons that agree with SciPy's."""

import math

import numpy as np
import pytest
from scipy import stats

from ragsieve_research.evaluate.stats import compare, holm, interval

RNG = np.random.default_rng(7)
SKEWED = RNG.lognormal(size=60)
BINARY = (RNG.random(80) < 0.3).astype(float)


def percentiles(values, level):
    """Scipy's percentile interval of the mean."""
    drawn = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        confidence_level=level,
        rng=np.random.default_rng(1),
    )
    return drawn.confidence_interval.low, drawn.confidence_interval.high


def expanded(n):
    """The level for n values: 2 Phi(sqrt(n / (n - 1)) t) - 1, t for n - 1 degrees of freedom."""
    return float(2 * stats.norm.cdf(math.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1)) - 1)


@pytest.mark.parametrize("values", [SKEWED, BINARY], ids=["skewed", "binary"])
def test_the_percentile_interval_is_scipys(values):
    """At the expanded level, up to the noise of the draws."""
    mean = interval([values], draws=20_000)
    expected = percentiles(values, expanded(len(values)))

    assert values.mean() == pytest.approx(mean.value)
    assert expected == pytest.approx((mean.low, mean.high), rel=0.03)


def test_each_group_counts_the_same():
    """A dataset of 1,000 questions weighs as much as one of 10; questions stay in their group."""
    large, small = np.tile([0.0, 1.0], 500), np.tile([2.0, 4.0], 5)
    found = interval([large, small])
    spread = math.sqrt(0.25 / 1000 + 1 / 10) / 2

    assert 1.75 == found.value
    assert 1010 == found.n
    assert 2 * 1.96 * spread < found.high - found.low < 2 * 2.5 * spread


def covered(samples, truth):
    found = [interval([row], draws=500, seed=i) for i, row in enumerate(samples)]
    return float(np.mean([mean.low <= truth <= mean.high for mean in found]))


def test_the_interval_covers_proportions_and_skewed_means():
    """In 95% of 2,000 runs over 100 questions; many zeros and a long tail, as F1 has, too."""
    samples = (np.random.default_rng(1).random((2000, 100)) < 0.3).astype(float)

    assert 0.95 == pytest.approx(covered(samples, 0.3), abs=0.015)

    samples = np.minimum(15, np.random.default_rng(2).geometric(0.4, (2000, 100)) - 1.0)
    truth = float(np.minimum(15, np.arange(200)) @ (0.4 * 0.6 ** np.arange(200)))

    assert 0.95 == pytest.approx(covered(samples, truth), abs=0.015)


def test_the_expansion_widens_small_samples():
    """By about sqrt(n / (n - 1)) t / z: for 5 values 1.118 x 2.776 / 1.960, at most to the ends."""
    values = np.array([0.1, 0.35, 0.5, 0.75, 0.9])
    (low, high), wide = percentiles(values, 0.95), interval([values])

    assert values.min() <= wide.low < low
    assert high < wide.high <= values.max()


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, 0.0, 0.0362), (1.0, 0.9638, 1.0)])
def test_constant_outcomes_have_an_exact_bound(value, low, high):
    """0 of 100: the upper Clopper-Pearson bound is 1 - 0.025 ** (1 / 100) = 0.0362."""
    found = interval([np.full(100, value)])

    assert (low, high) == pytest.approx((found.low, found.high), abs=1e-4)


def test_a_constant_is_certain_and_one_question_has_no_interval():
    """All documents keep all tokens; but a single right answer has its exact bound, 0.025."""
    shares, calls = interval([np.ones(9)], exact=False), interval([np.full(9, 0.3)])

    assert (1.0, 1.0) == (shares.low, shares.high)
    assert (0.3, 0.3) == (calls.low, calls.high)

    lone, right = interval([np.array([0.4])]), interval([np.array([1.0])])

    assert (0.4, 1) == (lone.value, lone.n)
    assert math.isnan(lone.low)
    assert math.isnan(lone.high)
    assert (0.025, 1.0) == pytest.approx((right.low, right.high))


@pytest.mark.parametrize("n", [8, 60])
def test_the_p_value_is_scipys(n):
    """Exact for 8 pairs; for 60, whose flips are drawn, within the noise of 20,000 draws."""
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n) - 0.08
    expected = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        vectorized=True,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    found = compare([a], [b], draws=20_000)

    assert expected.statistic == pytest.approx(found.value)
    assert expected.pvalue == pytest.approx(found.p, abs=1e-12 if n == 8 else 0.01)


def test_paired_outcomes_are_mcnemars():
    """20 questions only a gets right against 5 only b: the binomial p-value of 20 in 25."""
    a, b = np.repeat([1.0, 0.0, 1.0], [20, 5, 75]), np.repeat([0.0, 1.0, 1.0], [20, 5, 75])
    found = compare([a], [b])

    assert 0.15 == pytest.approx(found.value)
    assert stats.binomtest(20, 25).pvalue == pytest.approx(found.p, abs=0.002)
    assert "better" == found.verdict


def test_a_verdict_needs_both_p_and_interval():
    """Better, or worse where lower is better; a tie of what hardly or nowhere differs, p = 1."""
    a, b = np.tile([0.9, 0.7, 0.8], 10), np.tile([0.5, 0.6, 0.4], 10)

    assert "better" == compare([a], [b]).verdict
    assert "worse" == compare([b], [a]).verdict
    assert "worse" == compare([a], [b], lower_is_better=True).verdict
    assert "tie" == compare([SKEWED], [SKEWED[::-1]]).verdict
    assert "tie" == compare([a], [b]).judged(0.06).verdict

    same, lone = compare([BINARY], [BINARY]), compare([np.array([1.0])], [np.array([0.0])])

    assert (0.0, 1.0, "tie") == (same.value, same.p, same.verdict)
    assert (1.0, "tie") == (lone.p, lone.verdict)


@pytest.mark.parametrize(
    ("sizes", "better", "bootstrap", "low"),
    [
        ([3], 0, 0.0, -0.7076),
        ([100], 0, 0.0, -0.0362),
        ([50, 50], 0, 0.0, -0.0362),  # as many questions, as many ruled out
        ([4], 1, 0.0, -0.6024),
        ([4], 4, 1.0, -0.2047),  # (1 - u) 1 - u
        ([12], 12, 1.0, 1.0),  # p = 2 ** -11
    ],
)
def test_an_end_on_whose_side_no_pair_lies_has_an_exact_bound(sizes, better, bootstrap, low):
    """Clopper and Pearson: 0 of n pairs are below 0, so at most u = 1 - 0.025 ** (1 / n) of all."""
    a = [np.ones(n) for n in sizes]
    b = [(np.arange(n) >= better).astype(float) for n in sizes]

    assert low == pytest.approx(compare(a, b).low, abs=1e-4)
    assert -low == pytest.approx(compare(b, a).high, abs=1e-4)
    assert bootstrap == compare(a, b, exact=False).low


def test_pairs_over_several_groups():
    """The flips of a small group weigh more, as its questions do in the mean."""
    a = [np.array([1.0, 1.0]), np.zeros(40)]
    b = [np.zeros(2), np.zeros(40)]
    found = compare(a, b)

    assert 0.5 == found.value
    assert 0.5 == found.p

    uneven = [np.array([-1.0, -1.0]), np.array([-1.0, -1.0, 2.0, 2.0])]
    assert 0.8125 == compare(uneven, [np.zeros(2), np.zeros(4)]).p  # 52 of all 64 flips


def test_holm_multiplies_and_never_falls():
    """0.01 x 4, 0.02 x 3, then 0.03 x 2 and 0.04 x 1 raised to the one before."""
    assert [0.06, 0.04, 0.06, 0.06] == pytest.approx(holm([0.03, 0.01, 0.04, 0.02]))
    assert [1.0, 1.0] == holm([0.9, 0.7])
    assert [] == holm([])
