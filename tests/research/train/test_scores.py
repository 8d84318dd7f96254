"""Fit a curve from a score to the probability that a segment helps."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics

from ragsieve.errors import InputError
from ragsieve.schema import read
from ragsieve_research.evaluate.scorers import ScoredSegments
from ragsieve_research.score.calibrated import Logistic
from ragsieve_research.train.scores import calibrate, fit, write


def question(scores, grades):
    return ScoredSegments(np.array(grades), {"s": np.array(scores)}, {}, {})


def test_a_curve_finds_the_odds():
    """1/4 at 10 and 3/4 at 20: log-odds -ln 3 and ln 3, up to the prior; a falling one is level."""
    scores = np.repeat([10.0, 20.0], 400)
    helps = np.tile([1.0, 0, 0, 0], 100), np.tile([0.0, 1, 1, 1], 100)
    curve = fit(scores, np.concatenate(helps))

    assert pytest.approx([0.25, 0.75], abs=0.003) == curve(np.array([10.0, 20.0]))

    curve = fit(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.0, 0.0, 0.0]))

    assert pytest.approx([0.25] * 3) == curve(np.array([-9.0, 2.5, 9.0]))

    some = [question([0.9, 0.8, 0.1], [0, 0, 1])]
    made = calibrate(some, some, "s")

    assert made.level
    assert 0.5 == made.after.auc


@given(st.lists(st.tuples(st.floats(-50, 50, width=32), st.booleans()), min_size=2, max_size=30))
def test_any_labels_of_both_kinds_make_a_curve(pairs):
    """Equal scores, scores far apart, whatever they are."""
    scores, helps = np.array(pairs, np.float64).T
    if 0 < helps.mean() < 1:
        assert isinstance(fit(scores, helps), Logistic)


def test_what_cannot_be_fitted_is_told():
    """Labels of one kind, too few questions, a score that is no probability."""
    with pytest.raises(InputError, match="segments that help and others, got 2 of one kind"):
        fit(np.array([0.1, 0.2]), np.zeros(2))

    some = [question([3.0, 12.0], [0, 1])]
    made = calibrate(some, some, "s")

    assert made.before is None
    assert made.after.brier < made.base.brier

    some = [question([0.1, 0.2], [0, 1])]

    with pytest.raises(InputError, match="fitted to at least one question"):
        calibrate([], some, "s")
    with pytest.raises(InputError, match="measured on at least one question"):
        calibrate(some, [], "s")


def test_probabilities_are_judged_as_scikit_learn_does():
    """Brier score and log-loss of all segments; bins of a tenth: (2 * .05 + 0) / 3."""
    test = [question([0.1, 0.9, 0.4], [0, 2, 1]), question([0.7, 0.2], [0, 0])]
    before = calibrate(test, test, "s").before
    helps, scores = [0, 1, 1, 0, 0], [0.1, 0.9, 0.4, 0.7, 0.2]

    assert pytest.approx(metrics.brier_score_loss(helps, scores)) == before.brier
    assert pytest.approx(metrics.log_loss(helps, scores)) == before.log_loss
    assert 1.0 == before.auc  # of the first question, the only one of both kinds

    test = [question([0.41, 0.49, 1.0], [0, 1, 1])]
    before = calibrate(test, test, "s").before

    assert pytest.approx(0.1 / 3) == before.calibration_error


def test_a_curve_makes_a_score_a_probability_and_keeps_the_order():
    """Scores of .8 and .9 that help in 1 of 4 and 3 of 4."""
    known = [question([0.8] * 4 + [0.9] * 4, [1, 0, 0, 0, 0, 1, 1, 1])] * 50
    made = calibrate(known, known, "s")

    assert pytest.approx(0.35, abs=1e-6) == made.before.calibration_error  # .85 for .5
    assert made.after.calibration_error < 0.01
    assert pytest.approx(0.25) == made.base.brier
    assert pytest.approx(0.25 * 0.75, abs=1e-4) == made.after.brier
    assert made.before.auc == made.after.auc
    assert not made.level


def test_a_curve_is_written_with_what_made_it(tmp_path):
    """As JSON; a place that cannot be written is named."""
    some = [question([0.1, 0.2], [0, 1])]
    made = calibrate(some, some, "s")
    write(tmp_path / "c.json", made, {"models": {"s": "small"}})
    values = json.loads((tmp_path / "c.json").read_text())

    assert made.curve == read(Logistic, values["curve"])
    assert {"s": "small"} == values["models"]
    assert {"before", "base", "after"} == values["test"].keys()
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write(tmp_path, made, {})
