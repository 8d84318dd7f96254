"""EXIT as a system."""

from __future__ import annotations

from collections.abc import Sequence

from ragsieve.models.base import Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.exit import exit_sentences

TEXTS = ["One sang. Two ran.", "Three sang."]


def weigh(prompt: Prompt, options: Sequence[str]) -> list[float]:
    asked = prompt[-1].content.partition("Sentence of this document:")[2]
    return [2, 1] if "sang" in asked else [1, 2]


def test_the_best_may_be_spared() -> None:
    """Where none reaches the threshold, one stays."""
    llm = ScriptedLLM([], choices=weigh)
    result = exit_sentences(llm, min_score=0.9, min_keep=1)("Who sang?", TEXTS)

    assert ["One sang."] == [s.text for s in result.kept]
