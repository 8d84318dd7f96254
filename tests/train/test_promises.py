"""Thresholds by the probability that the evidence survives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("accelerate")
pytest.importorskip("scipy")

from ragsieve.errors import InputError
from ragsieve.models.fake import OverlapPruner
from ragsieve.train.promises import PROMISES, scored, thresholds
from ragsieve.train.risk import Scored

RECORD: dict[str, Any] = {
    "question": "Who sang Summer Breeze?",
    "answers": ["Seals"],
    "documents": [
        {"text": "It rained. Summer Breeze was sung by Seals.", "evidence": [[11, 43]]},
        {"text": "Who knows? Seals sang elsewhere."},
    ],
}


def questions(scores: list[float]) -> list[Scored]:
    """One sentence each, which is the evidence."""
    return [Scored(np.array([one]), np.array([True])) for one in scores]


def test_sentences_are_scored_in_the_order_of_documents() -> None:
    """Evidence is what is marked, not what repeats the answer; questions without text go."""
    (found,) = scored(OverlapPruner(), [RECORD, {"question": "Who?", "documents": []}])

    np.testing.assert_array_equal([0, 2 / 4, 1 / 4, 1 / 4], found.scores)
    np.testing.assert_array_equal([False, True, False, False], found.holds)


def test_a_threshold_may_lose_what_the_promise_allows() -> None:
    """Of 99 evidence scores, 0.01 to 0.99, 100 * (1 - promise) - 1 may lie below."""
    found = thresholds({"all": questions([n / 100 for n in range(1, 100)])})

    assert [f"{promise:.2f}" for promise in PROMISES] == [*found]
    assert pytest.approx([0.20, 0.10, 0.05, 0.01]) == [
        found[promise] for promise in ("0.80", "0.90", "0.95", "0.99")
    ]


def test_a_promise_holds_in_every_group() -> None:
    """The hardest kind of question decides."""
    easy = questions([0.5 + n / 200 for n in range(99)])
    hard = questions([n / 200 for n in range(99)])

    assert thresholds({"hard": hard}) == thresholds({"easy": easy, "hard": hard})


def test_too_few_questions_promise_nothing() -> None:
    """99 of 100 cannot be promised on ten questions."""
    with pytest.raises(InputError, match=r"needs at least .* questions"):
        thresholds({"few": questions([0.5] * 10)})
