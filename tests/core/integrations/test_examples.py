"""The scripts of examples/."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
NEEDS = {"langchain_compressor": "langchain_classic", "haystack_filter": "haystack"}
NEEDS |= {"llama_index_postprocessor": "llama_index.core", "dspy_retriever": "dspy"}

SPAN = "In 1884 he and his colleague Émile Nouguier drew the first design of the Eiffel Tower."


@pytest.mark.models
@pytest.mark.parametrize("name", NEEDS)
def test_an_example_prints_the_sentence_that_answers(name, capsys):
    """It runs as it stands, and of fourteen sentences the right one is left, and most are not."""
    pytest.importorskip(NEEDS[name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr().out

    assert "Émile Nouguier drew the first design of the Eiffel Tower." in output
    for gone in ("More than six million", "gift of the people", "Trains still cross it"):
        assert gone not in output


@pytest.mark.models
@pytest.mark.parametrize(
    ("name", "needs", "line"),
    [
        ("langchain_agent", "langchain", "1088 characters were returned: Maurice Koechlin."),
        ("langgraph_rag", "langgraph", "kept 90 of 300 tokens"),
        ("openai_agent", "agents", "the model has 140 characters of outputs"),
        ("cohere_rerank", "cohere", SPAN),
        ("tool_results", "ragsieve", "the same at a later turn: True"),
        ("mcp_client", "mcp", "The sculptor Frédéric Auguste Bartholdi designed it."),
        ("train_filter", "onnxscript", "F22: the drum stays open."),  # not what it kept before
    ],
)
def test_an_agent_reads_what_matters(name, needs, line):
    """As it stands; what the model reads is shorter than what was returned."""
    pytest.importorskip(needs)
    command = [sys.executable, str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)

    assert line in done.stdout.splitlines(), done.stderr
