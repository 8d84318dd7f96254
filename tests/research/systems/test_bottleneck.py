"""BottleNeck as a system."""

from __future__ import annotations

import pytest

from ragsieve.models.base import Prompt
from ragsieve.models.fake import ScriptedLLM
from ragsieve_research.systems.bottleneck import bottleneck
from tests.named import answer

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS: list[dict[str, str]] = [
    {"id": "song", "title": "Song\n", "text": "It rained. Summer Breeze was sung\nby Seals. Yes."},
    {"id": "wind", "text": "A breeze is a wind. It rained."},
]


def filtering(text: str) -> ScriptedLLM:
    """Filters where it is asked to, else answers by how it was asked."""

    def reply(prompt: Prompt) -> str:
        if "Copy out" in prompt[0].content:
            return text
        return "read" if "Documents:" in prompt[0].content else "by itself"

    return ScriptedLLM(reply)


def test_copied_sentences_are_spans_and_others_are_marked() -> None:
    """In the order written, each once; a line break in the document is a space in the copy."""
    text = "Yes. Summer Breeze was sung by Seals. Seals did. Seals did. Yes."
    result = bottleneck(filtering(text))(QUESTION, DOCUMENTS)

    assert [
        ("song", "Yes.", ""),
        ("song", "Summer Breeze was sung\nby Seals.", ""),
        ("filtered", "Seals did.", "scripted"),
    ] == [(s.document.id, s.text, s.document.written_by) for s in result.kept]
    assert 5 == len(result.kept[2].document.parents)


def test_only_whole_copies_of_text_are_spans() -> None:
    """Neither a title nor a part of a word; a sentence of both documents is of the first."""
    result = bottleneck(filtering("Song: It rained. Wind: It rained."))(QUESTION, DOCUMENTS)

    assert [("song", "It rained."), ("filtered", "Wind: It rained.")] == [
        (s.document.id, s.text) for s in result.kept
    ]

    result = bottleneck(filtering("It rained."))(QUESTION, DOCUMENTS)

    assert [("song", 0)] == [(s.document.id, s.start) for s in result.kept]

    result = bottleneck(filtering("rain"))(QUESTION, DOCUMENTS)

    assert ["scripted"] == [s.document.written_by for s in result.kept]


@pytest.mark.parametrize("text", ["", "NONE", "none.", " \n"])
def test_what_holds_nothing_leaves_the_reader_to_itself(text: str) -> None:
    """Nothing is kept."""
    result = bottleneck(filtering(text)).ask(QUESTION, DOCUMENTS)

    assert () == result.kept
    assert "by itself" == answer(result)


def test_only_the_first_documents_are_read_by_the_writer() -> None:
    """The generator is not asked to filter."""
    llm, writer = filtering("unused"), filtering("Seals did.")
    bottleneck(llm, writer=writer, documents=1).ask(QUESTION, DOCUMENTS)

    assert ["read"] == [llm.replies(p) for p in llm.prompts]  # type: ignore[operator]
    assert "A breeze is a wind." not in writer.prompts[0][0].content


@pytest.mark.parametrize("text", ["\ud800 a \x00", "(((a+)+)+)+$", "It\u00a0rained."])
def test_hostile_replies_are_text(text: str) -> None:
    """Neither a pattern nor an error; what could not be shown is replaced."""
    result = bottleneck(filtering(text))(QUESTION, [*DOCUMENTS, {"id": "filtered", "text": text}])

    assert 1 == len(result.kept)
    assert result.text.isprintable()
