"""OpenAI's Agents SDK: a filter of what tools returned, before a model reads it."""

from dataclasses import dataclass, field
from typing import Any

from ragsieve.agents.filter import SHOW_DROPPED, ToolFilter
from ragsieve.errors import needs_extra
from ragsieve.run.concurrency import in_thread

with needs_extra("openai-agents"):
    from agents import FunctionTool, function_tool
    from agents.run import CallModelData, ModelInputData


@dataclass(frozen=True)
class ToolOutputFilter:
    """Lets an agent's model read of what tools returned what their calls asked for.

    For ``RunConfig(call_model_input_filter=ToolOutputFilter())``. The run and its session keep
    outputs as the tools returned them: each is cut once, in a thread, and reads the same in every
    later call of the model.

    Args:
        results: The filter of outputs; by default of all tools' and without ``tell``. Where it
            tells that something was cut, give the agent the tool `show_dropped`.
    """

    results: ToolFilter = field(default_factory=lambda: ToolFilter(tell=False))

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
            return self.results.dropped_text(handle, query, cursor)

        return show_dropped

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The model's input with filtered outputs."""
        model_input = data.model_data
        cut = await in_thread(self.results, model_input.input)
        return ModelInputData(cut.messages, model_input.instructions)
