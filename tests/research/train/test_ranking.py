"""Figures of rankings, worked out by hand."""

import numpy as np
import pytest

from ragsieve_research.train.ranking import JudgedSentences, figures


def judged(data: str, scores: list[float], clues: list[int], words: int = 5) -> JudgedSentences:
    held = np.isin(np.arange(len(scores)), clues)
    return JudgedSentences(data, np.array(scores, np.float32), held, np.full(len(scores), words))


def test_figures_are_of_each_data_set_and_their_mean() -> None:
    """Four sentences: a clue in third place is above one of three others, AUC 1/3, and only among
    the first 3 and 5; a tenth of 20 words holds none, so the first stands alone."""
    found = figures(
        [judged("a", [4, 3, 2, 1], [2]), judged("b", [4, 3, 2, 1], [0]), judged("b", [1, 0], [])]
    )

    third = {"auc": 1 / 3, "recall_1": 0, "recall_3": 1, "recall_5": 1, "recall_tenth": 0}
    assert pytest.approx({"questions": 1, **third}) == found["a"]
    assert {"questions": 1, **dict.fromkeys(third, 1.0)} == found["b"]
    assert pytest.approx((2 / 3, 0.5)) == (found["mean"]["auc"], found["mean"]["recall_1"])


def test_as_many_sentences_are_kept_as_fit_a_tenth_of_the_words() -> None:
    """Of 100 words in 50 sentences, ten: five sentences, so the fifth counts and the sixth not."""
    scores = [float(-n) for n in range(50)]
    recalls = [figures([judged("a", scores, [n], 2)])["a"]["recall_tenth"] for n in (4, 5)]

    assert [1.0, 0.0] == recalls


def test_without_a_question_of_both_kinds_there_are_no_figures() -> None:
    """Nothing is divided by none."""
    assert {} == figures([judged("a", [1, 2], []), judged("a", [1], [0])])
