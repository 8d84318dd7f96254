"""What is over a limit is refused at once, and what hangs is given up."""

import asyncio
import http.client
import json
import socket
import threading
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import httpx
import pytest

from ragsieve import InputError, ModelError
from ragsieve.server import Limits, Settings, Upstream, create_app, running
from ragsieve.timeouts import check_time, check_wanted, deadline

from .conftest import JSON, failing

TOKEN = "a-token-of-ours"


@pytest.fixture
def hanging(system):
    """A system that hangs until the event, or the test's end."""
    event = threading.Event()

    def stage(query, segments):
        event.wait(10)
        return list(segments)

    yield replace(system, stage=stage), event
    event.set()


def until(condition):
    ends = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_large_body_does_not_hold_up_others(system):
    """While millions of empty lists are parsed, other requests are answered."""
    app = create_app({"nearest": system})

    async def answered_meanwhile():
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client,
        ):
            large = b'{"query": "q", "documents": [' + b"[]," * 4_000_000 + b"[]]}"
            slow = asyncio.create_task(client.post("/v1/filter", content=large, headers=JSON))
            answered = 0
            while not slow.done():
                answered += (await client.get("/health")).is_success
            return answered, slow.result().status_code

    answered, status = asyncio.run(answered_meanwhile())

    assert 413 == status
    assert answered > 2


@pytest.mark.parametrize(
    ("limits", "code", "message"),
    [
        ({"max_body_mb": 0.0001}, "body_too_large", "max_body_mb must be at most 0.0001"),
        ({"max_documents": 2}, "too_many_documents", "max_documents must be at most 2, got 3"),
        ({"max_tokens": 9}, "too_many_tokens", "max_tokens must be at most 9, got 32"),
        ({"max_values": 9}, "too_many_values", "max_values must be at most 9, got 20"),
    ],
)
def test_too_much_is_refused(client, body, limits, code, message):
    """413 with the limit's name, the rule and the value."""
    asked = client(settings=Settings(limits=Limits(**limits)))
    for path in ("/v1/filter", "/v1/answer", "/v1/rerank"):
        reply = asked.post(path, json=body)

        assert (413, code) == (reply.status_code, reply.json()["error"]["code"])
        assert message in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"query": "q " * 200},
        {"documents": [{"text": "a", "title": "t " * 200}]},
        {"documents": [{"text": "a", "id": "i " * 200}]},
        {"documents": [{"text": "a", "metadata": {"x": [{"y": "z " * 200}]}}]},
        {"documents": [{"text": "a", "m " * 200: 1}]},
        {"documents": ["a" * 70_000], "query": "more bytes than are counted"},
    ],
)
def test_every_field_counts(client, fields):
    """Not the documents' texts alone."""
    asked = client(settings=Settings(limits=Limits(max_tokens=100)))
    reply = asked.post("/v1/filter", json={"query": "q", "documents": ["a"], **fields})

    assert (413, "too_many_tokens") == (reply.status_code, reply.json()["error"]["code"])


@pytest.mark.parametrize("check", [lambda: check_time(deadline()), check_wanted])
def test_work_that_was_given_up_ends(client, system, body, check):
    """At its model's next window, or its own next look: its thread is free."""

    def stage(query, segments):
        while True:
            time.sleep(0.01)
            check()

    limits = Limits(timeout_s=0.1, workers=1, queue=0)
    asked = client({"slow": replace(system, stage=stage)}, Settings(limits=limits))
    codes = [asked.post("/v1/filter", json=body).json()["error"]["code"]]
    until(lambda: asked.app.state.service.work.inside == 0)
    stream = asked.post("/v1/answer", json={**body, "stream": True}).text

    assert ["timeout"] == codes
    assert '"code": "timeout"' in stream
    until(lambda: asked.app.state.service.work.inside == 0)


@pytest.mark.slow
def test_large_bodies_leave_threads_and_memory_to_small_ones(client, hanging, system, body):
    """Over a megabyte they have threads of their own; all bodies inside have a size in all."""
    limits = Limits(workers=1, max_body_mb=1.5, max_tokens=10**7)
    asked = client({"hangs": hanging[0], "nearest": system}, Settings(limits=limits))
    large = {"query": "q", "documents": ["word " * 250_000]}
    with ThreadPoolExecutor(10) as pool:
        sent = [pool.submit(asked.post, "/v1/filter", json=large) for _ in range(10)]
        until(lambda: any(one.done() for one in sent))
        small = asked.post("/v1/filter", json={**body, "system": "nearest"})
        hanging[1].set()
        codes = Counter(one.result().json().get("error", {}).get("code") for one in sent)

    assert 200 == small.status_code
    assert codes["bodies_full"]
    assert {None, "bodies_full"} == {*codes}


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (
            b'{"query": "q", "documents": [{"text": [%s"a"]}]}',
            413,
            "max_values must be at most 250000, got",
        ),
        (b'["%s', 400, "the body must be JSON: Unterminated string starting at"),
        (b'["%s", NaN]', 400, "the body must be JSON: NaN is no number in JSON"),
        (b'[1e999, "%s"]', 400, "the body must be JSON: 1e999 is no number in JSON"),
        (b'["\\x%s"]', 400, "the body must be JSON: Invalid"),
        (b'["\xff%s"]', 400, "the body must be JSON: 'utf-8' codec"),
        (b'["%s"' + b"[" * 9000, 400, "the body"),
        (b"%s" + b"[" * 9, 400, "the body must be JSON: Expecting value"),
        (b"[" * 3000 + b" " * 300_000, 400, "the body is nested too deeply"),
    ],
)
def test_a_large_body_is_parsed_as_a_small_one(client, content, code, message):
    """In a thread: errors are the same."""
    filled = content.replace(b"%s", b'"a",' * 260_000 if code == 413 else b"a" * 300_000)
    reply = client().post("/v1/filter", content=filled, headers=JSON)

    assert code == reply.status_code
    assert reply.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize("size", [1, 300_000])
def test_a_body_may_begin_with_a_byte_order_mark(client, size):
    content = b'\xef\xbb\xbf{"query": "q", "documents": ["%s"]}' % (b"a" * size)

    assert 200 == client().post("/v1/filter", content=content, headers=JSON).status_code


def test_a_body_without_a_length_is_counted(client):
    """Chunks are refused as soon as they are too many."""
    asked = client(settings=Settings(limits=Limits(max_body_mb=0.001)))
    chunks = (b"x" * 100 for _ in range(100))
    reply = asked.post("/v1/filter", content=chunks)

    assert 413 == reply.status_code


def test_what_hangs_is_given_up(client, hanging, body):
    """503 after the time, with Retry-After, or a last event; the threads stay taken meanwhile."""
    system, event = hanging
    limits = Limits(timeout_s=0.1, workers=2, queue=0)
    asked = client({"hangs": system}, Settings(limits=limits))
    stream = asked.post("/v1/answer", json={**body, "stream": True}).text
    late = asked.post("/v1/filter", json=body)
    full = asked.post("/v1/filter", json=body)
    event.set()
    until(lambda: asked.post("/v1/filter", json=body).status_code == 200)

    assert stream.startswith("event: error") and '"code": "timeout"' in stream
    for reply, code, after in ((late, "timeout", "5"), (full, "queue_full", "2")):
        assert (503, code) == (reply.status_code, reply.json()["error"]["code"])
        assert after == reply.headers["retry-after"]


def test_who_goes_away_waits_no_longer(serve, hanging, body):
    """A request whose client has left frees its place in the queue, before anything runs for it."""
    limits = Limits(workers=1, queue=1)
    app = create_app({"hangs": hanging[0]}, settings=Settings(limits=limits))
    host = serve(app).removeprefix("http://")
    work = app.state.service.work
    sent = json.dumps(body).encode()
    clients = [http.client.HTTPConnection(host) for _ in range(2)]
    for number, client in enumerate(clients, 1):
        client.request("POST", "/v1/filter", sent, JSON)
        until(lambda number=number: work.inside == number)
    clients[1].close()
    until(lambda: work.waiting == 0)
    hanging[1].set()
    counted = b'path="/v1/filter",status="499"} 1.0'

    assert 200 == clients[0].getresponse().status
    assert counted in app.state.service.metrics.text


def test_a_client_has_its_share(client, hanging, body):
    """One token's requests over the share are refused, another's are not."""
    system, event = hanging
    settings = Settings(limits=Limits(per_client=1), tokens=(TOKEN, "another-token"))
    asked = client({"hangs": system}, settings)
    mine, others = ({"authorization": f"Bearer {t}"} for t in settings.tokens)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(asked.post, "/v1/filter", json=body, headers=mine)
        until(lambda: "ragsieve_running 1.0" in asked.get("/metrics", headers=others).text)
        second = asked.get("/v1/systems", headers=mine)
        other = asked.get("/v1/systems", headers=others)
        event.set()

        assert 200 == first.result().status_code
    assert (429, "1", 200) == (second.status_code, second.headers["retry-after"], other.status_code)
    assert 200 == asked.get("/v1/systems", headers=mine).status_code


@pytest.mark.parametrize("given", [None, "Bearer wrong", f"Basic {TOKEN}", "Bearer", "Bearer é"])
def test_the_api_is_closed_without_a_token(client, body, given):
    """401 says how; health, readiness, the page and the API's document are open."""
    asked = client(settings=Settings(tokens=("another-token", TOKEN)))
    headers = {"authorization": given.encode()} if given else {}
    replies = [asked.post("/v1/filter", json=body, headers=headers)]
    replies += [asked.get(path, headers=headers) for path in ("/metrics", "/v1/systems", "/v1/x")]

    assert [(401, "Bearer")] * 4 == [
        (r.status_code, r.headers["www-authenticate"]) for r in replies
    ]
    for path in ("/", "/health", "/ready", "/openapi.json"):
        assert 200 == asked.get(path, headers=headers).status_code
    for token in (TOKEN, "another-token"):
        known = {"authorization": f"bearer {token}"}
        assert 200 == asked.post("/v1/filter", json=body, headers=known).status_code


def test_names_of_other_sites_are_refused(client):
    """A page whose name was made to resolve to this machine cannot read it."""
    asked = client(settings=Settings(hosts=("localhost", "127.0.0.1", "::1")))

    def status(host):
        return asked.get("/health", headers={"host": host}).status_code

    assert [200] * 4 == [*map(status, ("localhost", "localhost:80", "127.0.0.1:8", "[::1]:8"))]
    assert [400] * 3 == [*map(status, ("evil.example", "localhost.evil.example:80", ""))]


@pytest.mark.parametrize("host", ["a:80/v1/files?", "a/b", "a:8x", "u@a", "[::1", "a:1:2", "a b"])
def test_a_host_is_a_name_and_a_port(client, host):
    """Also where any name will do."""
    reply = client().get("/health", headers={"host": host})

    assert (400, "bad_host") == (reply.status_code, reply.json()["error"]["code"])


@pytest.mark.parametrize("path", ["/v1/filter", "/v1/answer", "/v1/inspect", "/v1/rerank"])
def test_a_body_of_numbers_is_refused_at_once(client, path):
    """Over the limit of documents it is counted; under it, the first number is enough."""
    many = b'{"query": "q", "systems": ["nearest"], "documents": [%s1]}' % (b"1," * 100_000)
    limits = Limits(max_documents=2**31, max_values=2**31)
    usual, generous = client(), client(settings=Settings(limits=limits))
    began = time.process_time()
    counted = usual.post(path, content=many, headers=JSON)
    validated = generous.post(path, content=many, headers=JSON)

    assert (413, 422) == (counted.status_code, validated.status_code)
    assert len(validated.text) < 1000
    assert time.process_time() - began < 1


def connected(host):
    """A connection of its own to a server."""
    name, port = host.removeprefix("http://").split(":")
    return socket.create_connection((name, int(port)), timeout=10)


def answer_of(host, head):
    """What a server answers to bytes on a connection of their own; empty where it closes it."""
    with suppress(OSError), connected(host) as connection:
        connection.sendall(head)
        return connection.recv(100)
    return b""


@pytest.mark.slow
def test_a_head_has_a_size(serve, system):
    """What goes on past it is refused before it is held."""
    host = serve(create_app({"nearest": system}))
    answer = answer_of(host, b"GET /health HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 10**7)

    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert 200 == urllib.request.urlopen(f"{host}/health").status


@pytest.mark.slow
def test_half_a_head_is_not_waited_for(serve, system, monkeypatch):
    """Its connection is closed, also one that has served a request; whole ones go on."""
    monkeypatch.setattr(running, "HEAD_S", 0.3)
    host = serve(create_app({"nearest": system}))
    whole = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    with connected(host) as connection:
        connection.sendall(whole)
        first = connection.recv(10_000)
        while b'{"status"' not in first:  # head and body may come apart
            first += connection.recv(10_000)
        connection.sendall(whole[:30])
        last = connection.recv(10_000)

    assert b"" == answer_of(host, b"") == answer_of(host, whole[:20]) == last
    assert first.startswith(b"HTTP/1.1 200 ")


@pytest.mark.slow
def test_clients_that_come_and_go_leave_nothing(serve, system, body, monkeypatch):
    """Over the most connections one is closed; halves of heads and of requests free theirs."""
    monkeypatch.setattr(running, "CONNECTIONS", 8)
    monkeypatch.setattr(running, "HEAD_S", 0.5)
    app = create_app({"nearest": system})
    host = serve(app)
    sent = json.dumps(body).encode()
    heads = f"Host: a\r\nContent-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
    whole = b"POST /v1/filter HTTP/1.1\r\n" + heads.encode() + sent
    held = [connected(host) for _ in range(30)]
    for number, connection in enumerate(held):
        with suppress(OSError):
            connection.sendall(whole[: len(whole) * (number % 4) // 3])
        if number % 2:
            connection.close()
    until(lambda: answer_of(host, whole).startswith(b"HTTP/1.1 200 "))

    assert 0 == app.state.service.work.inside
    for connection in held:
        connection.close()


def test_a_body_that_goes_on_after_the_reply_is_not_read(serve, system, monkeypatch):
    """A chunk of any announced size, byte by byte: its connection is closed."""
    monkeypatch.setattr(running, "HEAD_S", 0.3)
    settings = Settings(limits=Limits(timeout_s=0.2))
    host = serve(create_app({"nearest": system}, settings=settings))
    heads = "Host: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked"
    with connected(host) as connection:
        connection.sendall(f"POST /v1/filter HTTP/1.1\r\n{heads}\r\n\r\nFFFFFFFFFFFF\r\n".encode())
        with suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"x")
                time.sleep(0.05)
            pytest.fail("it is read for 5 s")


def test_requests_are_counted(client, system, body):
    """By path and status, with documents, tokens and model calls; unknown paths are one."""
    asked = client({"nearest": system})
    asked.post("/v1/filter", json=body)
    reranks = ("/v2/rerank", "/infinity/rerank", "/rerank")
    for path in ("/v1/filter", *reranks):
        asked.post(path, json={})
    asked.get("/no/such/path")
    lines = asked.get("/metrics").text.splitlines()

    assert {
        'ragsieve_requests_total{path="/v1/filter",status="200"} 1.0',
        'ragsieve_requests_total{path="/v1/filter",status="422"} 1.0',
        *(f'ragsieve_requests_total{{path="{path}",status="422"}} 1.0' for path in reranks),
        'ragsieve_requests_total{path="other",status="404"} 1.0',
        "ragsieve_documents_total 3.0",
        'ragsieve_context_tokens_total{when="before"} 27.0',
        'ragsieve_context_tokens_total{when="after"} 7.0',
        "ragsieve_model_calls_total 6.0",
        "ragsieve_errors_total 5.0",
        "ragsieve_running 0.0",
    } <= {*lines}


def test_a_server_is_ready_when_its_models_are(client, system):
    """A warm-up that fails says why."""
    fails = failing(system, ModelError("no weights"))
    warm = client({"one": system}, Settings(warm=True))
    cold = client({"one": fails}, Settings(warm=True))
    until(lambda: warm.get("/ready").status_code == 200)
    until(lambda: "no weights" in cold.get("/ready").text)

    for ask in (cold.get, cold.head):
        assert [503, 200] == [ask(path).status_code for path in ("/ready", "/health")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Settings(tokens=("a b",)), "tokens must be printable ASCII without spaces"),
        (lambda: Upstream(base_url="ftp://x"), "upstream must be http"),
        (lambda: Upstream(base_url="http://x", api_key="a b"), "the upstream's key must be"),
        (lambda: create_app({}), "systems must name at least one system"),
    ],
)
def test_settings_are_checked(make, message):
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        make()
