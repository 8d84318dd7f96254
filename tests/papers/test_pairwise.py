"""Pairwise ranking prompting (arXiv 2306.17563) worked by hand: four passages, the best is d4.

An LLM that knows the order d4, d2, d1, d3 compares neighbours, from the last to the first:

    first time    d3 < d4, d2 < d4, d1 < d4    d4 d1 d2 d3
    second time   d2 > d3, d1 < d2             d4 d2 d1 d3

Twice puts the best two in front, by five comparisons, each in both orders. All pairs are six: d4 is
better than three, d2 than two, d1 than one.
"""

import re

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.pairwise import pairwise_ranking_prompting
from tests.named import notes

BEST = ["d4", "d2", "d1", "d3"]
DOCUMENTS = [{"id": f"d{n}", "text": f"d{n}"} for n in range(1, 5)]


def better(prompt):
    """The letter of the better passage."""
    a, b = re.findall(r'^Passage [AB]: "(d\d)"$', prompt[-1].content, re.MULTILINE)
    return "A" if BEST.index(a) < BEST.index(b) else "B"


@pytest.mark.parametrize(("pairs", "asked"), [("sliding", 10), ("all", 12)])
def test_both_forms_find_the_best_two(pairs, asked):
    """By five comparisons, or by all six; scores are places, 1 - r/4."""
    llm = ScriptedLLM(better, can=frozenset({"complete"}))
    result = pairwise_ranking_prompting(llm, pairs=pairs, k=2)("Which?", DOCUMENTS)

    assert ["d4", "d2"] == [s.document.id for s in result.kept]
    assert {"d4": 1, "d2": 0.75, "d1": 0.5, "d3": 0.25} == {
        s.text: s.score for s in result.trace.steps[0].after
    }
    assert asked == len(llm.prompts)


@pytest.mark.parametrize("pairs", ["sliding", "all"])
@pytest.mark.parametrize("reply", ["A", "both"])
def test_what_contradicts_itself_changes_nothing(pairs, reply):
    """A model that prefers the first place, and one that names none, leave the order as it was."""
    llm = ScriptedLLM(lambda _: reply, can=frozenset({"complete"}))
    result = pairwise_ranking_prompting(llm, pairs=pairs, k=9)("Which?", DOCUMENTS)

    assert ["d1", "d2", "d3", "d4"] == [s.text for s in result.kept]
    assert (reply == "both") == any("stays open" in note for note in notes(result))
