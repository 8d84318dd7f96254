"""Everything that waits for a server ends, whatever the server does."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ragsieve.errors import ModelError
from tests.stalling import MODES, PROMPT, stalling, waits

pytest.importorskip("httpx")

from ragsieve.models.openai import OpenAI
from ragsieve.trace import collect_step


@pytest.mark.parametrize("mode", MODES)
def test_every_caller_returns_at_its_deadline(mode: str) -> None:
    """With what came, or an error of one line."""
    with stalling(mode) as url:
        found = waits(url, 0.5)

    assert {} == {name: one for name, one in found.items() if one[0] > 2 or "\n" in one[1]}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["trickling head", "trickling body", "Retry-After: 119"])
def test_a_request_ends_by_itself(mode: str) -> None:
    """Where no deadline is set, ``total_s`` is one."""
    with stalling(mode) as url:
        found = waits(url, 60, total_s=0.5)

    assert {} == {name: one for name, one in found.items() if one[0] > 2.5}
    assert "no whole reply in total_s=0.5" in found["rerank"][1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["silent", "trickling head", "trickling events", "endless body"])
def test_a_process_ends_with_its_deadline(mode: str) -> None:
    """No thread of a request that was given up holds it."""
    with stalling(mode) as url:
        command = [sys.executable, "-m", "tests.stalling", url, "0.5"]
        root = Path(__file__).parents[3]
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=60, check=True)
        ended = time.time()
    found, said = json.loads(done.stdout)

    assert max(seconds for seconds, _ in found.values()) < 2.5
    assert ended - said < 2


LATE = "no whole reply in total_s=2; the last was HTTP 429$"


@pytest.mark.parametrize(
    ("mode", "error", "options"),
    [
        ("endless body", "the reply is longer than 33554432 bytes", {"max_retries": 0}),
        ("endless redirects", "HTTP 307: a redirect, which is not followed", {"max_retries": 0}),
        ("closes at half", "no connection", {"max_retries": 0}),
        pytest.param("Retry-After: 119", LATE, {"total_s": 2}, marks=pytest.mark.slow),
    ],
)
def test_a_reply_has_a_limit(mode: str, error: str, options: dict[str, int]) -> None:
    """Of bytes, which one attempt is enough to know, and of time, in a pause after a refusal."""
    with stalling(mode) as url, pytest.raises(ModelError, match=error):
        OpenAI("m", base_url=url, **options).complete([PROMPT])  # type: ignore[arg-type]


def test_a_stream_keeps_what_came_in_time() -> None:
    """And says that it is cut short."""
    with stalling("one event, then silent") as url, collect_step() as step:
        pieces = [*OpenAI("m", base_url=url, total_s=0.5).stream(PROMPT)]

    assert ["a "] == pieces
    assert ["the reply is cut short: the time for a reply is over"] == step.warnings
