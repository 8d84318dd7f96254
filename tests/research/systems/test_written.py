"""Text that a model writes."""

import pytest

from ragsieve import Document, Pipeline, Query, Segment, System
from ragsieve.models.base import Cut
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.baselines import top_documents
from ragsieve.trace import Trace, step
from ragsieve_research.systems.written import Write, written

QUERY = Query("Who sang Summer Breeze?")
TEXTS = ["Seals and Crofts sang Summer Breeze.", "They wrote it in 1972, and it sold well."]
GIVEN = [Segment.whole(Document(f"d{n}", text, rank=n)) for n, text in enumerate(TEXTS)]
SUMMARY = "Seals and Crofts sang it in 1972."


def writing(reply):
    return ScriptedLLM(lambda _: reply, identity="writer")


def test_a_text_is_marked_with_its_writer_and_parents():
    """A document of its own at its first parent's rank; the trace says where parents went."""
    made = Write(writing(f" {SUMMARY}\n"), "summarise")(QUERY, GIVEN[1:])

    assert [SUMMARY] == [s.text for s in made]
    document = made[0].document
    assert ("written", SUMMARY, "writer") == (document.id, document.text, document.written_by)
    assert tuple(GIVEN[1:]) == document.parents
    assert 1 == document.rank

    with Trace().recording(), step("Write", GIVEN) as record:
        record.after = tuple(Write(writing(SUMMARY), "summarise")(QUERY, GIVEN))

    assert ["writer: read for what it wrote"] * 2 == [d.reason for d in record.dropped]

    made = written("a\x00b\ud800c", by="writer", parents=GIVEN)

    assert ["a\ufffdb\ufffdc"] == [s.text for s in made]


REFUSALS = [
    *("I'm sorry, I can't help with that request.", "The documents do not mention who sang it."),
    "As an AI language model, I won't reproduce lyrics under copyright.",
    *("Sure:\n\nNONE", "NONE\n\nThe texts are of 1972.", "So:\n\n---\n\nNONE\n\n---\nAsk me more!"),
]


@pytest.mark.parametrize(
    "reply", ["", " \n", "NONE", "none.", "<think>Who?</think>", "<think>Wh", *REFUSALS]
)
def test_an_empty_text_keeps_nothing(reply):
    """Neither do the word for it, thoughts alone and refusals; the trace says so."""
    with Trace().recording(), step("Write", GIVEN) as record:
        made = Write(writing(reply), "summarise")(QUERY, GIVEN)

    assert [] == made
    assert ["writer wrote nothing: nothing is kept"] == record.notes
    assert ["writer: read, but it wrote nothing"] * 2 == [d.reason for d in record.dropped]


@pytest.mark.parametrize("reply", ["I won't say they sold well in 1972.", "It did not sell well."])
def test_a_text_that_denies_something_of_what_was_read_is_evidence(reply):
    assert [reply] == [s.text for s in Write(writing(reply), "summarise")(QUERY, GIVEN)]


def test_the_last_sentence_of_a_text_that_was_cut_is_no_evidence():
    """Nor a text that is that alone."""
    for text, kept in (("Rome is old. It lies", ["Rome is old. "]), ("Rome li", [])):
        llm = writing(text)
        object.__setattr__(llm, "complete", lambda *_, text=text, **__: [Cut(text)])
        made = Write(llm, "summarise")(QUERY, GIVEN)

        assert [one.strip() for one in kept] == [s.text for s in made]


def test_nothing_grows_or_is_written_from_nothing():
    """Seven tokens were read, so a longer reply ends after seven, or max_tokens."""
    llm = writing(SUMMARY)
    write = Write(llm, "summarise")

    assert [] == write(QUERY, [])
    assert [] == write(QUERY, [Segment.whole(Document("empty", ""))])
    assert [] == llm.prompts

    made = Write(writing("one two three four five six seven eight"), "recomp")(QUERY, GIVEN[:1])

    assert ["one two three four five six seven"] == [s.text for s in made]

    made = Write(writing(SUMMARY), "recomp", max_tokens=3)(QUERY, GIVEN)

    assert ["Seals and Crofts"] == [s.text for s in made]

    llm = ScriptedLLM(lambda _: SUMMARY, context=64 + 32 + 16)
    made = Write(llm, "recomp", max_tokens=8)(
        QUERY, [Segment.whole(Document("long", "word " * 99))]
    )

    assert [] == made


def test_what_does_not_fit_the_context_is_no_parent():
    """152 less 16, 64 and 11 of reply, format and prompt are 61: the better of 60 and 11 fits."""
    llm = ScriptedLLM(lambda _: SUMMARY, context=152, identity="writer")
    long = Segment.whole(Document("long", "word " * 60)).scored("s", 0.5)
    given = [long, GIVEN[1].scored("s", 1.0)]
    with Trace().recording(), step("Write", given) as record:
        record.after = tuple(Write(llm, "recomp", max_tokens=16)(QUERY, given))

    assert [(given[1],)] == [s.document.parents for s in record.after]
    assert ["60 tokens more than 11 pass max_tokens=61", "writer: read for what it wrote"] == [
        d.reason for d in record.dropped
    ]


def test_texts_have_ids_of_their_own():
    """Also of two from the same parents, or where a document is called so."""
    given = [Segment.whole(Document(name, "Seals sang.")) for name in ("summary", "summary#2")]
    made = Write(writing("Seals."), "recomp", name="summary")(QUERY, given)

    assert ["summary#3"] == [s.document.id for s in made]

    first = written("One.", by="writer", parents=GIVEN)
    second = written("Two.", by="writer", parents=GIVEN, beside=first)

    assert [("written", "One."), ("written#2", "Two.")] == [
        (s.document.id, s.text) for s in (*first, *second)
    ]


def test_what_was_written_is_kept_and_its_parents_are_not():
    """A system's result says what became of each; the reader reads the text alone."""

    def reply(prompt):
        return SUMMARY if prompt[0].role == "user" else "1972"

    llm = ScriptedLLM(reply, identity="writer")
    system = System(Pipeline(Write(llm, "summarise")), top_documents(llm).reader)
    result = system.ask(QUERY, TEXTS)

    assert SUMMARY == result.text
    read = "writer: read for what it wrote"
    verdicts = [(v.segment.document.id, v.reason) for v in result.verdicts]
    assert [("0", read), ("written", ""), ("1", read)] == verdicts
    assert result.tokens.after <= result.tokens.before
