"""Evidence and a question in, an answer out."""

from __future__ import annotations

import pytest

from ragsieve.answer import Reader
from ragsieve.errors import ContextOverflow
from ragsieve.models.base import Message
from ragsieve.models.fake import ScriptedLLM
from ragsieve.prompts import render
from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")


def scored(*values: float) -> list[Segment]:
    return [
        Segment.whole(Document(str(n), f"text {n} " + "word " * 20)).scored("s", value)
        for n, value in enumerate(values)
    ]


def test_evidence_stands_in_the_system_message() -> None:
    """The question is the user's, alone."""
    llm = ScriptedLLM(["Seals and Crofts"])
    Reader(llm)(QUERY, [Segment.whole(Document("d", "Seals and Crofts sang it.", "Song"))])
    system, user = llm.prompts[0]

    assert ("system", "user") == (system.role, user.role)
    assert system.content.endswith("Documents:\nSong: Seals and Crofts sang it.")
    assert QUERY.text == user.content


def test_without_evidence_the_model_answers_by_itself() -> None:
    """The closed-book prompt speaks of no documents."""
    llm = ScriptedLLM(["Seals and Crofts"])
    answer = Reader(llm)(QUERY, [])

    assert render("reader_closed", question=QUERY.text) == llm.prompts[0]
    assert () == answer.segments


def test_the_answer_is_the_reply_trimmed() -> None:
    """The whole reply beside it; an empty one is no failure; groups of none have none."""
    answer = Reader(ScriptedLLM(["\n Seals and Crofts \n"]))(QUERY, [])

    assert "Seals and Crofts" == answer.text
    assert "\n Seals and Crofts \n" == answer.reply

    assert "" == Reader(ScriptedLLM([" \n"]))(QUERY, []).text

    assert [] == Reader(ScriptedLLM([])).answers(QUERY, [])


def test_what_was_read_is_told_in_its_order() -> None:
    """An answer rests on its segments, in the order in which they stood in the prompt."""
    given = scored(1, 3, 2)

    assert tuple(given) == Reader(ScriptedLLM(["x"]))(QUERY, given).segments


@pytest.mark.parametrize(
    ("room", "read"), [(21, []), (22, ["1"]), (44, ["1", "2"]), (66, ["0", "1", "2"])]
)
def test_evidence_is_cut_to_the_best_that_fits(room: int, read: list[str]) -> None:
    """Each text has 22 tokens; the trace says how many did not fit, and the order stays.

    Beside the evidence the context holds the frame of the prompt, 64 tokens of the chat format and
    the 64 of the answer.
    """
    frame = render("reader", question=QUERY.text, documents="")
    fake = ScriptedLLM(["x"])
    fixed = sum(fake.count([message.content for message in frame])) + 64 + 64
    llm = ScriptedLLM(["x"], context=fixed + room)
    with Trace().recording(), step("Reader") as record:
        answer = Reader(llm)(QUERY, scored(1, 3, 2))

    assert read == [s.document.id for s in answer.segments]
    assert (
        [f"{3 - len(read)} segments do not fit the context of {room} tokens"]
        if len(read) < 3
        else []
    ) == record.notes


def test_where_nothing_fits_the_book_is_closed() -> None:
    """No evidence at all is the closed-book prompt, not an empty list of documents."""
    llm = ScriptedLLM(["x"], context=160)
    answer = Reader(llm)(QUERY, [Segment.whole(Document("d", "word " * 500))])

    assert () == answer.segments
    assert render("reader_closed", question=QUERY.text) == llm.prompts[0]


def test_a_question_over_the_context_is_the_models_to_refuse() -> None:
    """The error names what is needed and what there is."""
    with pytest.raises(ContextOverflow, match="the context of scripted holds 50"):
        Reader(ScriptedLLM(["x"], context=50))(QUERY, scored(1))


def test_the_reader_asks_by_its_options() -> None:
    """So many tokens, other templates, counted by its model."""
    assert "one two" == Reader(ScriptedLLM(["one two three"]), max_tokens=2)(QUERY, []).text

    llm = ScriptedLLM(["x", "y"])
    Reader(llm, closed_prompt="reader_closed")(QUERY, [])
    Reader(llm, prompt="extract_write")(QUERY, scored(1))

    assert ["system", "user"] == [m.role for m in llm.prompts[0]]
    assert ["user"] == [m.role for m in llm.prompts[1]]

    assert [4, 0] == Reader(ScriptedLLM([])).count(["Who sang it?", ""])


def test_the_prompt_is_the_papers_chat_form() -> None:
    """Word for word, so that a change of the template is a change that someone made."""
    llm = ScriptedLLM(["x"])
    Reader(llm)(QUERY, [Segment.whole(Document("d", "He sang."))])

    assert (
        Message(
            "system",
            "Answer the question from the documents below, in a few words.\n\nDocuments:\nHe sang.",
        ),
        Message("user", "Who sang it?"),
    ) == llm.prompts[0]


def test_groups_are_one_call() -> None:
    """Each group is answered from itself alone, an empty one by the closed book, as one by one."""
    groups = [scored(1), [], scored(3, 2)]
    batches: list[int] = []

    class Counting(ScriptedLLM):
        def complete(self, prompts, **options):  # type: ignore[no-untyped-def]
            batches.append(len(prompts))
            return super().complete(prompts, **options)

    reader = Reader(Counting(lambda prompt: f" {len(prompt[0].content)} "))
    together = reader.answers(QUERY, groups)

    assert [3] == batches
    assert [reader(QUERY, group) for group in groups] == together
    assert [tuple(group) for group in groups] == [answer.segments for answer in together]
