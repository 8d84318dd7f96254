"""Selective-Context (arXiv 2310.06201) worked by hand: section 3, self-information of units.

A token's self-information is I(x) = -ln p(x | all before it); a unit's is the sum over its tokens
(equation 4). The model below gives these probabilities:

    The cat sat .   1/2  1/8  1/4  1/2        sum  ln 2 + ln 8 + ln 4 + ln 2   = ln 128
    It purred .     1/2  1/32 1/2             sum  ln 2 + ln 32 + ln 2         = ln 128
    It was so .     1/2  1/2  1/2  1/2        sum  4 ln 2                      = ln 16

Sentences: the median of (ln 128, ln 128, ln 16) is ln 128, the third goes.
Tokens, in ln 2: 1 3 2 1 | 1 5 1 | 1 1 1 1: the 75th of 100 of the eleven lies between the 8th (1)
and the 9th (2) of 1 1 1 1 1 1 1 1 2 3 5, at 1 + 0.5 (2 - 1) = 1.5: "cat sat" and "purred" stay.
"""

from __future__ import annotations

from math import log

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.result import Result
from ragsieve_research.systems.selective_context import Unit, selective_context

TEXT = "The cat sat. It purred. It was so."
CHANCES = {"cat": 1 / 8, "sat": 1 / 4, "purred": 1 / 32}


def pruned(unit: Unit, percent: float) -> Result:
    llm = ScriptedLLM([], nats=lambda _, token: -log(CHANCES.get(token.strip(), 1 / 2)))
    return selective_context(llm, unit=unit, percent=percent)("Who purred?", [TEXT])


def test_sentences_below_the_median_go() -> None:
    """The trace says by how much: ln 16 = 2.77, ln 128 = 4.85."""
    result = pruned("sentence", 50)

    assert "The cat sat. It purred." == result.text
    assert [("It was so.", "score 2.773 is below min_score=4.852")] == [
        (v.segment.text, v.reason) for v in result.verdicts if v.stage
    ]


def test_tokens_below_the_percentile_go() -> None:
    """1.5 ln 2 = 1.04 nats; what is next to each other joins."""
    result = pruned("token", 75)

    assert ["cat sat", "purred"] == [s.text for s in result.kept]
    assert 3 * log(2) == pytest.approx(result.kept[0].score)
    assert {"score 0.693 is below min_score=1.0397"} == {
        v.reason for v in result.verdicts if v.stage
    }
