"""RankGPT and PE-Rank as systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from ragsieve.errors import InputError
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.rankgpt import pe_rank, rankgpt

QUESTION = "Who sang it?"
DOCUMENTS = ["It rained.", "Ann sang it.", "Bob sang."]


@dataclass(frozen=True)
class Backwards:
    """Orders texts from the last to the first."""

    identity = "backwards"

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        return [[*range(len(group))][::-1] for group in texts]


def test_another_model_may_order() -> None:
    """Prompted, a list ranker as it is, or of vectors, which an LLM is not.

    Nothing is loaded early.
    """
    llm, ranker = ScriptedLLM(["Ann"]), ScriptedLLM(["[2]"], identity="ranker")
    result = rankgpt(llm, ranker=ranker, k=1).ask(QUESTION, DOCUMENTS)

    assert ("Ann sang it.", 1, 1) == (result.text, len(llm.prompts), len(ranker.prompts))

    result = pe_rank(ScriptedLLM([]), ranker=Backwards(), k=2)(QUESTION, DOCUMENTS)

    assert "Bob sang.\n\nAnn sang it." == result.text

    llm = ScriptedLLM([])

    assert "Bob sang." == rankgpt(llm, ranker=Backwards(), k=1)(QUESTION, DOCUMENTS).text
    assert [] == llm.prompts

    with pytest.raises(InputError, match="ranker must be a model that orders lists, got Scripted"):
        pe_rank(ScriptedLLM([]), ranker=ScriptedLLM([]))  # type: ignore[arg-type]

    pytest.importorskip("torch")

    assert () == pe_rank(ScriptedLLM([]))(QUESTION, []).kept
