"""RECOMP as systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragsieve.models.base import Prompt
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.systems.baselines import top_sentences
from ragsieve_research.systems.recomp import recomp_abstractive
from tests.named import answer
from tests.tiny import save_t5

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    {"id": "song", "text": "It rained. Summer Breeze was sung by Seals. Seals sang Summer Breeze."},
    {"id": "wind", "text": "A breeze is a wind."},
]


def test_the_nearest_sentences_of_the_first_documents_stay() -> None:
    """The second document would be third; it is not read at all."""
    result = top_sentences(ScriptedLLM([]), HashingEmbedder(), documents=1, k=2)(
        QUESTION, DOCUMENTS
    )

    assert ["Summer Breeze was sung by Seals.", "Seals sang Summer Breeze."] == [
        s.text for s in result.kept
    ]
    assert (
        "rank 2 is past k=1" == {v.segment.document.id: v.reason for v in result.verdicts}["wind"]
    )


def summing(summary: str) -> ScriptedLLM:
    """Sums up where it is asked to, else answers by how it was asked."""

    def reply(prompt: Prompt) -> str:
        if prompt[0].role == "user":
            return summary
        return "read" if "Documents:" in prompt[0].content else "by itself"

    return ScriptedLLM(reply)


def test_the_reader_reads_the_summary_alone() -> None:
    """It is marked, and its parents are the sentences."""
    result = recomp_abstractive(summing("Seals did.")).ask(QUESTION, DOCUMENTS)

    assert "Seals did." == result.text
    assert ["scripted"] == [s.document.written_by for s in result.kept]
    assert [4] == [len(s.document.parents) for s in result.kept]
    assert "read" == answer(result)


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


@pytest.fixture
def t5(tmp_path: Path, one_thread: None) -> str:
    """A folder with a tiny T5 whose pieces are words of the documents."""
    words = ("Seals", "sang", "Summer", "Breeze", "rained", "wind")
    return save_t5(tmp_path, [(f"▁{word}", -float(n)) for n, word in enumerate(words, 3)], seed=1)


def test_an_encoder_decoder_writes_the_summary(t5: str) -> None:
    """Its tokens are the summary, at most as many as asked for, and it is named."""
    from ragsieve_research.models.seq2seq import Seq2Seq

    writer = Seq2Seq(t5, dtype="float32")
    system = recomp_abstractive(summing("unused"), writer=writer, summary_tokens=4)
    result = system(QUESTION, DOCUMENTS)

    assert [writer.identity] == [s.document.written_by for s in result.kept]
    assert 0 < writer.count([result.text])[0] <= 4
