"""A scripted HTTP server, which the tests of model servers share."""

import json
import threading
from contextlib import ExitStack

import pytest

from tests import serving


class Server(serving.Server):
    """Answers every POST by ``script(path, body, number of the request)``; keeps what it got. A GET
    has the value of ``told`` at its path, as ``/props``, or is not found. A list is sent as events
    where the request asks for a stream."""

    def __init__(self, script):
        super().__init__(Handler)
        self.script = script
        self.requests = []
        self.paths = []
        self.told = {}
        self.keys = []
        self.lock = threading.Lock()


class Handler(serving.Handler):
    server: Server

    def do_POST(self):
        body = self.asked()
        with self.server.lock:
            self.server.requests.append(body)
            self.server.paths.append(self.path)
            self.server.keys.append(self.headers["authorization"])
            number = len(self.server.requests)
        status, payload, *headers = self.server.script(self.path, body, number)
        if status == 0:  # hang up
            return
        kind = "text/plain" if isinstance(payload, str) else "application/json"
        if isinstance(payload, list) and "stream" in body:  # events, or what stands for one
            kind = "text/event-stream"
            payload = "".join(
                e if isinstance(e, str) else f"data: {json.dumps(e)}\n\n" for e in payload
            )
        data = payload.encode() if isinstance(payload, str) else payload
        self.reply(status, data, kind, connection="close", **(headers[0] if headers else {}))

    def do_GET(self):  # what a redirect of a POST may become
        with self.server.lock:
            self.server.paths.append(f"GET {self.path}")
        known = self.path in self.server.told
        self.reply(200 if known else 404, self.server.told.get(self.path))


@pytest.fixture
def serve():
    """Starts scripted servers and ends them after the test."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(serving.running(Server(script)))
