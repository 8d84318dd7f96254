"""The scripts of examples/ that show a framework."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "langchain_compressor": "langchain_classic",
    "llama_index_postprocessor": "llama_index.core",
    "haystack_filter": "haystack",
    "dspy_retriever": "dspy",
}


@pytest.mark.models
@pytest.mark.parametrize("name", NEEDS)
def test_an_example_prints_the_sentence_that_answers(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It runs as it stands, and of fourteen sentences the right one is left, and most are not."""
    pytest.importorskip(NEEDS[name])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    output = capsys.readouterr().out

    assert "Émile Nouguier drew the first design of the Eiffel Tower." in output
    for gone in ("More than six million", "gift of the people", "Trains still cross it"):
        assert gone not in output


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_has_at_most_fifteen_lines(name: str) -> None:
    """Blank ones not counted."""
    lines = (EXAMPLES / f"{name}.py").read_text("utf-8").splitlines()

    assert len([line for line in lines if line]) <= 15
