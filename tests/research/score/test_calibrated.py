"""A score as a probability."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.schema import read
from ragsieve.score.embedding import Cosine
from ragsieve.score.lexical import BM25
from ragsieve.types import Document, Query, Segment
from ragsieve_research.score.calibrated import Calibrated, Logistic, models_of
from ragsieve_research.score.combine import Hybrid
from ragsieve_research.score.judge import Critique, Relevance

QUERY = Query("Who sang it?")
EVEN = Logistic(4.0, -2.0)
RATER = Relevance(ScriptedLLM(["unused"], identity="small"))
CURVES = st.builds(Logistic, st.floats(0, 1e30), st.floats(-1e30, 1e30))


def scored(*values: float) -> list[Segment]:
    return [
        Segment.whole(Document(str(place), "text")).scored("mean", value)
        for place, value in enumerate(values)
    ]


def test_a_logistic_curve_is_even_where_its_log_odds_are_0() -> None:
    """At log-odds 4 * 0.75 - 2 = 1 the probability is 1 / (1 + 1/e)."""
    found = Calibrated(EVEN)(QUERY, scored(0.5, 0.75))

    assert pytest.approx([0.5, 1 / (1 + math.exp(-1))]) == [s.score for s in found]
    assert ["mean", "calibrated"] == list(found[0].scores)


@given(CURVES, st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20))
def test_no_curve_falls(curve: Logistic, values: list[float]) -> None:
    """A higher score is never a lower probability, and all are probabilities."""
    found = curve(np.sort(values))

    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(CURVES)
def test_a_curve_survives_json(curve: Logistic) -> None:
    """To the last bit."""
    assert curve == read(Logistic, json.loads(json.dumps(curve.to_dict())))


def test_models_of_scorers_are_named_through_those_that_join_others() -> None:
    """BM25 needs none."""
    found = models_of([Hybrid((BM25(), Cosine(HashingEmbedder(8)))), RATER, BM25()])

    assert {"fused": "hashing:8", "relevance": "small", "bm25": ""} == found


def test_a_file_is_for_the_models_that_it_was_fitted_to(tmp_path: Path) -> None:
    """The same scorers by the same models, else an error in one line."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"curve": EVEN.to_dict(), "models": {"relevance": "small"}}))
    other = Relevance(ScriptedLLM(["unused"], identity="large"))

    assert Calibrated(EVEN) == Calibrated.load(path, [RATER])
    with pytest.raises(InputError, match=r"is for relevance by small, got relevance by large$"):
        Calibrated.load(path, [other])
    with pytest.raises(InputError, match=r"got relevance by small, critique by small$"):
        Calibrated.load(path, [RATER, Critique(RATER.llm)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"curve": 1, "models": {}}',
        '{"curve": {"slope": "x", "bias": 0}, "models": {}}',
        '{"curve": {"scores": [0], "probabilities": [2]}, "models": {}}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_calibration_is_named(tmp_path: Path, text: str) -> None:
    """In one line, with the path."""
    path = tmp_path / "c.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"^.*c\.json must be a calibration of scores: .*$"):
        Calibrated.load(path, [RATER])
