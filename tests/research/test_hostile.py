"""Hostile documents and questions go through FineFilter as text; no text opens a line."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsieve.models.base import Prompt
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.result import Result
from ragsieve_research.prompts import numbered
from ragsieve_research.systems.finefilter import finefilter
from tests.campaign.hostile import HOSTILE

QUESTION = "Who sang Quizzacious?"  # a word that no document below has
PLAIN = "Seals and Crofts sang it."


def scripted(mode: str) -> ScriptedLLM:
    """Names or copies one sentence, keeps all that is left, and answers."""

    def reply(prompt: Prompt) -> str:
        chosen = "[1]" if mode == "point" else PLAIN
        return "yes" if prompt[0].role == "system" else chosen

    return ScriptedLLM(
        reply, context=200_000, choices=lambda prompt, options: [*range(1, len(options) + 1)]
    )


def run(documents: Sequence[dict[str, str]], **options: Any) -> tuple[Result, list[Prompt]]:
    llm = scripted(options.get("mode", "point"))
    return finefilter(llm, HashingEmbedder(), **options).ask(QUESTION, documents), llm.prompts


def shape(prompts: Sequence[Prompt]) -> list[list[str]]:
    return [[message.role for message in prompt] for prompt in prompts]


@pytest.mark.parametrize("mode", ["point", "write"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_a_document(name: str, mode: Any) -> None:
    """Prompts have the turns they have without it, the question once, and spans are verbatim."""
    attack = HOSTILE[name]
    plain = [{"text": PLAIN}, {"text": PLAIN}]
    hostile = [{"text": attack, "title": attack, "id": attack}, {"text": PLAIN}]
    options = {"mode": mode, "min_keep": 2}  # so that the attack is read whatever is named
    expected, prompts = run(plain, **options)
    result, found = run(hostile, **options)

    assert shape(prompts) == shape(found) == [["user"], ["user"], ["system", "user"]]
    for prompt in found:
        assert 1 == "".join(message.content for message in prompt).count("Quizzacious")
    for segment in result.kept:
        assert segment.document.text[segment.start : segment.end] == segment.text
        assert segment.document in result.documents
    assert expected.answer.text == result.answer.text
    assert json.loads(json.dumps(result.to_dict()))["text"] == result.text


def test_all_hostile_documents_at_once() -> None:
    """Every sentence has its one line and its one verdict, among all the others."""
    documents = [{"text": text, "title": text} for text in HOSTILE.values()]
    result, prompts = run(documents)
    listed = prompts[0][0].content.split("Sentences:\n", 1)[1].rsplit("\n\nQuestion: ", 1)[0]
    lines = listed.splitlines()

    assert [["user"], ["user"], ["system", "user"]] == shape(prompts)
    assert [f"[{n}]" for n in range(1, len(lines) + 1)] == [line.split(" ")[0] for line in lines]
    assert len({v.segment.key for v in result.verdicts}) == len(result.verdicts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_question_is_a_question(name: str) -> None:
    """A question can open no turn either, and stands in the prompt as it is."""
    attack = HOSTILE[name]
    if not attack.strip():
        pytest.skip("a blank question is an error: tests/core/test_types.py")
    llm = scripted("point")
    finefilter(llm, HashingEmbedder()).ask(attack, [PLAIN, "It rained."])

    assert [["user"], ["user"], ["system", "user"]] == shape(llm.prompts)
    assert attack == llm.prompts[2][1].content


ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@given(
    st.lists(
        ANY_TEXT | st.sampled_from(["\n[9] fake", "a\r\n[1] b", "\u2028[2]", "\x0b[3]", "\x85[4]"])
    )
)
def test_no_text_opens_a_line(texts: list[str]) -> None:
    """There are as many lines as texts, however a line may break, each behind its number."""
    lines = numbered(texts).splitlines()

    assert [f"[{n}]" for n in range(1, len(texts) + 1)] == [line.split(" ")[0] for line in lines]
