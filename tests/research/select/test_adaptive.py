"""A threshold that fits the scores at hand."""

import math

import numpy as np
import pytest

from ragsieve.models.base import Message
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.select.adaptive import Adaptive
from tests.segments import scored, traced

SPREAD = (0.9, 0.1, 0.6, 0.4)  # mean 0.5, variance (0.16 + 0.16 + 0.01 + 0.01) / 4 = 0.085
BUNCHED = (0.5, 0.6, 0.5, 0.4)  # mean 0.5, variance (0 + 0.01 + 0 + 0.01) / 4 = 0.005


def cut(stage, *values):
    """The scores that stay, and what the trace says."""
    kept, record = traced(stage, scored(*values))
    return [s.score for s in kept], record


@pytest.mark.parametrize(
    ("values", "threshold", "by", "kept"),
    [
        (SPREAD, 0.5, "mean", [0.9, 0.6]),
        (BUNCHED, 0.5 + math.sqrt(0.005), "mean + deviation", [0.6]),  # 0.571
        ((0.3,), 0.3, "mean + deviation", [0.3]),
        ((0.4, -0.8), -0.2, "mean", [0.4]),  # variance 0.36
        ((0.03, 0.04), 0.04, "mean + deviation", [0.04]),  # rounds above it: the best stays
    ],
)
def test_the_statistical_rule(values, threshold, by, kept):
    """The mean; where the variance is below 0.01, the deviation is added."""
    found, record = cut(Adaptive(), *values)
    (told,) = record.events

    assert kept == found
    assert pytest.approx(threshold, rel=1e-5) == told["threshold"]
    assert by == told["by"]


@pytest.mark.parametrize(("epsilon", "kept"), [(0.0, [0.5, 0.6, 0.5]), (0.1, [0.6])])
def test_epsilon_says_what_is_bunched(epsilon, kept):
    """At 0 nothing is: the mean itself cuts."""
    assert kept == cut(Adaptive(epsilon=epsilon), *BUNCHED)[0]


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 1.0, -3.0, 1 / 3, 1e-300, 1e150])
@pytest.mark.parametrize("times", [1, 2, 3, 7, 200])
@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_equal_scores_all_stay(value, times, epsilon):
    """Though their mean may round to a number above them."""
    assert [value] * times == cut(Adaptive(epsilon=epsilon), *[value] * times)[0]


@pytest.mark.parametrize("values", [(0.4,), (0.4, 0.4), (0.401, 0.4, 0.404)])
def test_nothing_is_proposed_where_all_scores_are_alike(values):
    """As they are shown, in two digits: all stay, and no LLM is asked."""
    llm = ScriptedLLM([])
    kept, record = cut(Adaptive(llm), *values)

    assert ([*values], []) == (kept, llm.prompts)
    assert "all scores are alike" == record.events[0]["by"]


def test_a_proposal_is_the_threshold():
    """At it or above stays, in the order given."""
    found, record = cut(Adaptive(ScriptedLLM(["0.4"])), *SPREAD)

    assert [0.9, 0.6, 0.4] == found
    assert ["threshold 0.400 (proposed by the LLM): 3 of 4 stay"] == record.notes
    assert [
        {"event": "threshold", "threshold": 0.4, "by": "proposed by the LLM", "kept": 3, "of": 4}
    ] == record.events


READABLE = [
    "50", "Threshold: 50", " 0.5\n", ".5", "0.50", "00.5", "0.5.", "**0.5**", "Threshold: 0.5",
    "**Threshold:** 0.5.", "The threshold is 0.5", "```json\n0.5\n```", "[0.5]",
    '{"threshold": 0.5}', "0.5 (the mean)", "- 0.5", "Answer: `0.5`",
]  # fmt: skip


@pytest.mark.parametrize("reply", READABLE)
def test_a_number_is_read_in_any_common_form(reply):
    """White space, Markdown and its name aside."""
    found, record = cut(Adaptive(ScriptedLLM([reply])), *SPREAD)

    assert [0.9, 0.6] == found
    assert 0 == record.unreadable


WRONG = [
    "", "half", "Of 0.9 and 0.1 the mean is 0.5", "Threshold: 5", "0.5 or 0.6", "nan", "inf",
    "-inf", "1e-1", "٠.٥", "0,5", "50%", "-0.5", "0.09", "0.91", "7", "1.0", ".", "-", "0.5\n0.6",
]  # fmt: skip


@pytest.mark.parametrize("reply", WRONG)
def test_what_is_no_number_in_range_is_asked_once_more(reply):
    """The second reply counts; then the statistical rule stands in, and the trace says which."""
    llm = ScriptedLLM([reply, "0.9"])
    found, record = cut(Adaptive(llm), *SPREAD)
    ruled, twice = cut(Adaptive(ScriptedLLM([reply, reply])), *SPREAD)

    assert ([0.9], [0.9, 0.6]) == (found, ruled)
    assert (1, 2) == (record.unreadable, twice.unreadable)
    assert "one whole number from 10 to 90" in llm.prompts[1][-1].content
    assert Message("assistant", reply) == llm.prompts[1][-2]
    assert "no threshold proposed, the statistical rule stands in" in twice.notes[1]
    assert "threshold 0.500 (mean): 2 of 4 stay" == twice.notes[2]


LOW = float(np.float32(0.7))  # a little below 0.7, as scorers give it


@pytest.mark.parametrize(
    ("reply", "scores", "kept"),
    [
        ("0.33", (0.1, 0.3333), [0.3333]),  # shown as 0.33
        ("0.34", (0.1, 0.336), [0.336]),  # shown as 0.34
        ("0.46", (0.9, 0.456, 0.1), [0.9, 0.456]),  # shown as 0.46
        ("0.47", (0.9, 0.456, 0.1), [0.9]),
        ("0.7", (LOW, 0.1), [LOW]),
        ("-1.5", (-1.0, -2.0), [-1.0]),
        ("<think>\n\n</think>\n\n0.55", (0.9, 0.5, 0.0), [0.9]),  # cut off, 0.5 would be 0
    ],
)
def test_what_was_shown_at_or_above_a_proposal_stays(reply, scores, kept):
    """Scores count as the model saw them, in two digits; an empty thought takes no digit away."""
    assert kept == cut(Adaptive(ScriptedLLM([reply])), *scores)[0]


def test_scores_above_1_have_their_own_range():
    """As logits of a cross-encoder have; 1 is no bound then."""
    llm = ScriptedLLM(["8.5"])

    assert [9.0] == cut(Adaptive(llm), 9.0, 2.0)[0]
    assert "from 200 to 900" in llm.prompts[0][0].content
