"""The table of throughput."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ARGUMENTS = ["--llm", "fake:echo", "--pruner", "fake:pruner"]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_every_question_is_answered_and_timed(processes, monkeypatch):
    """Processes share the questions; what is read before the time begins is not counted."""
    folder = Path(__file__).parents[3] / "benchmarks"
    monkeypatch.syspath_prepend(str(folder))
    import throughput

    load = throughput.Load.read(throughput.SAMPLE, 3)
    took = throughput.piped(load, ARGUMENTS, processes)

    assert len(load.lines) == took.questions == 3
    assert load.first not in load.lines
    assert 0 < took.seconds < 60
    assert took.megabytes > 20 * processes
