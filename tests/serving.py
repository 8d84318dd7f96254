"""A server of this machine for the time of a block."""

import json
import random
import re
import socket
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Reads and writes JSON, and prints nothing."""

    def asked(self):
        """The request's body."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, status, body, kind="application/json", **headers):
        """Send bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            **named,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(data)

    def log_message(self, *_):
        """Print nothing."""


class Chat(Handler):
    """A server of models: a chat says how many words the last message has; the first ranks best."""

    def do_POST(self):
        """Reply."""
        asked = self.asked()
        if self.path.endswith("/rerank"):
            count = len(asked["documents"])
            scores = [{"index": i, "relevance_score": 1 - i / count} for i in range(count)]
            self.reply(200, {"results": scores})
            return
        if "messages" not in asked:
            self.reply(404, {"error": f"{self.path} is not here"})
            return
        said = f"{len(asked['messages'][-1]['content'].split())} words"
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        head = {"id": "0", "object": "chat.completion", "created": 0, "model": "m"}
        self.reply(200, {**head, "choices": [choice]})


class Server(ThreadingHTTPServer):
    """One on a free port, which many may ask at once, and which minds no client that hangs up."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request, client_address):
        """Print nothing."""


@contextmanager
def running(server):
    """The server, in a thread of its own for the time of the block."""
    with server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@contextmanager
def served(handler):
    """The address of a server with a handler."""
    with running(Server(handler)) as server:
        yield server.url


class Sockets:
    """Hands each request's bytes and connection to a script; ``asked`` keeps the requests."""

    def __init__(self, script):
        self.asked = []
        self.script = script
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with suppress(OSError):  # closed
            while True:
                connection, _ = self.listening.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, suppress(OSError):  # the client has hung up
            request = b""
            while not whole(request) and (piece := connection.recv(65536)):
                request += piece
            self.asked.append(request)
            self.script(request, connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with self.listening, suppress(OSError):
            self.listening.shutdown(socket.SHUT_RDWR)


def whole(request):
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    return bool(end) and len(body) >= int(length[1] if length else 0)


def free_port():
    """A port for a server that a test starts, which nobody takes before it. It is one below those
    that the system gives out by itself (32768 and up by default): one of those, once it is free
    again, may be another connection's before the server has begun."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
