"""A server of this machine that keeps its callers waiting, one way or another."""

import asyncio
import json
import socket
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial

from ragsieve.errors import RagsieveError
from ragsieve.models.base import Message
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.run.concurrency import in_order, in_thread
from ragsieve.timeouts import start, until
from tests.serving import Sockets

PROMPT = (Message("user", "Who sang?"),)

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n"
_LEFT = _HEAD % b"application/json" + b"Content-Length: 999999999\r\n\r\n{"
_EVENT = b'data: {"choices": [{"delta": {"content": "a "}}]}\n\n'
_EVENTS = _HEAD % b"text/event-stream" + b"\r\n"
_WAIT = b"HTTP/1.1 %s\r\nRetry-After: %d\r\nContent-Length: 0\r\n\r\n"
_BUSY, _LIMITED = b"503 Service Unavailable", b"429 Too Many Requests"
_MOVED = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /again/%d\r\nContent-Length: 0\r\n\r\n"
_REFUSED = b"HTTP/1.1 500 Oops\r\nContent-Length: 99\r\n\r\n{"
_MORE = b" " * 65_536

MODES = {  # what comes first, what again and again, pauses
    "silent": (b"", b"", 0.1),
    "trickling head": (b"HTTP/1.1 200 OK\r\nX: ", b"y", 0.1),
    "trickling body": (_LEFT, b" ", 0.1),
    "trickling events": (_EVENTS, _EVENT, 0.1),
    "one event, then silent": (_EVENTS + _EVENT, b"", 0.1),
    "endless body": (_LEFT, _MORE, 0),
    "endless event": (_EVENTS + b"data: ", _MORE, 0),
    "endless redirects": (_MOVED % 1, b"", -1),
    "Retry-After: 119": (_WAIT % (_LIMITED, 119), b"", -1),
    "Retry-After of a year": (_WAIT % (_BUSY, 31_536_000), b"", -1),
    "closes at half": (_LEFT, b"", -1),
    "closes at half of an error": (_REFUSED, b"", -1),
}


def stalling(mode):
    """The address of a server of a mode."""
    return sending(*MODES[mode])


@contextmanager
def sending(first, again, pause):
    """The address of a server that treats every connection so; below a pause of 0 it closes."""
    over = threading.Event()

    def answer(_, connection):
        connection.sendall(first)
        while pause >= 0 and not over.is_set():
            connection.sendall(again)
            time.sleep(pause)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):  # closed before all is read, it would be a reset
            pass

    with Sockets(answer) as server:
        try:
            yield server.url
        finally:
            over.set()


def callers(url, **options):
    """What waits for a server, by name."""
    from ragsieve.models.openai import OpenAI
    from ragsieve.models.rerank import Rerank
    from ragsieve.types import Query
    from ragsieve_research.models.vllm import VLLM
    from ragsieve_research.retrieve.fetch import Http
    from ragsieve_research.retrieve.route import AskAll, Named, Routed

    llm, vllm = (kind("m", base_url=url, **options) for kind in (OpenAI, VLLM))
    seconds = options.get("total_s", 60)
    http = Http(url, allow_private=True, timeout_s=seconds)
    named = Named("api", "Facts.", lambda _: http.get_json("facts"), timeout_s=seconds)
    return {
        "complete": lambda: llm.complete([PROMPT] * 3),
        "complete, batched": lambda: DynamicBatcher(llm).complete([PROMPT]),
        "choose": lambda: llm.choose([PROMPT], [["yes", "no"]]),
        "stream": lambda: [*llm.stream(PROMPT)],
        "count": lambda: llm.count(["a text"]),
        "loglik": lambda: vllm.loglik([PROMPT], ["yes"]),
        "rerank": lambda: Rerank("m", base_url=url, **options).score([("a", "b")]),
        "fetch": lambda: http.get_json("facts"),
        "sources": lambda: Routed([named], AskAll())(Query("Who?")),
        "map": lambda: [*in_order(lambda _: llm.complete([PROMPT]), [1, 2], 2)],
        "acall": lambda: asyncio.run(in_thread(llm.complete, [PROMPT])),
    }


def waits(url, seconds, **options):
    """Seconds that each caller takes, all at once, and its error, under a deadline."""
    calls = callers(url, **options)  # imports take seconds
    began = time.monotonic()

    def wait(call):
        error = ""
        try:
            with until(began + seconds):
                call()
        except RagsieveError as raised:
            error = str(raised)
        return time.monotonic() - began, error

    found = {name: start(partial(wait, call)) for name, call in calls.items()}
    return {name: future.result() for name, future in found.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps([waits(sys.argv[1], float(sys.argv[2])), time.time()]))
