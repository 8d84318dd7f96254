"""What tools returned, filtered before a model of OpenAI's Agents SDK reads it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from ragsieve.integrations.base import Adapter
from ragsieve.integrations.openai_agents import ToolOutputFilter
from ragsieve.integrations.tools import NOTHING
from ragsieve.result import Result

from .conftest import FAKE, FRUIT, KEPT, PAGE, QUESTION

SIEVE = Adapter("top-sentences", **FAKE, on_error="raise")


@function_tool
def web_search() -> str:
    """Search the web."""
    return PAGE


@function_tool
def read_notes() -> str:
    """Read notes."""
    return FRUIT


def run(sieve: ToolOutputFilter) -> tuple[list[Any], list[Any]]:
    """Outputs by call id: those that the model read before it answered, and those of the run."""
    calls = [function_call("web_search", {}, call_id="c0")]
    more = [function_call("read_notes", {}, call_id="c1")]
    model = ScriptedModel([calls, more, [assistant_message("Koechlin.")]])
    agent = Agent("guide", model=model, tools=[web_search, read_notes])
    config = RunConfig(call_model_input_filter=sieve, tracing_disabled=True)
    done = Runner.run_sync(agent, QUESTION, run_config=config)
    assert "Koechlin." == done.final_output
    return outputs(model.calls[-1].input), outputs(done.to_input_list())


def outputs(items: Any) -> list[Any]:
    """Ids of calls, each with what its tool returned."""
    kind = "function_call_output"
    return [(one["call_id"], one["output"]) for one in items if one.get("type") == kind]


def test_the_model_reads_what_matters_and_the_run_keeps_all() -> None:
    """Call ids stay; the result says by them what was dropped, and why."""
    results: list[Result] = []
    read, held = run(ToolOutputFilter(SIEVE, on_result=results.append))
    rows = [row for row in results[-1].rows if not row["kept"]]

    assert [("c0", KEPT), ("c1", NOTHING)] == read
    assert [("c0", PAGE), ("c1", FRUIT)] == held
    assert {"c0": 1, "c1": 2} == {c: [r["document"] for r in rows].count(c) for c in ("c0", "c1")}
    assert all(row["stage"] == "TopK(k=1)" and row["reason"] for row in rows)


def test_only_chosen_tools_are_filtered() -> None:
    read, _ = run(ToolOutputFilter(SIEVE, tools=["web_*"]))

    assert [("c0", KEPT), ("c1", FRUIT)] == read
