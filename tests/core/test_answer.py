"""Evidence and a question in, an answer out."""

import pytest

from ragsieve import Document, Pipeline, Query, Segment, System
from ragsieve.answer import Reader
from ragsieve.models.base import Cut, Message
from ragsieve.models.fake import ScriptedLLM
from ragsieve.prompts import render
from ragsieve.trace import Trace, step
from tests.segments import long_texts

QUERY = Query("Who sang it?")


class Pieces(ScriptedLLM):
    """Streams its one reply in pieces of a size."""

    def __init__(self, replies, size):
        super().__init__(replies * 2)
        self.size = size

    def stream(self, prompt, *, max_tokens=128):
        (reply,) = self.complete([prompt], max_tokens=max_tokens)
        yield from (reply[n : n + self.size] for n in range(0, len(reply), self.size))
        yield from [Cut("", "cut")] * isinstance(reply, Cut)


@pytest.mark.parametrize("text", ["", "word " * 500])
def test_without_evidence_the_model_answers_by_itself(text):
    """The closed-book prompt speaks of no documents; so where none fits the context."""
    llm = ScriptedLLM(["Seals and Crofts"], context=160)
    answer = Reader(llm)(QUERY, [Segment.whole(Document("d", text))] if text else [])

    assert render("reader_closed", question=QUERY.text) == llm.prompts[0]
    assert () == answer.segments


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 99])
@pytest.mark.parametrize(
    ("reply", "text", "warnings"),
    [
        ("<think>\nAbba?\n</think>\n\nSeals and Crofts ", "Seals and Crofts", 0),
        (" <think>a</think> <think></think>Seals", "Seals", 0),
        ("<think>a <think> b</ think></think>Seals </think>", "Seals </think>", 0),
        ("<thinking>Abba?</thinking>Seals", "Seals", 0),
        ("<thin", "<thin", 0),
        ("Seals <think>", "Seals <think>", 0),
        ("<think>Abba? Or", "", 1),
        ("<think>Abba?</think>\n", "", 1),
        (" ", "", 1),
    ],
)
def test_thoughts_are_no_answer(reply, text, warnings, size):
    """Nor a piece of it, whatever the pieces; the reply has them; a warning where nothing else."""

    system = System(Pipeline(), Reader(Pieces([reply], size)))
    *pieces, streamed = system.ask_stream(QUERY, [])

    assert text == "".join(map(str, pieces))
    for result in (system.ask(QUERY, []), streamed):
        assert (text, reply) == (result.answer.text, result.answer.reply)
        assert warnings == len(result.trace.warnings)


class Thinks(Pieces):
    """Replies of a server's model: whether one is cut shows in its dots."""

    thinking = None

    def complete(self, prompts, **options):
        return [Cut(r, r) if "..." in r else r for r in super().complete(prompts, **options)]


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize(
    ("script", "text"),
    [  # a word, the reply, the one with room
        ("Hm</think>yes|Abba? a > b\n</think>\n\nSeals", "Seals"),
        ("Hm</think>yes|Abba?...|Abba?</think>Seals", "Seals"),
        ("Hm</think>yes|Abba?...|Abba? Or...", ""),
        ("Hm</think>yes|Abba?</think>Seals and...", "Seals and..."),
        ("Hm</think>yes|Seals", "Seals"),
        ("yes|Seals and Crofts", "Seals and Crofts"),
        ("yes|Seals and...", "Seals and..."),
        ("yes|<think>Abba?...|<think>Abba?</think>Seals", "Seals"),
    ],
)
def test_streams_show_no_thoughts(script, text, size):
    """Of a template that opens them, too, as the first word tells; other replies come in pieces."""
    llm = Thinks(script.split("|"), size)
    llm.identity = f"{script} {size}"
    *pieces, result = System(Pipeline(), Reader(llm)).ask_stream(QUERY, [])

    assert text == result.answer.text == "".join(map(str, pieces))
    assert bool(text) != bool(result.trace.warnings)
    assert script[:3] != "yes" or "<" in script or len(pieces) > 1 or size > 3


@pytest.mark.parametrize("size", [3, 99])
def test_thoughts_that_a_template_opens_are_no_answer(size):
    """Where nothing told that there are some, a warning says that pieces came before their end."""
    reply = "Abba?\n</think>\n\nSeals"
    *pieces, result = System(Pipeline(), Reader(Pieces([reply], size))).ask_stream(QUERY, [])

    assert ("Seals", reply) == (result.answer.text, result.answer.reply)
    assert (["Seals"] == pieces) == (not result.trace.warnings) == (size == 99)


@pytest.mark.parametrize(
    ("room", "read"), [(21, []), (22, ["1"]), (44, ["1", "2"]), (66, ["0", "1", "2"])]
)
def test_evidence_is_cut_to_the_best_that_fits(room, read):
    """Each text has 22 tokens; the trace says how many did not fit, and the order stays. Beside the
    evidence the context holds the frame of the prompt, 64 tokens of the chat format and the 64 of
    the answer."""
    frame = render("reader", question=QUERY.text, documents="")
    fake = ScriptedLLM(["x"])
    fixed = sum(fake.count([message.content for message in frame])) + 64 + 64
    llm = ScriptedLLM(["x"], context=fixed + room)
    with Trace().recording(), step("Reader") as record:
        answer = Reader(llm)(QUERY, long_texts(1, 3, 2))

    assert read == [s.document.id for s in answer.segments]
    said = (
        f"{3 - len(read)} of 3 segments do not fit the {room} tokens that question and reply leave"
    )
    told = record.notes if read else record.warnings[-1:]  # nothing is read, which is no detail
    assert [said] * (len(read) < 3) == told


def test_the_reader_asks_by_its_options():
    """So many tokens, other templates, counted by its model."""
    assert "one two" == Reader(ScriptedLLM(["one two three"]), max_tokens=2)(QUERY, []).text

    llm = ScriptedLLM(["x", "y"])
    Reader(llm, closed_prompt="reader_closed")(QUERY, [])
    Reader(llm, prompt="extract_write")(QUERY, long_texts(1))

    assert ["system", "user"] == [m.role for m in llm.prompts[0]]
    assert ["user"] == [m.role for m in llm.prompts[1]]

    assert [4, 0] == Reader(ScriptedLLM([])).count(["Who sang it?", ""])


def test_the_prompt_is_the_papers_chat_form():
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


def test_groups_are_one_call():
    """Each group is answered from itself alone, an empty one by the closed book, as one by one."""
    groups = [long_texts(1), [], long_texts(3, 2)]
    batches = []

    class Counting(ScriptedLLM):
        def complete(self, prompts, **options):
            batches.append(len(prompts))
            return super().complete(prompts, **options)

    reader = Reader(Counting(lambda prompt: f" {len(prompt[0].content)} "))
    together = reader.answers(QUERY, groups)

    assert [3] == batches
    assert [reader(QUERY, group) for group in groups] == together
    assert [tuple(group) for group in groups] == [answer.segments for answer in together]
    assert [] == reader.answers(QUERY, [])
