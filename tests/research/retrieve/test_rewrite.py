"""The question in words that find more."""

import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.trace import Trace, step
from ragsieve.types import Query
from ragsieve_research.retrieve.rewrite import Rewrite, Rewritten

QUERY = Query("who was it that sang Summer Breeze", "q7")
GOOD = "Which singers recorded the song Summer Breeze?"
LONG = "Summer Breeze " * 30  # 420 characters


def rewritten(*replies, query=QUERY):
    """The query that searches, and what the trace says."""
    with Trace().recording(), step("Rewrite") as record:
        found = Rewrite(ScriptedLLM(replies))(query)
    return found, record


def test_the_question_is_the_last_turn_and_no_instruction():
    """Worked examples stand before it."""
    llm = ScriptedLLM([GOOD])
    Rewrite(llm)(QUERY)
    (prompt,) = llm.prompts

    assert ("user", f"Question: {QUERY.text}") == prompt[-1]
    assert "system" == prompt[0].role
    assert "assistant" in {message.role for message in prompt[1:-1]}


@pytest.mark.parametrize(
    "reply",
    [
        f"  {GOOD}\n",
        f'"{GOOD}"',
        f"“{GOOD}”",
        f"`{GOOD}`",
        f"**{GOOD}**",
        f"Question: {GOOD}",
        f"query: {GOOD}",
        f"Rewritten question: {GOOD}",
        f"Re-written query : {GOOD}",
        f"New search query: '{GOOD}'",
        f"Improved query:\n{GOOD}",
        f"rewritten_query: {GOOD}",
        f"**Rewritten question:** {GOOD}",
        f'"Question: {GOOD}"',
        f"Here is the rewritten question:\n\n{GOOD}",
        f"<think>Summer Breeze is a song.\n\nQuestion: who?</think>\n\n{GOOD}",
    ],
)
def test_labels_quotes_and_thoughts_are_taken_away(reply):
    """What is left is the query."""
    found, record = rewritten(reply)

    assert (GOOD, 0) == (found.text, record.unreadable)


WRONG = {
    "empty": "",
    "only a label": "Rewritten question:",
    "only quotes": '""',
    "only thoughts": "<think>Who sang Summer Breeze?</think>",
    "cut off thinking": "<think>Who sang Summer Breeze?",
    "two lines": f"{GOOD}\nAnd {GOOD}",
    "too long": LONG,
    "an answer": "Seals and Crofts sang Summer Breeze.",
    "an exclamation": "Summer Breeze by Seals and Crofts!",
    "a Chinese statement": "Summer Breeze 是一首歌。",
    "other names": "Who sang the song Winter Wind, was it Summer?",
    "no name": "who was it that sang it",
    "no word of it": "best pop songs",
    "another language": "夏の歌は誰ですか",
}


@pytest.mark.parametrize("reply", WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_asked_once_more(reply):
    """A second reply that makes sense counts; else the very same query searches, with a note."""
    found, record = rewritten(reply, GOOD)
    original, twice = rewritten(reply, reply)

    assert (GOOD, QUERY) == (found.text, original)
    assert (1, 2) == (record.unreadable, twice.unreadable)
    assert "unreadable reply, asked once more" in record.notes[0]
    assert "not rewritten, the question as it is searches" in twice.notes[-1]


@pytest.mark.parametrize(
    ("question", "reply", "accepted"),
    [
        ("Who sang it?", "Which singer sang it?", True),  # the first word is no name
        ("When was NASA founded?", "Year in which NASA was founded", True),
        ("When was NASA founded?", "When was the space agency founded?", False),
        ("WHO SANG IT", "who sang it then", True),  # all are names, and all are there
        ("what's the U.S. capital", "capital of the U.S. by name", True),
        ("what is İstanbul known for", "What is İstanbul famous for?", True),
        ("how long is the Straße", "length of the Straße", True),
        ("谁唱了这首歌", "这首歌是谁唱的", True),  # characters are words
        ("???", "Which question is meant?", True),  # nothing to share
        ("Who sang it?", "Which singers recorded it ".ljust(300, "x"), True),
        ("Who sang it?", "Which singers recorded it ".ljust(301, "x"), False),
        (f"{LONG}?", (LONG * 2).strip(), True),  # up to twice the question's length
    ],
)
def test_a_rewrite_keeps_names_and_measure(question, reply, accepted):
    """Capital words behind the first must be in it; 300 characters, or twice the question's."""
    found, _ = rewritten(reply, reply, query=Query(question))

    assert (reply if accepted else question) == found.text


def test_what_cannot_be_rewritten_searches_as_it_is():
    """A question too long for the context, or a model that fails; the trace says why."""
    query = Query("Who sang Summer Breeze? " * 100)
    with Trace().recording(), step("Rewrite") as record:
        found = Rewrite(ScriptedLLM([GOOD], context=1000))(query)

    assert query is found
    assert "not rewritten, the question as it is searches: prompt and reply" in record.notes[-1]

    found, record = rewritten()

    assert QUERY == found
    assert ["the script has 0 replies, asked for 1"] == [n.split(": ")[1] for n in record.notes]


def test_characters_that_backends_refuse_are_replaced():
    """The rewrite goes into indexes and other models."""
    found, _ = rewritten("Who sang \ud800 Summer Breeze\x1b?")

    assert "Who sang \ufffd Summer Breeze\ufffd?" == found.text


def test_a_stage_without_segments_rewrites_nothing():
    """Nothing in, nothing out, and no call."""
    llm = ScriptedLLM([])

    def stage(query, segments, /):
        raise AssertionError("it was asked")

    assert [] == Rewritten(Rewrite(llm), stage)(QUERY, [])
    assert [] == llm.prompts
