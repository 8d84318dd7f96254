"""LLMLingua and LongLLMLingua: documents, sentences and tokens cut to a budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsieve.answer import Reader
from ragsieve.errors import InputError, Unsupported
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.lingua import Prune
from ragsieve.systems.longllmlingua import llmlingua, longllmlingua, recovered
from ragsieve.types import Document, Query, Segment

QUESTION = "Who sang Summer Breeze?"
DOCUMENTS = [
    "It rained all day in the old town by the river.",
    "Summer Breeze was sung by Seals and Crofts in 1972.",
    "",
    "A breeze is a gentle wind that blows in the summer months.",
]


def nats(before: str, token: str) -> float:
    """Long words surprise; less behind the question where they are in it; it behind its answer."""
    word = token.strip()
    if "Who" in before and word in before.partition("?")[0]:
        return 0.0
    if "Seals" in before and word in QUESTION:
        return 0.5
    return float(len(word))


def llm() -> ScriptedLLM:
    return ScriptedLLM(lambda prompt: "Seals and Crofts", nats=nats)


def spans(*pieces: str, text: str) -> list[Segment]:
    """Each piece as a span of ``text``, the first one found behind the one before."""
    document, found, at = Document("d", text), [], 0
    for piece in pieces:
        start = text.index(piece, at)
        at = start + len(piece)
        found.append(Segment(document, start, at))
    return found


@pytest.mark.parametrize("system", [longllmlingua, llmlingua])
@pytest.mark.parametrize("options", [{}, {"sentences": 1.2}, {"coarse": 1.0}, {"rate": 0.2}])
def test_kept_spans_are_verbatim_and_hold_the_budget(system: Any, options: dict[str, Any]) -> None:
    """At any budget the context, as the reader reads it, is no longer than that."""
    for most in (0, 1, 5, 12, 30):
        result = system(llm(), max_tokens=most, **options)(QUESTION, DOCUMENTS)

        assert result.tokens.after <= most
        assert all(s.text == s.document.text[s.start : s.end] != "" for s in result.kept)
        assert len({s.key for s in result.kept}) == len(result.kept)


def test_everything_stays_that_fits() -> None:
    """Nothing is read token by token where the budget holds all documents."""
    result = longllmlingua(llm(), max_tokens=500)(QUESTION, DOCUMENTS)

    assert {d for d in DOCUMENTS if d} == {s.text for s in result.kept}


def test_the_document_that_explains_the_question_is_read_first() -> None:
    """Documents come best first, and the best one keeps the largest share."""
    result = longllmlingua(llm(), rate=0.5)(QUESTION, DOCUMENTS)

    assert "1" == result.kept[0].document.id


def test_without_a_question_the_order_of_documents_stays() -> None:
    """LLMLingua asks for no order."""
    result = llmlingua(llm(), rate=0.6)(QUESTION, DOCUMENTS)
    ids = [s.document.id for s in result.kept]

    assert sorted(ids) == ids


def test_documents_past_the_coarse_budget_say_so() -> None:
    """A budget of 5 tokens, once: the best document alone passes it."""
    result = longllmlingua(llm(), max_tokens=5, coarse=1.0)(QUESTION, DOCUMENTS)
    reasons = {d.segment.document.id: d.reason for d in result.trace.steps[2].dropped}

    assert reasons["0"] == reasons["3"] == "its rank is past 1 budgets of 5 tokens"


def test_sentences_go_before_tokens() -> None:
    """Of two sentences the one that explains the question less goes as a whole."""
    text = "Rain fell everywhere yesterday evening. Seals and Crofts sang Summer Breeze together."
    result = longllmlingua(llm(), max_tokens=6, sentences=1.0)(QUESTION, [text])

    assert result.kept
    assert all(s.start > text.index(".") for s in result.kept)


def test_every_call_is_charged() -> None:
    """Two documents ranked, then each window read twice: with the question and without."""
    result = longllmlingua(llm(), max_tokens=8)(QUESTION, DOCUMENTS[:2])
    steps = result.trace.steps

    assert 2 == len(steps[0].usages)
    assert 2 == len(steps[2].usages)


def test_a_model_that_reads_no_plain_text_is_refused() -> None:
    """A chat server cannot prune."""
    chat = ScriptedLLM([], can=frozenset({"complete"}))

    with pytest.raises(Unsupported, match="surprisals"):
        longllmlingua(chat, max_tokens=3)(QUESTION, DOCUMENTS)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"keep": 1.5}, "keep must be tokens or a share from 0 to 1, got 1.5"),
        ({"keep": -1}, "keep must be tokens or a share from 0 to 1, got -1"),
        ({"coarse": 0.5}, "coarse must be at least 1, got 0.5"),
        ({"sentences": 0.0}, "sentences must be at least 1, got 0.0"),
        ({"spread": 2.0}, "spread must be from 0 to 1, got 2.0"),
        ({"window": 0}, "window must be at least 1, got 0"),
    ],
)
def test_options_that_break_a_rule_are_refused(options: dict[str, Any], line: str) -> None:
    """In one line with the value."""
    with pytest.raises(InputError, match=line):
        Prune(llm(), Reader(llm()), **options)


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(st.characters(codec=None), max_size=60), max_size=4),
    window=st.integers(1, 20),
)
def test_any_text_is_pruned_to_verbatim_spans(texts: list[str], window: int) -> None:
    """Control characters, surrogates, other scripts: spans lie in what went in, the same twice."""
    given_segments = [
        Segment.whole(Document(str(n), text, "T" * (n % 2), rank=n)).scored("expected", -float(n))
        for n, text in enumerate(texts)
    ]
    stage = Prune(llm(), Reader(llm()), keep=0.5, window=window)
    kept = stage(Query(QUESTION), given_segments)

    assert kept == stage(Query(QUESTION), given_segments)
    assert all(s.document.text[s.start : s.end] == s.text for s in kept)


def test_a_name_gets_back_what_was_cut_from_it() -> None:
    """Between its words, and inside them."""
    text = "In 1961 Barack Hussein Obama was born in Honolulu. He left."
    kept = spans("Bar", "Obama", "born", "nolulu", text=text)

    assert "It is Barack Hussein Obama." == recovered("It is Bar Obama.", kept)
    assert "Honolulu" == recovered("nolulu", kept)


def test_what_was_not_read_off_stays_as_it_is() -> None:
    """Other words, whole words, words far apart, of two sentences, and those that are no name."""
    text = "Anna met one two three four five Bela. Carl came to the old island."
    kept = spans("Anna", "Bela", "Carl", "the", "island", text=text)

    for answer in (
        "the island",
        "The island",
        "Dora",
        "anna",
        "Anna Bela",
        "Bela Carl",
        "",
        "Anna, then Bela!",
    ):
        assert answer == recovered(answer, kept)


def test_answers_are_recovered_and_replies_kept() -> None:
    """What the model said stays to be seen."""
    text = "Summer Breeze was sung by James Eugene Seals of Texas."
    document = Document("d", text)
    found = spans("by James", "Seals", text=text)
    answer = longllmlingua(ScriptedLLM(["James Seals"])).reader(Query(QUESTION), found)

    assert document == found[0].document
    assert ("James Eugene Seals", "James Seals") == (answer.text, answer.reply)
