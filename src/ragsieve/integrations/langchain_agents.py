"""LangChain's and LangGraph's agents: middleware that filters what tools returned."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.integrations.base import Adapter
from ragsieve.integrations.langchain import filter_tool_messages
from ragsieve.many import in_thread
from ragsieve.result import Result

with needs_extra("agents"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse


class ToolResultFilter(AgentMiddleware):
    """Lets an agent's model read of what tools returned what matters to the last human message.

    For ``create_agent(model, tools, middleware=[ToolResultFilter()])``. The state keeps results as
    the tools returned them: they are filtered before each call of the model, and again where a
    later question asks for other spans. See `filter_tool_messages`.

    Args:
        sieve: The filter; its ``max_tokens`` bounds the kept text of all results together.
        tools: Patterns of the names of tools whose results are filtered, as ``web_*``.
        on_result: Called with each result of the filter.
    """

    def __init__(
        self,
        sieve: Adapter | None = None,
        *,
        tools: Sequence[str] = ("*",),
        on_result: Callable[[Result], object] | None = None,
    ) -> None:
        super().__init__()
        self.sieve, self.patterns, self.on_result = sieve or Adapter(), tools, on_result

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with filtered messages."""
        return handler(self._filtered(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with filtered messages; the filter runs in a thread."""
        return await handler(await in_thread(self._filtered, request))

    def _filtered(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        messages: Any = filter_tool_messages(
            request.messages, self.sieve, tools=self.patterns, on_result=self.on_result
        )
        return request.override(messages=messages)
