"""Applications on fakes, and servers on 127.0.0.1 that end with the test."""

import json
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

import uvicorn
from fastapi.testclient import TestClient

import ragsieve
from ragsieve.server import Settings, Upstream, create_app
from ragsieve.server.running import config
from tests import serving

KEY = "the-upstreams-key"
JSON = {"content-type": "application/json"}
REPLY = (
    b'{"id": "c", "object": "chat.completion", "created": 1,  "model": "m", "choices": [{"index": '
    b'0, "message": {"role": "assistant", "content": "Seals"}, "finish_reason": "stop"}]}'
)


@pytest.fixture(scope="session")
def system():
    """The sentence nearest to the question by the words they share; an echo answers."""
    return ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})


@pytest.fixture
def body():
    """A question of three documents."""
    song = {"id": "song", "title": "Song", "text": "Seals sang Summer Breeze. It was a hit."}
    rome = {"id": "rome", "title": "Rome", "text": "Rome is a city."}
    documents = ["It rained in Rome. Nobody sang.", song, rome]
    return {"query": "Who sang Summer Breeze?", "documents": documents}


def failing(system, error):
    """The same with a stage that fails."""

    def stage(query, segments):
        raise error

    return replace(system, stage=stage)


def client_of(systems, settings):
    """A client of an application, which gets what the application raises as a reply."""
    return TestClient(create_app(systems, settings=settings), raise_server_exceptions=False)


@pytest.fixture(scope="module")
def shared(system):
    """Clients of applications of the one system, which a file's tests share by their settings."""
    opened = []
    with ExitStack() as stack:

        def of(settings):
            for known, made in opened:
                if known == settings:
                    return made
            made = stack.enter_context(client_of({"nearest": system}, settings))
            opened.append((settings, made))
            return made

        yield of


@pytest.fixture
def client(shared):
    """Makes clients of applications, without a network; those of no systems are shared."""
    with ExitStack() as stack:

        def make(systems=None, settings=None):
            if systems is None:
                return shared(settings or Settings())
            return stack.enter_context(client_of(systems, settings))

        yield make


@pytest.fixture
def serve():
    """Serves ASGI applications on free ports of 127.0.0.1: their addresses."""
    running = []

    def start(app):
        listening = socket.create_server(("127.0.0.1", 0))
        settings = config(app, app.state.service.settings)
        settings.log_level, settings.timeout_graceful_shutdown = "critical", 1
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for server, _ in running:
        server.should_exit = True
    for _, thread in running:
        thread.join(5)


def event(kind, **values):
    """An event of Anthropic's API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **values})}\n\n".encode()


def chunk(text):
    """An event of a chat."""
    delta = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    values = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**values, "choices": [delta]}).encode() + b"\n\n"


_SAYS = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
_USED = {"usage": {"input_tokens": 1, "output_tokens": 1}}
MESSAGE = json.dumps({**_SAYS, "content": [{"type": "text", "text": "Seals"}], **_USED}).encode()
EVENTS = [
    event("message_start", message={**_SAYS, "content": [], **_USED}),
    event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Seals"}),
    event("content_block_stop", index=0),
    event("message_delta", delta={"stop_reason": "end_turn"}, **_USED),
    event("message_stop"),
]
_CHUNKS = [chunk("Se"), chunk("als"), b"data: [DONE]\n\n"]
RESPONDS = [event("response.created"), event("response.completed", response="Seals " * 999)]
_REPLIES = {
    "/v1/responses": (REPLY, RESPONDS),
    "/v1/messages": (MESSAGE, EVENTS),
    "/v1/messages/count_tokens": (b'{"input_tokens": 7}', []),
}


@dataclass
class Asked:
    """What an upstream was sent, and how it is to answer."""

    url: str = ""
    status: int = 200
    region: str = ""
    breaks: str = ""
    bodies: list[bytes] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self):
        return json.loads(self.bodies[-1])["messages"]


@pytest.fixture(scope="module")
def chats():
    """A server of chats that keeps what it is sent."""
    asked = Asked()

    class Handler(serving.Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            asked.bodies.append(body)
            asked.paths.append(self.path)
            asked.headers.append({k.lower(): v for k, v in self.headers.items()})
            asked.hold.wait(5)
            whole, events = _REPLIES.get(self.path.partition("?")[0], (REPLY, _CHUNKS))
            streams = b'"stream": true' in body or b'"stream":true' in body
            self.send_response(asked.status)
            self.send_header("content-type", "text/event-stream" if streams else "application/json")
            self.send_header("x-request-id", "r1")
            if asked.region:
                self.send_header("x-region", asked.region.encode().decode("latin-1"))
            self.send_header("set-cookie", "a=b")
            if streams:
                self.send_header("transfer-encoding", "chunked")
            else:
                self.send_header("content-length", str(len(whole)))
            self.end_headers()
            for part in (*events, b"") if streams else ():
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                if asked.breaks:  # as when it is killed, or ends what it said so far
                    self.wfile.write(b"0\r\n\r\n" if asked.breaks == "ends" else b"")
                    self.close_connection = True
                    return
            if not streams:
                self.wfile.write(whole[: -9 if asked.breaks else None])
                self.close_connection = bool(asked.breaks)

        def do_GET(self):
            self.reply(200, b'{"object": "list", "data": []}')

    with serving.served(Handler) as url:
        asked.url = f"{url}/v1"
        yield asked


@pytest.fixture
def upstream(chats):
    """The same, which has been asked nothing and answers well."""
    vars(chats).update(vars(Asked(chats.url)))
    chats.hold.set()
    yield chats
    chats.hold.set()


def settings(upstream, **more):
    """Of a server before an upstream."""
    return Settings(upstream=Upstream(base_url=upstream.url, api_key=KEY, timeout_s=1), **more)
