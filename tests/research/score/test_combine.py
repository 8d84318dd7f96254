"""Scores made of scores, and scorers by their names."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ragsieve import Document, InputError, Query, Segment, score
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, ScriptedLLM
from ragsieve.schema import read
from ragsieve.score.base import Scorer
from ragsieve.score.embedding import Cosine
from ragsieve.score.lexical import BM25
from ragsieve_research.fusion import fuse
from ragsieve_research.score.calibrated import Calibrated, Logistic, models_of
from ragsieve_research.score.combine import Hybrid, Mean
from ragsieve_research.score.judge import Critique, Relevance
from ragsieve_research.score.named import SCORERS, NamedScorer, create_scorers, needed

QUERY = Query("Who sang it?")


@dataclass(frozen=True)
class Given(Scorer):
    """Scores by the text of the segment."""

    values: Mapping[str, float]
    name: ClassVar[str] = "given"

    def scores(self, query, segments):
        return np.array([self.values[s.text] for s in segments], np.float32)


def segments(texts, **scores):
    """One a letter."""
    return [Segment(Document(str(n), text), 0, 1, scores) for n, text in enumerate(texts)]


LEFT = Given({"a": 0.9, "b": 0.5, "c": 0.1})  # ranks 1, 2, 3
RIGHT = Given({"a": -3.0, "b": 70.0, "c": 8.0})  # ranks 3, 1, 2


@pytest.mark.parametrize("weights", [None, (0.5, 0.5), (7.0, 7.0)])
def test_ranks_are_fused_in_equal_weights(weights):
    """Half of 1 / (60 + rank) from each; weights are shares, whatever they sum to."""
    found = Hybrid((LEFT, RIGHT), weights)(QUERY, segments("abc"))

    fused = [0.5 / 61 + 0.5 / 63, 0.5 / 62 + 0.5 / 61, 0.5 / 63 + 0.5 / 62]
    assert fused == pytest.approx([s.score for s in found])
    assert "bac" == "".join(s.text for s in sorted(found, key=lambda s: -s.score))


def test_zeros_say_nothing_and_equal_scores_rank_as_given():
    """A weight of 0 silences a scorer, a score of 0 is no rank; a span given twice has two."""
    found = Hybrid((LEFT, RIGHT), (0, 1))(QUERY, segments("abc"))

    assert [pytest.approx(1 / 63), pytest.approx(1 / 61), pytest.approx(1 / 62)] == [
        s.score for s in found
    ]

    near = Given({"a": 0.1, "b": 0.2, "c": 0.9})
    found = Hybrid((BM25(), near))(Query("x"), segments("abc"))

    assert [pytest.approx(0.5 / rank) for rank in (63, 62, 61)] == [s.score for s in found]

    (twin,) = segments("a")

    assert [pytest.approx(1 / 61), pytest.approx(1 / 62)] == [
        s.score for s in Hybrid((LEFT,))(QUERY, [twin, twin])
    ]

    half = Given({letter: float(letter.islower()) for letter in ascii_letters})
    texts = "".join(map("".join, zip(ascii_uppercase, ascii_lowercase, strict=True)))  # AaBb…
    found = Hybrid((half,))(QUERY, segments(texts))

    assert [*ascii_lowercase, *ascii_uppercase] == [
        s.text for s in sorted(found, key=lambda s: -s.score)
    ]


def test_the_mean_of_named_scores():
    """The paper's: (0.9 + 0.6 + 0.3) / 3 = 0.6; weighted (2 · 0.9 + 1 · 0.3) / 3 = 0.7."""
    (found,) = Mean(("relevance", "reflection", "critique"))(
        QUERY, segments("a", relevance=0.9, reflection=0.6, critique=0.3, other=7.0)
    )

    assert pytest.approx(0.6) == found.score
    assert "mean" == [*found.scores][-1]

    (found,) = Mean(("x", "y"), (2, 1))(QUERY, segments("a", x=0.9, y=0.3))

    assert pytest.approx(0.7) == found.score

    given = [*segments("a", x=0.25, y=0.75), *segments("b", y=1.0, x=0.0)]

    assert [0.5, 0.5] == [s.score for s in Mean(("x", "y"))(QUERY, given)]
    assert [0.25, 0.0] == [s.score for s in Mean(("x",))(QUERY, given)]


EVEN = Logistic(4.0, -2.0)
RATER = Relevance(ScriptedLLM(["unused"], identity="small"))
CURVES = st.builds(Logistic, st.floats(0, 1e30), st.floats(-1e30, 1e30))


def scored(*values):
    return [
        Segment.whole(Document(str(place), "text")).scored("mean", value)
        for place, value in enumerate(values)
    ]


def test_a_logistic_curve_is_even_where_its_log_odds_are_0():
    """At log-odds 4 * 0.75 - 2 = 1 the probability is 1 / (1 + 1/e)."""
    found = Calibrated(EVEN)(QUERY, scored(0.5, 0.75))

    assert pytest.approx([0.5, 1 / (1 + math.exp(-1))]) == [s.score for s in found]
    assert ["mean", "calibrated"] == list(found[0].scores)


@given(CURVES, st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=20))
def test_no_curve_falls(curve, values):
    """A higher score is never a lower probability, and all are probabilities."""
    found = curve(np.sort(values))

    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


@given(CURVES)
def test_a_curve_survives_json(curve):
    """To the last bit."""
    assert curve == read(Logistic, json.loads(json.dumps(curve.to_dict())))


def test_a_file_is_for_the_models_that_it_was_fitted_to(tmp_path):
    """The same scorers by the same models, inside others, too; else an error in one line."""
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"curve": EVEN.to_dict(), "models": {"relevance": "small"}}))
    other = Relevance(ScriptedLLM(["unused"], identity="large"))

    assert Calibrated(EVEN) == Calibrated.load(path, [RATER])
    with pytest.raises(InputError, match=r"is for relevance by small, got relevance by large$"):
        Calibrated.load(path, [other])
    with pytest.raises(InputError, match=r"got relevance by small, critique by small$"):
        Calibrated.load(path, [RATER, Critique(RATER.llm)])

    found = models_of([Hybrid((BM25(), Cosine(HashingEmbedder(8)))), RATER, BM25()])

    assert {"fused": "hashing:8", "relevance": "small", "bm25": ""} == found


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
def test_a_file_that_is_no_calibration_is_named(tmp_path, text):
    """In one line, with the path."""
    path = tmp_path / "c.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"^.*c\.json must be a calibration of scores: .*$"):
        Calibrated.load(path, [RATER])


def test_scores_are_sums_of_weighted_reciprocal_ranks():
    """Weight / (60 + rank) by key, once a ranking; ties as first seen; none of none."""
    fused = fuse([["a", "b"], ["b", "c"]], [0.25, 0.75])

    assert {"b": 0.25 / 62 + 0.75 / 61, "c": 0.75 / 62, "a": 0.25 / 61} == fused
    assert ["b", "c", "a"] == list(fused)

    assert ["x", "y", "z"] == list(fuse([["x"], ["y"], ["z"]], [1, 1, 1]))

    assert {"a": 1 / 61, "b": 1 / 62} == fuse([["a", "a", "b"]], [1])

    assert {} == fuse([[], []], [0.5, 0.5])


def test_scorers_bring_what_they_need_once():
    """Reflection reads relevance; a mean reads all three."""
    assert ["relevance", "reflection"] == needed(["reflection"])
    assert ["relevance", "reflection", "critique", "mean"] == needed(["reflection", "mean"])
    with pytest.raises(InputError, match=r"a scorer must be one of bm25, .*, got 'bm52'"):
        needed(["bm52"])
    with pytest.raises(InputError, match="at least one scorer"):
        needed([])


def test_models_are_asked_for_only_where_needed():
    """BM25 needs none, a cross-encoder its own."""
    asked = []

    def model(role):
        asked.append(role)
        return OverlapCrossEncoder()

    assert ["bm25", "pair"] == list(create_scorers(["bm25", "pair"], model))
    assert ["pair"] == asked


def test_a_package_adds_a_scorer():
    """By its entry point's name, after which it is one of the others."""
    with SCORERS.isolated():
        SCORERS.register("words", NamedScorer(score.BM25))
        assert ["words"] == [*create_scorers(["words"], lambda role: None)]
    assert "words" not in SCORERS
