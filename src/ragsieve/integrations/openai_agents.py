"""OpenAI's Agents SDK: a filter of what tools returned, before a model reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragsieve.adapter import Adapter
from ragsieve.agents.filter import SHOW_DROPPED, Cut, ToolFilter
from ragsieve.agents.rules import ToolRule
from ragsieve.errors import needs_extra
from ragsieve.result import Result
from ragsieve.run.concurrency import in_thread

with needs_extra("openai-agents"):
    from agents import FunctionTool, function_tool
    from agents.run import CallModelData, ModelInputData


class ToolOutputFilter:
    """Lets an agent's model read of what tools returned what their calls asked for.

    For ``RunConfig(call_model_input_filter=ToolOutputFilter())``. The run and its session keep
    outputs as the tools returned them: each is cut once, in a thread, and reads the same in every
    later call of the model. See `ragsieve.agents.filter.ToolFilter`.

    Args:
        sieve: The filter; its ``max_tokens`` bounds the kept text of each output.
        tools: Patterns of the names of tools whose outputs are filtered, as ``web_*``, or rules.
        on_result: Called with each result of the filter, whose documents have the calls' ids: what
            was kept and dropped of each output, and why.
        on_cut: Called before each call of the model with what was saved, and what it took.
        tell: Whether an output that was cut ends with a line that says how to get the rest; then
            give the agent the tool `show_dropped`, too.
    """

    def __init__(
        self,
        sieve: Adapter | None = None,
        *,
        tools: Sequence[str | ToolRule] = ("*",),
        on_result: Callable[[Result], object] | None = None,
        on_cut: Callable[[Cut], object] | None = None,
        tell: bool = False,
    ) -> None:
        self.filter = ToolFilter(sieve, tools, on_result=on_result, on_cut=on_cut, tell=tell)

    @property
    def show_dropped(self) -> FunctionTool:
        """A tool for the agent: it shows what was cut, page by page."""

        @function_tool(name_override=SHOW_DROPPED)
        def show_dropped(handle: str, query: str = "", cursor: str = "") -> str:
            """Show what was left out of a tool's result, a page of it.

            Args:
                handle: Of the result, as its last line says.
                query: Show only what has a word of this.
                cursor: Of the page before, to read on.
            """
            return self.filter.dropped_text(handle, query, cursor)

        return show_dropped

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The model's input with filtered outputs."""
        model_input = data.model_data
        cut = await in_thread(self.filter, model_input.input)
        return ModelInputData(cut.messages, model_input.instructions)
