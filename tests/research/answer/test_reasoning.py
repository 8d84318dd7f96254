"""The reader that reasons after worked examples of other domains."""

from dataclasses import replace

import pytest

from ragsieve import ModelError, Pipeline, System
from ragsieve.answer import Reader
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.text import contains_answer
from ragsieve.trace import Trace, step
from ragsieve.types import Answer, Document, Query, Segment, StageResult
from ragsieve_research.answer.demonstrations import reasoning_examples
from ragsieve_research.answer.reasoning import DOMAINS, Reasoning, evaluated

QUERY = Query("Who sang Breeze?")
EVIDENCE = [Segment.whole(Document("a", "Ann sang Breeze.", "Songs"))]
GOOD = "Reasoning: The document says so.\nAnswer: Ann"


def read(*replies, **options):
    llm = ScriptedLLM(list(replies))
    with Trace().recording(), step("reader") as record:
        answer = Reasoning(llm, **options)(QUERY, EVIDENCE)
    return answer, llm, record.messages


def questions(llm):
    """The questions of the first prompt's turns."""
    asked = [turn.content for turn in llm.prompts[0] if turn.role == "user"]
    return [text.rpartition("Question: ")[2] for text in asked]


def pool():
    return [shown for examples in reasoning_examples().values() for shown in examples]


def domains(llm):
    of = {shown.question: shown.domain for shown in pool()}
    return [of[question] for question in questions(llm)[:-1]]


def replies(llm):
    return [turn.content for turn in llm.prompts[0] if turn.role == "assistant"]


def test_the_final_answer_is_a_part_of_the_reply():
    """Text is the answer, reply is all of it, and the evidence is what was read."""
    answer, llm, _ = read(GOOD)

    assert Answer("Ann", tuple(EVIDENCE), GOOD) == answer
    assert llm.prompts[0][-1].content == (
        "Documents:\nSongs: Ann sang Breeze.\n\nQuestion: Who sang Breeze?"
    )


@pytest.mark.parametrize(
    "reply",
    [
        "**Reasoning:** It says so.\n\n**Answer:** **Ann**",
        '{"Reasoning": "It says so.", "Answer": "Ann"}',
        "<think>Hm.</think>\nreasoning: 1. It says so.\n2. So it is.\nanswer: Ann",
        "Reasoning: It says so.\nAnswer: Ann\n\nNote: document 2 is out of date.",
        "Reasoning: It says so.\nAnswer: Ann\nThis follows from document 1.",
        "Reasoning: It says so.\nFinal Answer: Ann",
        "**Reasoning:** It says so.\n\n**Final Answer:** **Ann**\n\n*Note:* see document 1.",
        "### Reasoning:\nIt says so.\n### The final answer is: Ann",
        "Reasoning: It says so.\n**Answer: Ann**\nNote: it says so.",
        '{"Reasoning": "It says so.", "Final Answer": "Ann"}',
    ],
)
def test_parts_are_read_as_models_write_them(reply):
    """Bold names, JSON, thoughts before, remarks behind, "Final Answer": one call each."""
    answer, llm, _ = read(reply)

    assert ("Ann", 1) == (answer.text, len(llm.prompts))


class SmallLLM(ScriptedLLM):
    """A local model of few weights, as `ragsieve_research.models.transformers` says of its own."""

    is_small = True


@pytest.mark.parametrize(
    ("cot", "names", "remarks"), [(None, "Answer", 1), (True, "Reasoning", 0), (False, "Answer", 0)]
)
def test_a_small_local_model_reasons_only_where_asked(cot, names, remarks):
    """By default it answers at once, also behind a wrapper, and the trace says why."""
    llm = SmallLLM([GOOD])
    with Trace().recording(), step("reader") as record:
        Reasoning(DynamicBatcher(llm), cot=cot)(QUERY, EVIDENCE)
    remark = "a small local model answers without steps, which make it worse; cot=True has them"

    assert remarks == record.messages.count(remark)
    assert names in llm.prompts[0][0].content.splitlines()[-1]


@pytest.mark.parametrize("reply", ["", "Ann", "Reasoning: x\nAnswer:", "{"])
def test_an_unreadable_reply_is_asked_for_once_more(reply):
    """The second one counts; the retry names what is wrong."""
    answer, llm, _ = read(reply, GOOD)

    assert ("Ann", 2) == (answer.text, len(llm.prompts))
    assert "Answer: text, not blank" in llm.prompts[1][-1].content


@pytest.mark.parametrize(
    ("reply", "text"),
    [("The song is old.\nIt was Ann.", "It was Ann."), ("Answer:", "Answer:"), ("", "")],
)
def test_twice_unreadable_leaves_the_last_line(reply, text):
    """Without the name before it; the trace says so, the reply is whole."""
    answer, _, told = read("?", reply)

    assert (text, reply) == (answer.text, answer.reply)
    assert any(line.startswith("unreadable twice, so the last line is") for line in told)


@pytest.mark.parametrize("domain", DOMAINS)
def test_examples_are_of_other_domains(domain):
    """Three, each of another domain: an answer, a false premise, one that cannot be known."""
    _, llm, _ = read(GOOD, domain=domain)

    assert 3 == len({*domains(llm)} - {domain})
    assert ["invalid question", "I don't know"] == [
        reply.rpartition("Answer: ")[2] for reply in replies(llm)[1:]
    ]


def test_the_embedder_guesses_the_domain():
    """By words, unless the question tells it; where it fails the answer does not."""
    reasoning = Reasoning(ScriptedLLM([]), HashingEmbedder())

    assert "finance" == reasoning.domain_of(Query("Which companies pay for shares?"))
    assert "sports" == reasoning.domain_of(Query("Which teams won tournaments?"))
    assert "music" == reasoning.domain_of(Query("Which teams won tournaments?", domain="music"))

    class Broken(HashingEmbedder):
        def embed(self, texts, *, query=False):
            raise ModelError("the embedder is away")

    llm = ScriptedLLM(lambda _: "Reasoning: It says so.\nAnswer: Seals")
    evidence = [Segment.whole(Document("0", "Seals sang it."))]

    assert "Seals" == Reasoning(llm, Broken())(Query("Who sang it?"), evidence).text


def test_what_leaves_no_room_is_left_out():
    """A quarter of the context stays for the best evidence; the trace says what went."""
    llm = ScriptedLLM([GOOD], context=1000)
    with Trace().recording(), step("reader") as record:
        answer = Reasoning(llm, max_tokens=100)(QUERY, EVIDENCE)

    assert ("Ann", tuple(EVIDENCE)) == (answer.text, answer.segments)
    assert len(domains(llm)) < 3
    assert "3 examples leave too little of the context to the evidence: one less" in record.messages

    long = [
        Segment.whole(Document(str(n), "word " * 100)).scored("s", score)
        for n, score in enumerate([0.1, 0.9])
    ]
    llm = ScriptedLLM([GOOD], context=460)
    with Trace().recording(), step("reader") as record:
        answer = Reasoning(llm, examples=0, max_tokens=100)(QUERY, long)

    assert ["1"] == [segment.document.id for segment in answer.segments]
    assert any(line.startswith("1 of 2 segments do not fit the") for line in record.messages)


@pytest.mark.parametrize("evidence", [EVIDENCE, []])
def test_the_model_reads_when_a_question_was_asked(evidence):
    """On one line below it; the examples before it have no time."""
    llm = ScriptedLLM([GOOD])
    Reasoning(llm)(replace(QUERY, time="03/13/2024,\n09:30:59 PT"), evidence)
    (prompt,) = llm.prompts

    assert prompt[-1].content.endswith(
        "Question: Who sang Breeze?\nAsked on: 03/13/2024, 09:30:59 PT"
    )
    assert 1 == sum("Asked on" in turn.content for turn in prompt)


def test_the_pool_is_complete():
    """Three examples a domain, of three kinds; reasoning never ends without what it leads to."""
    kinds = {"invalid question", "I don't know"}

    assert [*DOMAINS] == [*reasoning_examples()]
    for found in reasoning_examples().values():
        answers = [d.answer for d in found]

        assert (3, kinds) == (len(found), {*answers} & kinds)
        assert answers[0] not in kinds
        assert contains_answer(found[0].rationale, [answers[0]])
        assert all(2 <= len(d.documents) <= 3 for d in found)


def test_without_evidence_the_model_answers_from_what_it_knows():
    """No documents are spoken of, and no example with documents is shown."""
    llm = ScriptedLLM(lambda _: "Reasoning: I know it.\nAnswer: Seals")
    answer = Reasoning(llm, domain="music")(Query("Who sang it?"), ())
    (prompt,) = llm.prompts

    assert "Seals" == answer.text
    assert ["system", "user"] == [message.role for message in prompt]
    assert "Question: Who sang it?" == prompt[1].content
    assert "document" not in prompt[0].content.lower()


def test_systems_of_one_run_answer_by_one_prompt():
    """Also where a stage has answered; a question's time stands below it, by any reader."""
    llm = ScriptedLLM(lambda _: "Answer: Paris")
    answered = Pipeline(lambda query, kept: StageResult(kept, answer=Answer("Rome", (), "Rome")))
    query = Query("Where is it?", time="2024-03-01")

    for system in (System(Pipeline(), Reader(llm)), System(answered, Reader(llm))):
        assert "Paris" == evaluated(system).ask(query, ["It is in Paris."]).answer.text
    assert llm.prompts[0] == llm.prompts[1]
    assert "invalid question" in llm.prompts[0][0].content

    Reader(llm)(query, [])
    assert "Where is it?\nAsked on: 2024-03-01" in llm.prompts[-1][-1].content
