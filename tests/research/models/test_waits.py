"""Everything that waits for a server ends, whatever the server does."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from ragsieve.errors import ModelError, Overdue
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.fake import ScriptedLLM
from ragsieve.models.openai import OpenAI
from ragsieve.timeouts import check_time, deadline, until
from ragsieve.trace import collect_step
from tests.stalling import MODES, PROMPT, stalling, waits


@pytest.mark.parametrize("mode", MODES)
def test_every_caller_returns_at_its_deadline(mode):
    """With what came, or an error of one line."""
    with stalling(mode) as url:
        found = waits(url, 0.5)

    assert {} == {name: one for name, one in found.items() if one[0] > 2 or "\n" in one[1]}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["trickling head", "trickling body", "Retry-After: 119"])
def test_a_request_ends_by_itself(mode):
    """Where no deadline is set, ``total_s`` is one."""
    with stalling(mode) as url:
        found = waits(url, 60, total_s=0.5)

    assert {} == {name: one for name, one in found.items() if one[0] > 2.5}
    assert "no whole reply in total_s=0.5" in found["rerank"][1]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["silent", "trickling head", "trickling events", "endless body"])
def test_a_process_ends_with_its_deadline(mode):
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
def test_a_reply_has_a_limit(mode, error, options):
    """Of bytes, which one attempt is enough to know, and of time, in a pause after a refusal."""
    with stalling(mode) as url, pytest.raises(ModelError, match=error):
        OpenAI("m", base_url=url, **options).complete([PROMPT])


def test_a_stream_keeps_what_came_in_time():
    """And says that it is cut short."""
    with stalling("one event, then silent") as url, collect_step() as step:
        pieces = [*OpenAI("m", base_url=url, total_s=0.5).stream(PROMPT)]

    assert ["a "] == pieces
    assert ["the reply is cut short: the time for a reply is over"] == step.warnings


def test_a_server_that_is_late_is_not_waited_for(serve):
    """Nor asked again; one that is in time answers, and none is set behind the block."""
    replied = Event()

    def script(path, body, number):
        if number > 1:
            replied.wait(10)
        usage = {"prompt_tokens": 3, "completion_tokens": 1}  # else the client asks for counts
        return 200, {"choices": [{"message": {"content": "Cher"}}], "usage": usage}

    server = serve(script)
    llm = OpenAI("m", base_url=f"{server.url}/v1")
    with until(time.monotonic() + 10):
        assert ["Cher"] == llm.complete([PROMPT])
    began = time.monotonic()
    with until(began + 0.2), pytest.raises(Overdue, match="the time for a reply is over"):
        llm.complete([PROMPT, PROMPT])
    assert time.monotonic() - began < 5
    replied.set()

    assert ["Cher"] == llm.complete([PROMPT])


def test_a_local_model_writes_no_token_when_time_is_over():
    """It looks before each one."""
    pytest.importorskip("torch")
    from ragsieve_research.models.decoding import Decoder
    from tests.research.models.test_decoding import tiny

    written = []

    def slow(token):
        written.append(token)
        time.sleep(0.05)

    decoder = Decoder(tiny("float32", "eager"), eos=frozenset())
    moment = time.monotonic() + 0.3
    with pytest.raises(Overdue):
        decoder.generate([[1, 2]], max_tokens=1000, on_token=slow, moment=moment)

    assert len(written) <= 7


def test_a_batch_has_the_latest_deadline_of_its_calls():
    """Whichever thread runs it; a call that comes alone has its own."""
    moments = []

    def reply(prompt):
        check_time(deadline())
        moments.append(deadline())
        return "Cher"

    def ask(moment):
        with until(moment):
            return batcher.complete([PROMPT])

    late, now = time.monotonic() + 30, time.monotonic()
    with (
        DynamicBatcher(ScriptedLLM(reply), callers=2, wait_s=5) as batcher,
        ThreadPoolExecutor(2) as pool,
    ):
        assert [["Cher"], ["Cher"]] == [*pool.map(ask, [now, late])]
    assert [late, late] == moments
    with DynamicBatcher(ScriptedLLM(reply)) as batcher, pytest.raises(Overdue):
        ask(now)
