"""What tools returned, filtered before a model of OpenAI's Agents SDK reads it."""

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from ragsieve.adapter import Adapter
from ragsieve.agents.filter import ToolFilter
from ragsieve.agents.rules import ToolRule
from ragsieve.integrations.openai_agents import ToolOutputFilter

from .conftest import FAKE, FRUIT, KEPT, LONG, QUESTION

SIEVE = Adapter("top-sentences", **FAKE, on_error="raise")


def rule(name):
    """One that cuts results however small."""
    return ToolRule(name=name, min_tokens=0, min_saving=0)


@function_tool
def web_search() -> str:
    """Search the web."""
    return LONG


@function_tool
def read_notes() -> str:
    """Read notes."""
    return FRUIT


def run(sieve):
    """Outputs by call id: those that the model read before it answered, and those of the run."""
    calls = [function_call("web_search", {}, call_id="c0")]
    more = [function_call("read_notes", {}, call_id="c1")]
    model = ScriptedModel([calls, more, [assistant_message("Koechlin.")]])
    agent = Agent("guide", model=model, tools=[web_search, read_notes])
    config = RunConfig(call_model_input_filter=sieve, tracing_disabled=True)
    done = Runner.run_sync(agent, QUESTION, run_config=config)
    assert "Koechlin." == done.final_output
    return outputs(model.calls[-1].input), outputs(done.to_input_list())


def outputs(items):
    """Ids of calls, each with what its tool returned."""
    kind = "function_call_output"
    return [(one["call_id"], one["output"]) for one in items if one.get("type") == kind]


def test_the_model_reads_what_matters_and_the_run_keeps_all():
    """Call ids stay; results say by them what was dropped, and why; a later turn changes none."""
    results = []
    cuts = []
    more = {"on_result": results.append, "on_cut": cuts.append, "tell": False}
    read, held = run(ToolOutputFilter(ToolFilter(SIEVE, [rule("*")], **more)))
    rows = [row for result in results for row in result.rows if not row["kept"]]

    assert [("c0", KEPT), ("c1", "Bananas are yellow.")] == read
    assert [("c0", LONG), ("c1", FRUIT)] == held
    assert ["c0"] * 21 + ["c1"] == [row["document"] for row in rows]
    assert [0, 1, 2] == [len(cut.outcomes) for cut in cuts]
    assert [0, 0, 0] == [cut.cache_broken for cut in cuts]
    assert all(row["stage"] == "TopK(k=1)" and row["reason"] for row in rows)


def test_the_agent_can_ask_for_what_was_cut():
    """By the tool that the last line names, whose outputs are not cut."""
    sieve = ToolOutputFilter(ToolFilter(SIEVE, [rule("*")]))
    read, _ = run(sieve)
    handle = read[0][1].partition("handle='")[2][:12]
    asks = [function_call("show_dropped", {"handle": h}, call_id=h) for h in (handle, "0")]
    model = ScriptedModel([asks, [assistant_message("")]])
    agent = Agent("guide", model=model, tools=[sieve.show_dropped])
    config = RunConfig(call_model_input_filter=sieve, tracing_disabled=True)
    Runner.run_sync(agent, QUESTION, run_config=config)
    shown, wrong = [output for _, output in outputs(model.calls[-1].input)]

    assert "The tower is 330 metres tall." in shown and "TopK(k=1)" not in read[0][1]
    assert wrong.startswith("Error: handle must be of a result")
