"""Provence as a system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ragsieve.models.base import Passage
from ragsieve.models.fake import OverlapClueReader, OverlapPairScorer, ScriptedLLM
from ragsieve.models.sharing import sharing
from ragsieve.systems.provence import provence

LLM = ScriptedLLM(lambda _: "x")
TEXTS = ["It rained. She left.", "He sang. It rained.", "Who sang? He sang summer breeze."]
QUESTION = "who sang summer breeze"


class Both:
    """Scores passages and sentences by their words, as a pruner does."""

    identity = "both"

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        return OverlapPairScorer().score(pairs)

    def clues(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        return OverlapClueReader().clues(questions, passages)


def test_documents_are_ranked_and_their_sentences_pruned() -> None:
    """By share of the question's words: the third document 1, the second 1/4, the first none."""
    result = provence(LLM, Both(), min_score=0.25)(QUESTION, TEXTS)

    assert ["Who sang?", "He sang summer breeze.", "He sang."] == [s.text for s in result.kept]


def test_only_the_best_documents_stay() -> None:
    """One of three, though another one's sentence passes the threshold."""
    result = provence(LLM, Both(), k=1, min_score=0.25)(QUESTION, TEXTS)

    assert {"Who sang?", "He sang summer breeze."} == {s.text for s in result.kept}


def test_a_reader_without_a_score_for_passages_leaves_their_order() -> None:
    """Any clue reader prunes; who else ranks may be said."""
    plain = provence(LLM, OverlapClueReader(), min_score=0.25)(QUESTION, TEXTS)
    ranked = provence(LLM, OverlapClueReader(), reranker=OverlapPairScorer(), min_score=0.25)

    assert ["He sang.", "Who sang?", "He sang summer breeze."] == [s.text for s in plain.kept]
    assert "Who sang?" == ranked(QUESTION, TEXTS).kept[0].text


@pytest.mark.parametrize(("reader", "first"), [(Both(), "Who"), (OverlapClueReader(), "He")])
def test_a_wrapped_reader_is_seen_through(reader: OverlapClueReader, first: str) -> None:
    """Whether it scores passages is the model's inside, not the wrapper's."""
    with sharing(2) as share:
        result = provence(LLM, share(reader), min_score=0.25)(QUESTION, TEXTS)

    assert first == result.kept[0].text.split()[0]
