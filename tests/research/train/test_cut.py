"""Fit a cut point to what the generator could answer from."""

import pytest

from ragsieve.errors import InputError
from ragsieve.types import Query
from ragsieve_research.train.cut import fit_odds
from ragsieve_research.train.examples import TrainingExample


def example(*right: bool, best: float) -> TrainingExample:
    """Ranked sentences, one fewer than ``right``, all with the score ``best``."""
    some = len(right) - 1
    return TrainingExample(
        Query("Who?"), ("x",), (), {}, tuple(range(some)), 1, (best,) * some, right
    )


def test_the_generator_answers_where_the_best_score_is_high() -> None:
    """It does from one sentence of .9, never from one of .1, and seldom without any."""
    sure, unsure = example(False, True, best=0.9), example(False, False, best=0.1)
    odds = fit_odds([sure, unsure] * 500, max_clues=1)

    assert odds([0.9])[1] > 0.95
    assert odds([0.1])[1] < 0.05
    assert pytest.approx(0.5 / 1001) == odds([0.9])[0]


def test_equal_shares_are_learnt_as_such() -> None:
    """Where scores do not differ, the odds are the share: three of four."""
    some = [example(False, right, best=0.5) for right in (True, True, True, False)]

    assert pytest.approx(0.75, abs=1e-4) == fit_odds(some * 25, max_clues=1)([0.5])[1]


def test_short_rankings_teach_what_they_can() -> None:
    """The highest K needs one example that reached it."""
    short, long = example(False, True, best=0.5), example(True, True, False, best=0.5)
    odds = fit_odds([short, long], max_clues=2)([0.5, 0.5])

    assert pytest.approx(1 / 4) == odds[2]
    with pytest.raises(InputError, match="whether the generator answers from 3 sentences"):
        fit_odds([short, long], max_clues=3)
