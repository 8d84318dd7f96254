import json
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage

from ragsieve.agents.filter import ToolFilter
from ragsieve.integrations.langchain_agents import ToolResultFilter


class Model(FakeMessagesListChatModel):  # yours: "openai:gpt-5-mini", ChatOllama(…) …
    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *more: Any, **options: Any) -> Any:
        print(f"the model reads {sum(len(m.text) for m in messages)} characters")
        return super()._generate(messages, *more, **options)


def web_search(query: str) -> str:
    """Search the web."""
    lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
    return "\n\n".join(json.loads(line)["text"] for line in lines)


call = {"id": "c1", "name": "web_search", "args": {"query": "Eiffel Tower design"}}
model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("Maurice Koechlin.")])
middleware = ToolResultFilter(ToolFilter(tools=["web_*"]))
agent = create_agent(model, [web_search], middleware=[middleware])
question = {"role": "user", "content": "Who drew the first design of the Eiffel Tower?"}
state = agent.invoke({"messages": [question]})
print(len(state["messages"][2].text), "characters were returned:", state["messages"][-1].text)
