"""RECOMP as systems."""

from __future__ import annotations

from ragsieve.models.base import Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.recomp import recomp_abstractive

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    {"id": "song", "text": "It rained. Summer Breeze was sung by Seals. Seals sang Summer Breeze."},
    {"id": "wind", "text": "A breeze is a wind."},
]


def summing(summary: str) -> ScriptedLLM:
    """Sums up where it is asked to, else answers by how it was asked."""

    def reply(prompt: Prompt) -> str:
        if prompt[0].role == "user":
            return summary
        return "read" if "Documents:" in prompt[0].content else "by itself"

    return ScriptedLLM(reply)


def test_a_budget_cuts_whole_sentences() -> None:
    """Of two sentences of 3 tokens a budget of 4 keeps the first."""
    system = recomp_abstractive(summing("Seals did. Crofts too."), max_tokens=4)
    result = system(QUESTION, DOCUMENTS)

    assert ["Seals did."] == [s.text for s in result.kept]
    assert 3 == result.tokens.after


def test_a_writer_is_asked_plainly_and_the_generator_with_instructions() -> None:
    """As the authors' models were trained, and as any other model needs."""
    llm, writer = summing("Seals."), summing("Crofts.")
    recomp_abstractive(llm)(QUESTION, DOCUMENTS)
    recomp_abstractive(llm, writer=writer)(QUESTION, DOCUMENTS)

    assert 1 == len(llm.prompts)
    assert "Sum up" in llm.prompts[0][0].content
    assert writer.prompts[0][0].content == (
        f"Question: {QUESTION}\nDocument: It rained. Summer Breeze was sung by Seals. Seals sang "
        "Summer Breeze.\n\nA breeze is a wind.\nSummary:"
    )
