"""What tools returned, filtered before a model of LangChain reads it."""

import json
from datetime import date

import pytest
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    ToolMessageChunk,
)

from ragsieve import Document, Pipeline, Segment, System, load
from ragsieve.adapter import Adapter
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.rules import LEFT_OUT, ToolRule
from ragsieve.answer import Reader
from ragsieve.integrations.langchain import filter_tool_messages
from ragsieve.models.fake import ScriptedLLM

from .conftest import FAKE, FRUIT, KEPT, LONG, PAGE, QUESTION


def results_of(adapter, name="*", **more):
    """A filter of results however small, which says nothing of what it cuts."""
    rule = ToolRule(name=name, min_tokens=0, min_saving=0)
    return ToolFilter(adapter, [rule], tell=False, **more)


SIEVE = results_of(Adapter("top-sentences", **FAKE, on_error="raise"))
NO_ROOM = "[what matters does not fit max_tokens=0]"
BEST = [KEPT, "Bananas are yellow.", "The tower has four feet."]


def call(*names):
    """A model's calls of tools, with ids c0, c1 …"""
    calls = [{"id": f"c{n}", "name": name, "args": {}} for n, name in enumerate(names)]
    return AIMessage("", tool_calls=calls)


def conversation(*results):
    """A question, and what a call of each tool returned: contents, or messages of their own."""
    given = [
        one if isinstance(one, ToolMessage) else ToolMessage(one, tool_call_id=f"c{n}", id=f"m{n}")
        for n, one in enumerate(results)
    ]
    earlier = [SystemMessage("Help."), HumanMessage("Hello."), AIMessage("Hello!")]
    return [*earlier, HumanMessage(QUESTION), call(*["web_search"] * len(given)), *given]


def contents(messages):
    """Contents of the tool messages."""
    return [message.content for message in messages if isinstance(message, ToolMessage)]


def test_results_are_cut_to_what_matters():
    """Calls keep their results, in order; everything else of the conversation is as it was."""
    streamed = ToolMessageChunk(FRUIT, tool_call_id="c1", id="m1")
    given = conversation(PAGE, streamed, "The tower has four feet.")
    before = [message.model_copy(deep=True) for message in given]
    filtered = filter_tool_messages(given, SIEVE)

    assert BEST == contents(filtered)
    assert [("m0", "c0"), ("m1", "c1"), ("m2", "c2")] == [
        (message.id, message.tool_call_id) for message in filtered[-3:]
    ]
    assert before[:-3] == filtered[:-3]
    assert before == given


def test_the_artifact_says_how_probable_an_answer_is():
    """Of each result, as the library says it; None where nothing tells it."""
    sieve = load("finefilter", "fake:echo")
    known = [sieve(QUESTION, [PAGE]).to_dict()["answerable"]] * 2
    for results, answerable in ((results_of(Adapter(llm="fake:echo")), known), (SIEVE, [None] * 2)):
        messages = filter_tool_messages(conversation(PAGE, PAGE), results)[-2:]

        assert answerable == [m.artifact["ragsieve"]["answerable"] for m in messages]


def test_equal_texts_of_a_call_are_all_filtered():
    """A copy of a result is a result, too, with spans of its own."""
    parts = [PAGE, {"type": "image_url"}, PAGE]
    every = {"system": "top-sentences", **FAKE, "options": {"k": 9}}
    sieve = results_of(Adapter(**every, on_error="raise"))
    (message,) = filter_tool_messages(conversation(parts), sieve)[-1:]
    kept = message.artifact["ragsieve"]["kept"]

    assert parts == message.content
    assert [0, 0, 2, 2] == [span["part"] for span in kept]


def test_the_artifact_says_what_was_kept_and_why_the_rest_was_not():
    """Offsets are those of the text that came; what the artifact held stays; it is JSON."""
    held = ToolMessage(PAGE, tool_call_id="c0", artifact={"rows": 7})
    other = ToolMessage(FRUIT, tool_call_id="c1", artifact="raw")
    *_, page, fruit = filter_tool_messages(conversation(held, other), SIEVE)
    assert isinstance(page, ToolMessage) and isinstance(fruit, ToolMessage)
    about = page.artifact["ragsieve"]
    dropped = [*about["dropped"], *fruit.artifact["ragsieve"]["dropped"]]

    assert 7 == page.artifact["rows"] and "raw" == fruit.artifact["artifact"]
    assert [KEPT] == [PAGE[span["start"] : span["end"]] for span in about["kept"]]
    assert ["The tower is 330 metres tall.", "They grow in bunches."] == [
        s["text"] for s in dropped
    ]
    assert QUESTION == about["question"] and 12 == len(about["handle"])
    assert {"TopK(k=1)"} == {span["stage"] for span in dropped}
    assert all(span["reason"] for span in dropped)
    assert page.artifact == json.loads(json.dumps(page.artifact))


def test_arguments_that_json_cannot_hold_cost_no_message():
    given = conversation(PAGE)
    given[-2].tool_calls[0]["args"] = {"on": date(2020, 1, 1)}

    assert len(given) == len(filter_tool_messages(given, SIEVE))


def test_parts_are_filtered_one_by_one():
    """Images pass; a span's ``part`` is its place in the content."""
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    parts = [{"type": "text", "text": PAGE, "cache": 1}, image, FRUIT, {"type": "text"}]
    filtered = filter_tool_messages(conversation(parts), SIEVE)
    message = filtered[-1]
    assert isinstance(message, ToolMessage)

    assert [{"type": "text", "text": KEPT, "cache": 1}, image, LEFT_OUT, {"type": "text"}] == (
        message.content
    )
    assert [0, 2, 2] == [span["part"] for span in message.artifact["ragsieve"]["dropped"]]


@pytest.mark.parametrize("named", [True, False], ids=["message", "call"])
def test_only_results_of_chosen_tools_are_filtered(named):
    """By the message's name, else by that of its call; what a calculator says is no document."""
    names = ["web_search", "calculator"]
    results = [
        ToolMessage(LONG, tool_call_id=f"c{n}", name=name if named else None)
        for n, name in enumerate(names)
    ]
    given = [HumanMessage(QUESTION), call(*names), *results]
    picky = Adapter("filco-lexical", llm="fake:echo", max_tokens=0, on_error="raise")

    assert [NO_ROOM, LONG] == contents(filter_tool_messages(given, results_of(picky, "web_*")))
    assert given == filter_tool_messages(given, results_of(picky, "calc"))


def test_errors_blanks_and_calls_without_a_question_pass():
    """They say something to the model as they are."""
    error = ToolMessage("No such page.", tool_call_id="c0", status="error")
    given = conversation(error, "", " \n", [], PAGE)

    assert ["No such page.", "", " \n", [], KEPT] == contents(filter_tool_messages(given, SIEVE))

    given = [call("web"), ToolMessage(PAGE, tool_call_id="c0")]

    assert given == filter_tool_messages(given, SIEVE)
    assert given[:1] == filter_tool_messages(given[:1], SIEVE)


def test_what_a_model_wrote_stands_at_the_end_and_names_its_sources():
    """No result is lost for it."""

    def summary(query, segments, /):
        written = Document("s", "He drew it.", written_by="fake", parents=tuple(segments[:1]))
        return [*segments[1:], Segment.whole(written)]

    system = System(Pipeline(summary), Reader(ScriptedLLM([])))
    results = results_of(Adapter(system, on_error="raise"))
    (last,) = filter_tool_messages(conversation([PAGE, {}, FRUIT]), results)[-1:]
    assert isinstance(last, ToolMessage)
    (written,) = last.artifact["ragsieve"]["written"]

    assert [LEFT_OUT, {}, f"{FRUIT}\n\nHe drew it."] == last.content
    assert ("fake", [["c0", 0, len(PAGE)]]) == (written["written_by"], written["parents"])
