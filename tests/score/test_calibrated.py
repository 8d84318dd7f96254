"""A score as a probability."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.score import BM25, Calibrated, Cosine, Critique, Hybrid, Relevance
from ragsieve.score.calibrated import Curve, Logistic, models_of, read_curve
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")
BENT = Curve((0.2, 0.4, 0.5), (0.1, 0.1, 0.8))
RATER = Relevance(ScriptedLLM(["unused"], identity="small"))
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)


def scored(*values: float) -> list[Segment]:
    return [
        Segment.whole(Document(str(place), "text")).scored("mean", value)
        for place, value in enumerate(values)
    ]


@st.composite
def curves(draw: st.DrawFn) -> Curve | Logistic:
    if draw(st.booleans()):
        return Logistic(draw(st.floats(0, 1e30)), draw(st.floats(-1e30, 1e30)))
    x = sorted(draw(st.sets(FINITE, min_size=1, max_size=6)))
    y = sorted(draw(st.lists(st.floats(0, 1), min_size=len(x), max_size=len(x))))
    return Curve(tuple(x), tuple(y))


def test_a_curve_is_straight_between_its_scores_and_level_outside() -> None:
    """Half way from .4 to .5 lies half way from .1 to .8."""
    found = Calibrated(BENT)(QUERY, scored(-3, 0.3, 0.45, 0.5, 9))

    assert pytest.approx([0.1, 0.1, 0.45, 0.8, 0.8]) == [s.score for s in found]
    assert ["mean", "calibrated"] == list(found[0].scores)


def test_a_logistic_curve_is_even_where_its_log_odds_are_0() -> None:
    """At log-odds 4 * 0.75 - 2 = 1 the probability is 1 / (1 + 1/e)."""
    found = Calibrated(Logistic(4.0, -2.0))(QUERY, scored(0.5, 0.75))

    assert pytest.approx([0.5, 1 / (1 + math.exp(-1))]) == [s.score for s in found]


@given(curves(), st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20))
def test_no_curve_falls(curve: Curve | Logistic, values: list[float]) -> None:
    """A higher score is never a lower probability, and all are probabilities."""
    found = curve(np.sort(values))

    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(curves())
def test_a_curve_survives_json(curve: Curve | Logistic) -> None:
    """To the last bit."""
    assert curve == read_curve(json.loads(json.dumps(curve.to_dict())))


def test_a_segment_without_the_score_is_named() -> None:
    """With the scores that it has."""
    with pytest.raises(InputError, match=r"scores of \('0', 0, 4\) are mean, got no 'relevance'"):
        Calibrated(BENT, of="relevance")(QUERY, scored(0.5))


@pytest.mark.parametrize(
    ("scores", "probabilities", "message"),
    [
        ((), (), "a probability a score, got 0 and 0"),
        ((0.0, 1.0), (0.5,), "a probability a score, got 2 and 1"),
        ((0.0, 0.0), (0.1, 0.2), "must be finite and rise"),
        ((0.0, math.inf), (0.1, 0.2), "must be finite and rise"),
        ((0.0, 1.0), (0.2, 0.1), r"must lie in \[0, 1\] and not fall"),
        ((0.0, 1.0), (0.2, 1.1), r"must lie in \[0, 1\] and not fall"),
        ((0.0, 1.0), (0.2, math.nan), r"must lie in \[0, 1\] and not fall"),
    ],
)
def test_the_points_of_a_curve_are_checked(
    scores: tuple[float, ...], probabilities: tuple[float, ...], message: str
) -> None:
    """The error names the rule."""
    with pytest.raises(InputError, match=message):
        Curve(scores, probabilities)


@pytest.mark.parametrize(
    ("slope", "bias"),
    [(-1, 0), (math.inf, 0), (math.nan, 0), (1, math.inf), (1e308, 0), (1, -1e308)],
)
def test_the_numbers_of_a_logistic_curve_are_checked(slope: float, bias: float) -> None:
    """The error shows them."""
    with pytest.raises(InputError, match="slope must not be negative, both finite, got Logistic"):
        Logistic(slope, bias)


def test_models_of_scorers_are_named_through_those_that_join_others() -> None:
    """BM25 needs none."""
    found = models_of([Hybrid((BM25(), Cosine(HashingEmbedder(8)))), RATER, BM25()])

    assert {"fused": "hashing:8", "relevance": "small", "bm25": ""} == found


def test_a_file_is_for_the_models_that_it_was_fitted_to(tmp_path: Path) -> None:
    """The same scorers by the same models, else an error in one line."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"curve": BENT.to_dict(), "models": {"relevance": "small"}}))
    other = Relevance(ScriptedLLM(["unused"], identity="large"))

    assert Calibrated(BENT) == Calibrated.load(path, [RATER])
    with pytest.raises(InputError, match=r"is for relevance by small, got relevance by large$"):
        Calibrated.load(path, [other])
    with pytest.raises(InputError, match=r"got relevance by small, critique by small$"):
        Calibrated.load(path, [RATER, Critique(RATER.llm)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "\x00",
        '{"curve": 1, "models": {}}',
        '{"curve": {"slope": "x", "bias": 0}, "models": {}}',
        '{"curve": {"scores": [0], "probabilities": [2]}, "models": {}}',
        '{"curve": {"slope": 1, "bias": 0}, "models": 3}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_calibration_is_named(tmp_path: Path, text: str) -> None:
    """In one line, with the path."""
    path = tmp_path / "c.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"^.*c\.json must be a calibration of scores: .*$"):
        Calibrated.load(path, [RATER])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(InputError, match=r"c\.json cannot be read: No such file"):
        Calibrated.load(tmp_path / "c.json", [RATER])
