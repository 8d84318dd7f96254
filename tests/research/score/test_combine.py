"""Several scores as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from ragsieve.score.base import Scorer
from ragsieve.score.lexical import BM25
from ragsieve.types import Document, Query, Segment
from ragsieve_research.score.combine import Hybrid, Mean

QUERY = Query("Who sang it?")


@dataclass(frozen=True)
class Given(Scorer):
    """Scores by the text of the segment."""

    values: Mapping[str, float]
    name: ClassVar[str] = "given"

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        return np.array([self.values[s.text] for s in segments], np.float32)


def segments(texts: str, **scores: float) -> list[Segment]:
    """One a letter."""
    return [Segment(Document(str(n), text), 0, 1, scores) for n, text in enumerate(texts)]


LEFT = Given({"a": 0.9, "b": 0.5, "c": 0.1})  # ranks 1, 2, 3
RIGHT = Given({"a": -3.0, "b": 70.0, "c": 8.0})  # ranks 3, 1, 2


@pytest.mark.parametrize("weights", [None, (0.5, 0.5), (7.0, 7.0)])
def test_ranks_are_fused_in_equal_weights(weights: tuple[float, ...] | None) -> None:
    """Half of 1 / (60 + rank) from each; weights are shares, whatever they sum to."""
    found = Hybrid((LEFT, RIGHT), weights)(QUERY, segments("abc"))

    fused = [0.5 / 61 + 0.5 / 63, 0.5 / 62 + 0.5 / 61, 0.5 / 63 + 0.5 / 62]
    assert fused == pytest.approx([s.score for s in found])
    assert "bac" == "".join(s.text for s in sorted(found, key=lambda s: -s.score))


def test_a_weight_of_0_silences_a_scorer() -> None:
    """The order is the other one's."""
    found = Hybrid((LEFT, RIGHT), (0, 1))(QUERY, segments("abc"))

    assert [pytest.approx(1 / 63), pytest.approx(1 / 61), pytest.approx(1 / 62)] == [
        s.score for s in found
    ]


def test_equal_scores_rank_as_given() -> None:
    """Stable: where nothing tells them apart, the order they came in does."""
    half = Given({letter: float(letter.islower()) for letter in ascii_letters})
    texts = "".join(map("".join, zip(ascii_uppercase, ascii_lowercase, strict=True)))  # AaBb…
    found = Hybrid((half,))(QUERY, segments(texts))

    assert [*ascii_lowercase, *ascii_uppercase] == [
        s.text for s in sorted(found, key=lambda s: -s.score)
    ]


def test_what_a_scorer_gives_0_it_does_not_rank() -> None:
    """Without a word of the question BM25 knows no order, so the other one's stands."""
    near = Given({"a": 0.1, "b": 0.2, "c": 0.9})
    found = Hybrid((BM25(), near))(Query("x"), segments("abc"))

    assert [pytest.approx(0.5 / rank) for rank in (63, 62, 61)] == [s.score for s in found]


def test_a_span_given_twice_is_ranked_twice() -> None:
    """Places count, not keys."""
    (twin,) = segments("a")

    assert [pytest.approx(1 / 61), pytest.approx(1 / 62)] == [
        s.score for s in Hybrid((LEFT,))(QUERY, [twin, twin])
    ]


def test_the_mean_of_named_scores() -> None:
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
