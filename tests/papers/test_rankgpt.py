"""RankGPT (arXiv 2304.09542) worked by hand: eight passages, windows of 4, steps of 2.

Passages d1 to d8 in the retriever's order; the best is d8, then d3, d6, d1, d5, d2, d7, d4. An LLM
that always knows the order of what it reads:

    window 3  reads d5 d6 d7 d8   writes [4] > [2] > [1] > [3]   d1 d2 d3 d4 d8 d6 d5 d7
    window 2  reads d3 d4 d8 d6   writes [3] > [1] > [4] > [2]   d1 d2 d8 d3 d6 d4 d5 d7
    window 1  reads d1 d2 d8 d3   writes [3] > [4] > [1] > [2]   d8 d3 d1 d2 d6 d4 d5 d7

The first two are the best two: each window carries as many on as it has beyond its step. The third
best, d6, is not carried all the way. Scores, 1 - place / 8: d8 1, d3 0.875, d1 0.75, d2 0.625,
d6 0.5, d4 0.375, d5 0.25, d7 0.125.
"""

import re

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.rankgpt import pe_rank, rankgpt
from tests.tiny import Ranks

QUERY = "Which is the best?"
BEST = ["d8", "d3", "d6", "d1", "d5", "d2", "d7", "d4"]
TEXTS = ["It rained.", "Ann sang it.", "Bob sang."]
DOCUMENTS = [{"id": f"d{n}", "text": f"d{n}"} for n in range(1, 9)]


def order(prompt):
    """What the LLM writes of the passages that it reads."""
    read = re.findall(r"^\[(\d)\] (d\d)$", prompt[1].content, re.MULTILINE)
    return " > ".join(f"[{n}]" for n, text in sorted(read, key=lambda item: BEST.index(item[1])))


def test_the_order_of_windows_from_back_to_front():
    """Three windows, three replies, eight scores; the first three stay."""
    llm = ScriptedLLM(order)
    result = rankgpt(llm, k=3, window=4, step=2)(QUERY, DOCUMENTS)
    (listwise, _) = result.trace.steps
    scores = {s.text: s.score for s in listwise.after}

    assert ["[4] > [2] > [1] > [3]", "[3] > [1] > [4] > [2]", "[3] > [4] > [1] > [2]"] == [
        order(prompt) for prompt in llm.prompts
    ]
    ranks = ["d8", "d3", "d1", "d2", "d6", "d4", "d5", "d7"]
    assert pytest.approx({name: 1 - place / 8 for place, name in enumerate(ranks)}) == scores
    assert ["d8", "d3", "d1"] == [s.text for s in result.kept]


def backwards():
    """Orders texts from the last to the first."""
    return Ranks(lambda texts: range(len(texts))[::-1])


def test_another_model_may_order():
    """Prompted, a list ranker as it is, or of vectors, which no LLM is; nothing loads early."""
    llm, ranker = ScriptedLLM(["Ann"]), ScriptedLLM(["[2]"], identity="ranker")
    result = rankgpt(llm, ranker=ranker, k=1).ask(QUERY, TEXTS)

    assert ("Ann sang it.", 1, 1) == (result.text, len(llm.prompts), len(ranker.prompts))

    result = pe_rank(ScriptedLLM([]), ranker=backwards(), k=2)(QUERY, TEXTS)

    assert "Bob sang.\n\nAnn sang it." == result.text

    llm = ScriptedLLM([])

    assert "Bob sang." == rankgpt(llm, ranker=backwards(), k=1)(QUERY, TEXTS).text
    assert [] == llm.prompts

    with pytest.raises(InputError, match="ranker must be a model that orders lists, got Scripted"):
        pe_rank(ScriptedLLM([]), ranker=ScriptedLLM([]))

    pytest.importorskip("torch")

    assert () == pe_rank(ScriptedLLM([]))(QUERY, []).kept
