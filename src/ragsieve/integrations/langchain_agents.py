"""LangChain's and LangGraph's agents: middleware that filters what tools returned."""

from collections.abc import Awaitable, Callable
from typing import Any

from ragsieve.agents.filter import ToolFilter
from ragsieve.errors import needs_extra
from ragsieve.integrations.langchain import filter_tool_messages
from ragsieve.run.concurrency import in_thread

with needs_extra("agents"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.tools import tool


Request = ModelRequest[Any]
Reply = ModelResponse[Any]


class ToolResultFilter(AgentMiddleware):
    """Lets an agent's model read of what tools returned what their calls asked for.

    For ``create_agent(model, tools, middleware=[ToolResultFilter()])``. The state keeps results as
    the tools returned them: each is cut once, and reads the same in every later call of the model.
    See `filter_tool_messages`.

    Args:
        results: The filter of results; of all tools where None. Where it tells that something was
            cut, the agent has the tool ``show_dropped``, too.
    """

    def __init__(self, results: ToolFilter | None = None) -> None:
        super().__init__()
        self.filter = results or ToolFilter()
        self.tools = [tool(self.show_dropped)] if self.filter.tell else []

    def show_dropped(self, handle: str, query: str = "", cursor: str = "") -> str:
        """Show what was left out of a tool's result, by the handle in its last line: a page of it.

        With a query only what has one of its words; a page's cursor asks for the next one.
        """
        return self.filter.dropped_text(handle, query, cursor)

    def wrap_model_call(self, request: Request, handler: Callable[[Request], Reply]) -> Reply:
        """Call the model with filtered messages."""
        return handler(self._filtered(request))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[Reply]]
    ) -> Reply:
        """Call the model with filtered messages; the filter runs in a thread."""
        return await handler(await in_thread(self._filtered, request))

    def _filtered(self, request: Request) -> Request:
        messages = filter_tool_messages(request.messages, self.filter)
        return request.override(messages=messages)  # type: ignore[arg-type]
