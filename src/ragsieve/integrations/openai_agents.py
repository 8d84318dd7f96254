"""OpenAI's Agents SDK: a filter of what tools returned, before a model reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragsieve.errors import needs_extra
from ragsieve.integrations.base import Adapter
from ragsieve.integrations.tools import filter_results
from ragsieve.many import in_thread
from ragsieve.result import Result

with needs_extra("openai-agents"):
    from agents.run import CallModelData, ModelInputData


class ToolOutputFilter:
    """Lets an agent's model read of what tools returned what matters to the last user message.

    For ``RunConfig(call_model_input_filter=ToolOutputFilter())``. The run and its session keep
    outputs as the tools returned them: they are filtered before each call of the model, in a
    thread. See `ragsieve.integrations.tools.filter_results`. What the SDK tells the model of a tool
    that failed is an output like others, which may be left out.

    Args:
        sieve: The filter; its ``max_tokens`` bounds the kept text of all outputs together.
        tools: Patterns of the names of tools whose outputs are filtered, as ``web_*``.
        on_result: Called with each result of the filter, whose documents have the calls' ids: what
            was kept and dropped of each output, and why.
    """

    def __init__(
        self,
        sieve: Adapter | None = None,
        *,
        tools: Sequence[str] = ("*",),
        on_result: Callable[[Result], object] | None = None,
    ) -> None:
        self.sieve, self.patterns, self.on_result = sieve or Adapter(), tools, on_result

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The model's input with filtered outputs."""
        model_input = data.model_data
        items = await in_thread(
            filter_results,
            model_input.input,
            self.sieve,
            tools=self.patterns,
            on_result=self.on_result,
        )
        return ModelInputData(items, model_input.instructions)
