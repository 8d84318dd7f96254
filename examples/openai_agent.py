import json
from pathlib import Path

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from ragsieve.agents.filter import ToolFilter
from ragsieve.integrations.openai_agents import ToolOutputFilter


@function_tool
def web_search(query: str) -> str:
    """Search the web."""
    lines = Path(__file__).with_name("eiffel.jsonl").read_text("utf-8").splitlines()
    return "\n\n".join(json.loads(line)["text"] for line in lines)


call = function_call("web_search", {"query": "Eiffel Tower design"}, call_id="c1")
model = ScriptedModel([[call], [assistant_message("Maurice Koechlin.")]])  # yours: "gpt-5-mini"
agent = Agent("Guide", model=model, tools=[web_search])
sieve = ToolOutputFilter(ToolFilter(tools=["web_*"], tell=False))
config = RunConfig(call_model_input_filter=sieve, tracing_disabled=True)
question = "Who drew the first design of the Eiffel Tower?"
run = Runner.run_sync(agent, question, run_config=config)
for name, items in (("run", run.to_input_list()), ("model", model.calls[-1].input)):
    texts = [str(value) for one in items for key, value in one.items() if key == "output"]
    print(f"the {name} has {sum(map(len, texts))} characters of outputs")
print(run.final_output)
