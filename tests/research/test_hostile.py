"""Hostile and bad input: it goes through a system as text, and loses no answer."""

import json
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.prompts import numbered
from ragsieve_research.systems.finefilter import finefilter
from tests.campaign.hostile import HOSTILE
from tests.named import NAMES, on_fakes

QUESTION = "Who sang Quizzacious?"  # a word that no document below has
PLAIN = "Seals and Crofts sang it."


def scripted(mode):
    """Names or copies one sentence, keeps all that is left, and answers."""

    def reply(prompt):
        chosen = "[1]" if mode == "point" else PLAIN
        return "yes" if prompt[0].role == "system" else chosen

    return ScriptedLLM(
        reply, context=200_000, choices=lambda prompt, options: [*range(1, len(options) + 1)]
    )


def run(documents, **options):
    llm = scripted(options.get("mode", "point"))
    return finefilter(llm, HashingEmbedder(), **options).ask(QUESTION, documents), llm.prompts


def shape(prompts):
    return [[message.role for message in prompt] for prompt in prompts]


@pytest.mark.parametrize("mode", ["point", "write"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_a_document(name, mode):
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


def test_all_hostile_documents_at_once():
    """Every sentence has its one line and its one verdict, among all the others."""
    documents = [{"text": text, "title": text} for text in HOSTILE.values()]
    result, prompts = run(documents)
    listed = prompts[0][0].content.split("Sentences:\n", 1)[1].rsplit("\n\nQuestion: ", 1)[0]
    lines = listed.splitlines()

    assert [["user"], ["user"], ["system", "user"]] == shape(prompts)
    assert [f"[{n}]" for n in range(1, len(lines) + 1)] == [line.split(" ")[0] for line in lines]
    assert len({v.segment.key for v in result.verdicts}) == len(result.verdicts)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_question_is_a_question(name):
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
def test_no_text_opens_a_line(texts):
    """There are as many lines as texts, however a line may break, each behind its number."""
    lines = numbered(texts).splitlines()

    assert [f"[{n}]" for n in range(1, len(texts) + 1)] == [line.split(" ")[0] for line in lines]


TOKENS = ("llmlingua", "longllmlingua", "selective-context")  # a fake gives every token its nats


def system(name, reply="[1]"):
    """A system whose model always gives the same reply."""
    return on_fakes(name, ScriptedLLM(lambda _: reply))


def retrieved(result):
    """Spans of what was given, not of what a model wrote."""
    found = [verdict.segment for verdict in result.verdicts]
    return [segment for segment in found if not segment.document.written_by]


@pytest.mark.parametrize("name", NAMES)
def test_no_documents_give_an_answer_without_evidence(name):
    """An empty list of documents is no error: nothing is kept, and the model answers alone."""
    result = system(name, "Paris").ask("Where?", [])

    assert ((), "", "Paris") == (result.kept, result.text, result.answer and result.answer.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["A fact is here. " * 62_500, "word " * 40_000, "x" * 200_000])
def test_a_long_document_is_answered_from(name, text):
    """A megabyte by the default, a fifth by others, without an end or a space, too; spans in it."""
    most = 100_000 if name in TOKENS else 1_000_000 if name == "finefilter" else 200_000
    text = text[:most]
    result = system(name).ask("Which fact?", [text])

    assert result.answer
    written = [s for s in result.kept if s.document.written_by]
    assert all(s.document.parents for s in written)
    assert all(text[s.start : s.end] == s.text for s in result.kept if s not in written)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_five_thousand_documents_are_answered_from(name):
    """Five thousand documents go through every system; the trace has all of their text."""
    many = 500 if name in TOKENS else 5_000
    documents = [f"Fact {n} is about thing {n % 7}." for n in range(many)]
    result = system(name).ask("What is fact 4999 about?", documents)

    assert result.answer
    counts = Counter[str]()
    for segment in retrieved(result):
        counts[segment.document.id] += len(segment.text.replace(" ", ""))
    assert {str(n): len(text.replace(" ", "")) for n, text in enumerate(documents)} == counts


@pytest.mark.parametrize("name", NAMES)
def test_equal_ids_lose_no_document(name):
    """Documents of one id stay apart, and the trace notes the new name."""
    result = system(name)("Who?", [{"id": "a", "text": "One."}, {"id": "a", "text": "Two."}])

    assert ["a", "a#2"] == [document.id for document in result.documents]
    assert ["document id 'a' occurs again: renamed 'a#2'"] == result.trace.notes
    spans = retrieved(result)
    assert ["One.", "Two."] == [
        "".join(s.text for s in spans if s.document.id == name) for name in ("a", "a#2")
    ]
