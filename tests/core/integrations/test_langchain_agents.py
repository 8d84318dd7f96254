"""An agent of LangChain whose model reads filtered results of tools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from ragsieve.integrations.base import Adapter
from ragsieve.integrations.langchain_agents import ToolResultFilter
from ragsieve.result import Result

from .conftest import KEPT, PAGE, QUESTION

SIEVE = Adapter("top-sentences", llm="fake:echo", embedder="fake:hashing", options={"k": 1})


class Model(FakeMessagesListChatModel):
    """Calls the tool, then answers; remembers what it read."""

    read: list[list[BaseMessage]]

    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self

    def _generate(self, messages: list[BaseMessage], *more: Any, **options: Any) -> Any:
        self.read.append(messages)
        return super()._generate(messages, *more, **options)


def web_search(query: str) -> str:
    """Search the web."""
    return PAGE


def run(middleware: ToolResultFilter, *, asynchronous: bool) -> tuple[Model, list[BaseMessage]]:
    """The model, and the messages of the agent's state."""
    call: Any = {"id": "c1", "name": "web_search", "args": {"query": "x"}}
    model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("Koechlin.")], read=[])
    agent = create_agent(model, [web_search], middleware=[middleware])
    state: Any = {"messages": [{"role": "user", "content": QUESTION}]}
    ended = asyncio.run(agent.ainvoke(state)) if asynchronous else agent.invoke(state)
    return model, ended["messages"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_model_reads_what_matters_and_the_state_keeps_all(asynchronous: bool) -> None:
    """Call ids stay; the artifact says what was dropped."""
    results: list[Result] = []
    middleware = ToolResultFilter(SIEVE, tools=["web_*"], on_result=results.append)
    model, messages = run(middleware, asynchronous=asynchronous)
    (read,) = [m for m in model.read[1] if isinstance(m, ToolMessage)]
    (held,) = [m for m in messages if isinstance(m, ToolMessage)]

    assert (KEPT, "c1", PAGE) == (read.content, read.tool_call_id, held.content)
    (dropped,) = read.artifact["ragsieve"]["dropped"]
    assert PAGE[dropped["start"] : dropped["end"]] == dropped["text"]
    assert held.artifact is None
    assert "Koechlin." == messages[-1].text
    assert 1 == len(results)


def test_a_tool_of_another_name_is_left_alone() -> None:
    model, _ = run(ToolResultFilter(SIEVE, tools=["calculator"]), asynchronous=False)

    assert [PAGE] == [m.content for m in model.read[1] if isinstance(m, ToolMessage)]
