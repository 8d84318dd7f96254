"""Bad bodies and raw bytes against `ragsieve serve` on a free port of this machine."""

import atexit
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from .campaign import Kind, lacking
from .commands import FAKES, environment
from .hostile import HOSTILE
from .laws import draw_documents, draw_question, draw_text, holds

PATHS = ["/v1/filter", "/v1/answer", "/v1/excerpts", "/v1/inspect", "/v1/rerank", "/v2/rerank"]
PATHS += ["/rerank", "/v1/responses", "/v1/chat/completions", "/v1/systems", "/health", "/metrics"]
PATHS += ["/", "/openapi.json", "/x"]
METHODS = ["POST"] * 6 + ["GET", "PUT", "HEAD", "OPTIONS", "DELETE", "\x00", "post", "X" * 99]
ODD = [None, True, -1, 0, 1e308, 2**70, "", " ", [], {}, [[]], [None], {"text": 3}, [{"text": "x"}]]
KEYS = ["query", "documents", "system", "max_tokens", "keep_answer", "trace", "stream", "model"]
KEYS += ["top_n", "systems", "ask", "messages", "x", "\ud800", "__class__"]
HEADS = ["Content-Length: -1", "Content-Length: 99999999", "Transfer-Encoding: chunked"]
HEADS += ["Host: a@b", "Host: 127.0.0.1:80/v1/files?", "X: " + "y" * 9000, "Authorization: \x00"]
HEADS += ["Content-Type: text/plain", "Content-Encoding: gzip", "Expect: 100-continue", "Bad"]


class Server(NamedTuple):
    """A server that runs, and what it has written to its log."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path


@cache
def server():
    """Ends with this process."""
    log = Path(tempfile.mkdtemp()) / "log"
    command = [sys.executable, "-m", "ragsieve", "serve", *FAKES, "--port", "0"]
    systems = ["--system", "top-sentences", "--system", "finefilter-point"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, *systems], stdout=out, stderr=subprocess.STDOUT, env=environment()
        )
    atexit.register(process.kill)
    while b"serves at" not in log.read_bytes():
        holds("the server starts", process.poll() is None, log.read_text())
        time.sleep(0.1)
    line = next(x for x in log.read_text().split() if x.startswith("http://127.0.0.1:"))
    return Server(process, int(line.rpartition(":")[2]), log)


def draw_body(rng):
    """A right body, of which some fields are others."""
    body = {"query": draw_question(rng), "documents": draw_documents(rng)}
    for _ in range(rng.randrange(4)):
        value = rng.choice([*ODD, draw_text(rng), draw_documents(rng), rng.choice(KEYS)])
        body[rng.choice(KEYS)] = value
    body |= {"system": "finefilter-point"} if rng.random() < 0.3 else {}
    return rng.choice(ODD) if rng.random() < 0.05 else body


def draw(rng):
    """A request of a method, a path, heads and a body, some of its bytes changed or missing."""
    body = json.dumps(draw_body(rng))
    if rng.random() < 0.2:
        odd = ["[" * 50_000, "NaN", "{" * 999, "", "\x00", '{"a":1,"a":', HOSTILE["quotes"]]
        body = rng.choice([*odd, body[: rng.randrange(len(body))]])
    return {
        "method": rng.choice(METHODS),
        "path": rng.choice(PATHS) + rng.choice(["", "", "?a=b", "/../..", "%00", "/" + "a" * 9000]),
        "heads": rng.sample(HEADS, rng.choice([0, 0, 0, 1, 2])),
        "body": body,
        "noise": [[rng.random(), rng.randrange(256)] for _ in range(rng.choice([0, 0, 0, 1, 9]))],
        "cut": rng.choice([1, 1, 1, 1, rng.random()]),
    }


def raw(value, port):
    """The bytes of a request."""
    body = value["body"].encode("utf-8", "surrogatepass")
    heads = [f"{value['method']} {value['path']} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    heads += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    heads += ["Connection: close", *value["heads"], "", ""]
    data = bytearray("\r\n".join(heads).encode("utf-8", "surrogatepass") + body)
    for place, byte in value["noise"]:
        data[int(place * len(data))] = byte
    return bytes(data[: int(value["cut"] * len(data))])


def answered(port, data):
    """All that the server says; what hangs is closed by us."""
    said = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while piece := connection.recv(65536):
            said += piece
    return said


def check(value, folder):
    """No 5xx that is a bug, no traceback, and the server lives on."""
    running = server()
    said = answered(running.port, raw(value, running.port))
    status = said[9:12]
    holds("no 500", status not in (b"500", b"502"), said)
    holds("no traceback is sent", b"Traceback" not in said, said)
    log = running.log.read_bytes()
    if b"Traceback" in log:
        running.log.write_bytes(b"")
        raise AssertionError(f"a traceback is in the log: {log[-400:]!r}")
    with urllib.request.urlopen(f"http://127.0.0.1:{running.port}/health", timeout=20) as reply:
        holds("the server lives on", reply.status == 200)
    return 1


REQUESTS = Kind(
    "requests", 3_000, 60, draw, check, partial(lacking, "fastapi", "uvicorn", "prometheus_client")
)
