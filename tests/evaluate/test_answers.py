"""Answers against gold answers."""

from __future__ import annotations

import pytest

from ragsieve.evaluate.answers import accuracy


@pytest.mark.parametrize(
    ("output", "answers", "expected"),
    [
        ("It was Seals & Crofts.", ["Seals", "Crofts"], 1.0),
        ("It was THE seals!", ["the Seals"], 1.0),
        ("It was Sealskin.", ["Seals"], 0.0),
        ("他住在东京。", ["东京"], 1.0),
        ("", ["Seals"], 0.0),
        ("Seals", [], 0.0),
        ("Seals", ["the", "?"], 0.0),
    ],
)
def test_an_answer_is_right_where_a_gold_one_stands_in_it(
    output: str, answers: list[str], expected: float
) -> None:
    """Case, articles and punctuation do not count; words do, where a script has them."""
    assert expected == accuracy(output, answers)
