"""A cut point from the scores at hand."""

import math

import pytest

from ragsieve.select.cut import FLOOR, Cut, Odds, inputs
from tests.segments import QUERY, scored

FLAT = ((0.0, 0.0),) * 3


def odds(*probabilities):
    """The same odds whatever the scores are."""
    return Odds(FLAT, tuple(math.log(p / (1 - p)) for p in probabilities))


def test_the_odds_are_those_of_logistic_regressions():
    """Logits 0 and ln 3: 1/2, 3/4, 9/10; missing scores count as the lowest; so many stay."""
    found = Odds(((0.0, 0.0), (5.0, 1.0), (7.0, 2.0)), (0.0, 0.0, 0.0))([0.5, 0.75, 0.9])

    assert [pytest.approx(0.5), pytest.approx(0.75), pytest.approx(0.9)] == found.tolist()

    low = math.log(FLOOR / (1 - FLOOR))

    assert [pytest.approx(-low), pytest.approx(low)] == inputs([1.0], 2).tolist()

    stage = Cut(odds(0.8, 0.1, 0.1), price=1.0, min_keep=2)

    assert [0.9, 0.5] == [s.score for s in stage(QUERY, scored(0.5, 0.9, 0.1))]
    assert [0.5] == [s.score for s in stage(QUERY, scored(0.5))]


@pytest.mark.parametrize(
    ("probabilities", "price", "kept"),
    [
        ((0.1, 0.5, 0.7), 0.05, [0.9, 0.5]),  # worth .1, .45, .6
        ((0.1, 0.5, 0.7), 0.25, [0.9]),  # worth .1, .25, .2
        ((0.1, 0.5, 0.7), 0.5, []),  # worth .1, 0, -.3
        ((0.1, 0.5, 0.4), 0.0, [0.9]),  # the second does harm
    ],
)
def test_what_is_worth_most_is_kept(probabilities, price, kept):
    """The probability of a right answer less the price of what is read, worked out beside it."""
    stage = Cut(odds(*probabilities), price=price)

    assert kept == [s.score for s in stage(QUERY, scored(0.5, 0.9, 0.1))]
