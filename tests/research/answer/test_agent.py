"""An agent reads its documents, each on its line, and argues in three parts."""

import json

import pytest

from ragsieve.errors import BadReply, ContextOverflow
from ragsieve.models.base import Cut
from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Trace, step
from ragsieve.types import Document, Query, Segment
from ragsieve_research.answer.agent import Agent, Argument
from tests.segments import wholes

QUERY = Query("Who sang it?")
LINES = "Evidence: Cher sang.\nExplanation: It says so.\nAnswer: Cher"
OBJECT = json.dumps({"Evidence": "Cher sang.", "Explanation": "It says so.", "Answer": "Cher"})
ARGUMENT, NONE = Argument("Cher", "Cher sang.", "It says so."), Argument("")


def argued(*replies):
    """What becomes of replies to one prompt, and the model."""
    llm = ScriptedLLM(replies)
    agent = Agent(llm)
    return agent.argue([agent.argument_prompt(QUERY, wholes("text"))]), llm


def test_answers_are_one_line_each_without_thoughts():
    """In the order of the groups; a thought that was cut off is no answer, and quotes go, too."""
    answers = Agent(ScriptedLLM(["Cher", " Sonny\nand Cher \n"])).answer(QUERY, [wholes("a")] * 2)

    assert ["Cher", "Sonny and Cher"] == answers

    replies = ['<think>Hm.\n\nRome?</think>\n "Rome" ', "<think>It is", "Rome <think>"]

    assert ["Rome", "", "Rome <think>"] == Agent(ScriptedLLM(replies)).answer(
        QUERY, [wholes("a")] * 3
    )


def test_documents_that_do_not_fit_are_read_from_their_beginnings():
    """Each as far as all have room: no answer rests on what nobody read, and none is dropped."""
    llm = ScriptedLLM(["x"], context=64 + 64 + 180)
    given = wholes("short one", "word " * 300, "short two")
    with Trace().recording(), step("answer", given) as record:
        Agent(llm).answer(QUERY, [given])
        record.after = tuple(given)
    read = llm.prompts[0][0].content

    assert "short one" in read
    assert "short two" in read
    assert 'word word word …"' in read
    assert 180 - 5 <= llm.count(["\n".join(m.content for m in llm.prompts[0])])[0] <= 180
    assert {} == record.reasons
    assert ["words of each passage are read"] == [
        n[3:].partition(":")[0].strip() for n in record.notes
    ]


class CountingLLM(ScriptedLLM):
    """Keeps the texts of each call of ``count``; characters of Greek are a token each."""

    def __post_init__(self):
        self.counted = []

    def count(self, texts):
        self.counted.append([*texts])
        greek = [sum("α" <= char <= "ω" for char in text) for text in texts]
        return [n + g for n, g in zip(super().count(texts), greek, strict=True)]


@pytest.mark.parametrize(
    ("texts", "calls", "share"),
    [
        (["word " * 1000] * 4, 3, 0.9),
        (["αβγδ " * 200 + "word " * 1000] * 4, 6, 0.9),
        (["word " * 1000 + "αβγδ " * 200, "word " * 50], 6, 0.7),
    ],
)
def test_documents_that_do_not_fit_are_counted_a_few_times(texts, calls, share):
    """A server counts a text a request: no search over lengths, however long the documents are."""
    llm = CountingLLM(["x"], context=64 + 64 + 400)
    Agent(llm).answer(QUERY, [wholes(*texts)])
    prompt = [message.content for message in llm.prompts[0]]

    assert len(llm.counted[:-2]) <= calls  # the last are of `complete`
    assert share * 400 <= sum(llm.count(prompt)) <= 400


def test_nobody_is_asked_for_nothing():
    """Without documents, without room for their first characters, without groups."""
    with pytest.raises(ContextOverflow):
        Agent(ScriptedLLM(["x"], context=70)).answer(QUERY, [wholes("a")])

    assert [] == Agent(ScriptedLLM([])).answer(QUERY, [])


def test_a_remark_is_one_json_string_and_makes_another_prompt():
    """It ends where its quotes end; who is asked the same is asked in the same words."""
    agent = Agent(ScriptedLLM([]))
    said = agent.argument_prompt(QUERY, wholes("a"), 'no\nAnswer: "x"')[0].content
    none = agent.argument_prompt(QUERY, wholes("a"))[0].content

    assert 'other documents: "no Answer: \\"x\\""\n' in said
    assert "other documents: none\n" in none

    first = agent.argument_prompt(QUERY, wholes("a"), "why")
    plain = {agent.argument_prompt(QUERY, wholes(name)) for name in "ab"}

    assert first == agent.argument_prompt(QUERY, wholes("a"), "why")
    assert 3 == len({first, *plain})


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (LINES, ARGUMENT),
        (OBJECT, ARGUMENT),
        (f"<think>Answer: Sonny?</think>\n{LINES}", ARGUMENT),
        (LINES.replace("Cher sang.", "Cher\nsang."), ARGUMENT),
        (LINES.replace("Answer: Cher", "**Answer:** [Cher]"), ARGUMENT),
        ('{"Answered": false, "Answer": ""}', NONE),
        ('{"evidence": "", "EXPLANATION": "", "answered": "No", "answer": null, "sure": 1}', NONE),
        (
            '{"Evidence": "Cher sang.", "Explanation": "", "Answered": false, "Answer": "Cher"}',
            NONE,
        ),
        ("Evidence: none\nExplanation:\nAnswered: no\nAnswer:", NONE),
        ("**Cher**", Argument("Cher")),  # asked again, Qwen2.5-Coder-1.5B repeats the form it saw
        ("UNANSWERED", Argument("UNANSWERED")),
    ],
)
def test_arguments_are_read_from_lines_and_objects(reply, expected):
    """Servers that hold a model to a schema give objects, the others lines. A flag says that there
    is no answer, whatever the other parts are; an answer alone has no evidence."""
    assert [expected] == argued(reply)[0]


@pytest.mark.parametrize(
    "reply",
    [
        "Evidence: text; Explanation: text; Answer: text, not blank, got 'Cher'.",
        f"{LINES}\nAnswer: Sonny",
        json.dumps({"Evidence": "a", "Explanation": "b", "Answer": ""}),
    ],
)
def test_an_argument_unreadable_twice_is_its_error(reply):
    """The error keeps the reply; what stands in for it is the caller's to say."""
    found, llm = argued(reply, reply)

    assert [reply] == [error.text for error in found if isinstance(error, BadReply)]
    assert 2 == len(llm.prompts)


def test_a_reply_that_was_cut_is_no_answer():
    """Nor an argument, though its last part is there in part."""

    class Stopped(ScriptedLLM):
        def complete(self, prompts, **options):
            return [Cut(reply) for reply in super().complete(prompts, **options)]

    agent = Agent(Stopped(["Washing", LINES, LINES]))

    assert [""] == agent.answer(QUERY, [wholes("a")])
    assert isinstance(agent.argue([agent.argument_prompt(QUERY, wholes("a"))])[0], BadReply)


def test_a_reply_is_held_to_the_parts_in_their_order():
    """Evidence first, so that the answer follows from it."""
    held = []

    class Held(ScriptedLLM):
        def complete(self, prompts, **options):
            held.append(options["schema"]["required"])
            return super().complete(prompts, **options)

    agent = Agent(Held([OBJECT]))
    agent.argue([agent.argument_prompt(QUERY, wholes("a"))])

    assert [["Evidence", "Explanation", "Answered", "Answer"]] == held


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ('"The lunch is at noon in the hall"', True),
        ("The text says: “lunch is at noon in the hall”. So it is.", True),
        ("The lunch is at noon, in the Hall.", True),
        ("It was moved. The lunch is at noon in the hall", True),
        ("Document [1] states that the lunch was held in Vienna at noon", False),
        ("Document [1] states that in the hall, at noon, is lunch", True),
        ("Document [1] mentions the lunch at noon. The hall is in Vienna.", True),
        ("none", True),
        ("The lunch is at midnight on the roof.", False),
        ('It says "lunch was never held at all", I think.', False),
    ],
)
def test_evidence_is_looked_up_in_the_documents(evidence, expected):
    """One quotation, or one sentence where there is none, nearly word for word, is enough."""
    read = Segment.whole(Document("d", "The lunch is at noon in the hall.", "Menu"))
    argument = Argument("noon", evidence)

    assert expected == argument.checked([Segment.whole(Document("e", "It rained.")), read]).quoted


@pytest.mark.parametrize(
    ("said", "evidence", "expected"),
    [
        *((one, "none", "") for one in ("TBD", "Keine Angabe", "不知道", "nil")),
        *(("Inconnu", some, "") for some in ("Rien", "无", "The documents do not say.")),
        *(("12", some, "12") for some in ("", "The lunch is at noon.")),
        *((one, "none", one) for one in ("no", "Yes.", "hall")),
    ],
)
def test_what_rests_on_nothing_is_no_answer(said, evidence, expected):
    """Neither it nor a word of its evidence is in the documents; who gives none may be right."""
    read = wholes("The lunch is at noon in the hall.")

    assert expected == Argument(said, evidence).checked(read).answer


@pytest.mark.parametrize(
    "reply", ['{"note": 1, "answer": "Cher"}', "**Answer:** Cher", "So:\n\nCher"]
)
def test_an_answer_is_read_as_other_replies(reply):
    """So that a frame neither makes two answers of one nor hides a refusal."""
    assert ["Cher"] == Agent(ScriptedLLM([reply])).answer(QUERY, [wholes("Cher sang.")])
