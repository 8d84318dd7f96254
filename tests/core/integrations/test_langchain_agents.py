"""An agent of LangChain whose model reads filtered results of tools."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ragsieve.adapter import Adapter
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.rules import ToolRule
from ragsieve.integrations.langchain_agents import ToolResultFilter

from .conftest import KEPT, LONG, QUESTION

SIEVE = Adapter("top-sentences", llm="fake:echo", embedder="fake:hashing", options={"k": 1})


class Model(FakeMessagesListChatModel):
    """Calls the tool, then answers; remembers what it read."""

    read: list[list[BaseMessage]]

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *more, **options):
        self.read.append(messages)
        return super()._generate(messages, *more, **options)


def web_search(query):
    """Search the web."""
    return LONG


def run(middleware, *, asynchronous):
    """The model, and the messages of the agent's state."""
    call = {"id": "c1", "name": "web_search", "args": {"query": "x"}}
    model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("Koechlin.")], read=[])
    agent = create_agent(model, [web_search], middleware=[middleware])
    state = {"messages": [{"role": "user", "content": QUESTION}]}
    ended = asyncio.run(agent.ainvoke(state)) if asynchronous else agent.invoke(state)
    return model, ended["messages"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_model_reads_what_matters_and_the_state_keeps_all(asynchronous):
    """Call ids stay; the artifact says what was dropped."""
    results = []
    cuts = []
    rule = ToolRule(name="web_*", min_tokens=0, min_saving=0)
    middleware = ToolResultFilter(
        ToolFilter(SIEVE, [rule], on_result=results.append, on_cut=cuts.append, tell=False)
    )
    model, messages = run(middleware, asynchronous=asynchronous)
    (read,) = [m for m in model.read[1] if isinstance(m, ToolMessage)]
    (held,) = [m for m in messages if isinstance(m, ToolMessage)]

    assert (KEPT, "c1", LONG) == (read.content, read.tool_call_id, held.content)
    dropped = read.artifact["ragsieve"]["dropped"]
    assert all(LONG[one["start"] : one["end"]] == one["text"] for one in dropped)
    assert held.artifact is None
    assert "Koechlin." == messages[-1].text
    assert 1 == len(results)
    assert [(0, 0), (results[0].tokens.before, results[0].tokens.after)] == [
        (cut.tokens.before, cut.tokens.after) for cut in cuts
    ]
    assert [0, 0] == [cut.cache_broken for cut in cuts] and cuts[1].seconds > 0


def test_the_agent_can_ask_for_what_was_cut():
    """By the tool that the last line names, whose own results are not cut."""
    middleware = ToolResultFilter(ToolFilter(SIEVE, [ToolRule(min_tokens=0, min_saving=0)]))
    page = {"id": "c1", "name": "web_search", "args": {"query": QUESTION}}
    model = Model(responses=[AIMessage("", tool_calls=[page]), AIMessage("")], read=[])
    state = {"messages": [{"role": "user", "content": QUESTION}]}
    create_agent(model, [web_search], middleware=[middleware]).invoke(state)
    kept, line = model.read[1][-1].text.split("\n\n")
    handle = line.partition("handle='")[2][:12]
    ask = {"id": "c2", "name": "show_dropped", "args": {"handle": handle}}
    model = Model(responses=[AIMessage("", tool_calls=[ask]), AIMessage("")], read=[])
    create_agent(model, [web_search], middleware=[middleware]).invoke(state)
    shown = json.loads(model.read[1][-1].text)

    assert KEPT == kept and line.startswith("[")
    assert "The tower is 330 metres tall." == shown["runs"][0]["text"]
    assert "Error: handle must be of a result" in middleware.show_dropped("0")
