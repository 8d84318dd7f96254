"""Replies that are given up at a moment."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from ragsieve.errors import Overdue
from ragsieve.models.base import Message, Prompt
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.fake import ScriptedLLM
from ragsieve.timeouts import check_time, deadline, until

PROMPT: Prompt = (Message("user", "Who sang?"),)


def test_a_server_that_is_late_is_not_waited_for(serve: Callable[..., Any]) -> None:
    """Nor asked again; one that is in time answers, and none is set behind the block."""
    pytest.importorskip("openai")
    from ragsieve.models.openai import OpenAI

    replied = Event()

    def script(path: str, body: dict[str, Any], number: int) -> tuple[int, Any]:
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


def test_a_local_model_writes_no_token_when_time_is_over() -> None:
    """It looks before each one."""
    pytest.importorskip("torch")
    from ragsieve_research.models.decoding import Decoder
    from tests.research.models.test_decoding import tiny

    written: list[int] = []

    def slow(token: int) -> None:
        written.append(token)
        time.sleep(0.05)

    decoder = Decoder(tiny("float32", "eager"), eos=frozenset())
    moment = time.monotonic() + 0.3
    with pytest.raises(Overdue):
        decoder.generate([[1, 2]], max_tokens=1000, on_token=slow, moment=moment)

    assert len(written) <= 7


def test_a_batch_has_the_latest_deadline_of_its_calls() -> None:
    """Whichever thread runs it; a call that comes alone has its own."""
    moments: list[float] = []

    def reply(prompt: Prompt) -> str:
        check_time(deadline())
        moments.append(deadline())
        return "Cher"

    def ask(moment: float) -> list[str]:
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
