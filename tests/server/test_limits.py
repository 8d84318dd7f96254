"""What is over a limit is refused at once, and what hangs is given up."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ragsieve.errors import InputError, ModelError
from ragsieve.pipeline import System
from ragsieve.server import Limits, Settings, Upstream, create_app
from ragsieve.types import Query, Segment

MakeClient = Callable[..., TestClient]
Body = dict[str, Any]
TOKEN = "a-token-of-ours"


@pytest.fixture
def hanging(system: System) -> Iterator[tuple[System, threading.Event]]:
    """A system that hangs until the event, or the test's end."""
    event = threading.Event()

    def stage(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        event.wait(10)
        return list(segments)

    yield replace(system, stage=stage), event
    event.set()


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("limits", "code", "message"),
    [
        ({"max_body_mb": 0.0001}, "body_too_large", "max_body_mb must be at most 0.0001"),
        ({"max_documents": 2}, "too_many_documents", "max_documents must be at most 2, got 3"),
        ({"max_tokens": 9}, "too_many_tokens", "max_tokens must be at most 9, got 23"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/filter", "/v1/answer", "/v1/rerank"])
def test_too_much_is_refused(
    client: MakeClient, body: Body, limits: dict[str, Any], code: str, message: str, path: str
) -> None:
    """413 with the limit's name, the rule and the value."""
    reply = client(settings=Settings(limits=Limits(**limits))).post(path, json=body)

    assert (413, code) == (reply.status_code, reply.json()["error"]["code"])
    assert message in reply.json()["error"]["message"]


def test_a_body_without_a_length_is_counted(client: MakeClient) -> None:
    """Chunks are refused as soon as they are too many."""
    asked = client(settings=Settings(limits=Limits(max_body_mb=0.001)))
    chunks = (b"x" * 100 for _ in range(100))
    reply = asked.post("/v1/filter", content=chunks)

    assert 413 == reply.status_code


def test_what_hangs_is_given_up(
    client: MakeClient, hanging: tuple[System, threading.Event], body: Body
) -> None:
    """503 after the time, with Retry-After; the thread stays taken until the work ends."""
    system, event = hanging
    limits = Limits(timeout_s=0.1, workers=1, queue=0)
    asked = client({"hangs": system}, Settings(limits=limits))
    late = asked.post("/v1/filter", json=body)
    full = asked.post("/v1/filter", json=body)
    event.set()
    until(lambda: asked.post("/v1/filter", json=body).status_code == 200)

    assert (503, "timeout", "5") == (
        late.status_code,
        late.json()["error"]["code"],
        late.headers["retry-after"],
    )
    assert (503, "queue_full", "2") == (
        full.status_code,
        full.json()["error"]["code"],
        full.headers["retry-after"],
    )


def test_a_stream_that_hangs_ends(
    client: MakeClient, hanging: tuple[System, threading.Event], body: Body
) -> None:
    """Its last event is the error."""
    asked = client({"hangs": hanging[0]}, Settings(limits=Limits(timeout_s=0.1)))
    reply = asked.post("/v1/answer", json={**body, "stream": True})

    assert reply.text.startswith("event: error")
    assert '"code": "timeout"' in reply.text


@pytest.mark.server
def test_who_goes_away_waits_no_longer(
    serve: Callable[[Any], str], hanging: tuple[System, threading.Event], body: Body
) -> None:
    """A request whose client has left makes room in the queue, before anything is run for it."""
    limits = Limits(workers=1, queue=1)
    app = create_app({"hangs": hanging[0]}, settings=Settings(limits=limits))
    host = serve(app).removeprefix("http://")
    work = app.state.service.work
    sent = json.dumps(body).encode()
    clients = [http.client.HTTPConnection(host) for _ in range(2)]
    for number, client in enumerate(clients, 1):
        client.request("POST", "/v1/filter", sent, {"content-type": "application/json"})
        until(lambda number=number: work.inside == number)  # type: ignore[misc]
    clients[1].close()
    until(lambda: work.waiting == 0)
    hanging[1].set()
    counted = b'path="/v1/filter",status="499"} 1.0'

    assert 200 == clients[0].getresponse().status
    assert counted in app.state.service.metrics.text


def test_a_client_has_its_share(
    client: MakeClient, hanging: tuple[System, threading.Event], body: Body
) -> None:
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
def test_the_api_is_closed_without_a_token(client: MakeClient, body: Body, given: Any) -> None:
    """401 says how; health, readiness, the page and the API's document are open."""
    asked = client(settings=Settings(tokens=(TOKEN,)))
    headers = {"authorization": given.encode()} if given else {}
    replies = [asked.post("/v1/filter", json=body, headers=headers)]
    replies += [asked.get(path, headers=headers) for path in ("/metrics", "/v1/systems", "/v1/x")]

    assert [(401, "Bearer")] * 4 == [
        (r.status_code, r.headers["www-authenticate"]) for r in replies
    ]
    for path in ("/", "/health", "/ready", "/openapi.json"):
        assert 200 == asked.get(path, headers=headers).status_code


def test_a_token_opens_the_api(client: MakeClient, body: Body) -> None:
    """Any of those that are known."""
    asked = client(settings=Settings(tokens=("first-token", TOKEN)))
    reply = asked.post("/v1/filter", json=body, headers={"authorization": f"bearer {TOKEN}"})

    assert 200 == reply.status_code


def test_names_of_other_sites_are_refused(client: MakeClient) -> None:
    """A page whose name was made to resolve to this machine cannot read it."""
    asked = client(settings=Settings(hosts=("localhost", "127.0.0.1", "::1")))

    def status(host: str) -> int:
        return asked.get("/health", headers={"host": host}).status_code

    assert [200] * 4 == [*map(status, ("localhost", "localhost:80", "127.0.0.1:8", "[::1]:8"))]
    assert [400] * 3 == [*map(status, ("evil.example", "localhost.evil.example:80", ""))]


def test_requests_are_counted(client: MakeClient, body: Body) -> None:
    """By path and status, with documents, tokens and model calls; unknown paths are one."""
    asked = client()
    asked.post("/v1/filter", json=body)
    asked.post("/v1/filter", json={})
    asked.get("/no/such/path")
    lines = asked.get("/metrics").text.splitlines()

    assert {
        'ragsieve_requests_total{path="/v1/filter",status="200"} 1.0',
        'ragsieve_requests_total{path="/v1/filter",status="422"} 1.0',
        'ragsieve_requests_total{path="other",status="404"} 1.0',
        "ragsieve_documents_total 3.0",
        'ragsieve_context_tokens_total{when="before"} 27.0',
        'ragsieve_context_tokens_total{when="after"} 7.0',
        "ragsieve_model_calls_total 6.0",
        "ragsieve_errors_total 2.0",
        "ragsieve_running 0.0",
    } <= {*lines}


def test_a_server_is_ready_when_its_models_are(client: MakeClient, system: System) -> None:
    """A warm-up that fails says why."""

    def fails(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        raise ModelError("no weights")

    warm = client({"one": system}, Settings(warm=True))
    cold = client({"one": replace(system, stage=fails)}, Settings(warm=True))
    until(lambda: warm.get("/ready").status_code == 200)
    until(lambda: "no weights" in cold.get("/ready").text)

    assert 503 == cold.get("/ready").status_code
    assert 200 == cold.get("/health").status_code


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limits(workers=0), "workers must be at least 1, got 0"),
        (lambda: Limits(queue=-1), "queue must be at least 0, got -1"),
        (lambda: Limits(timeout_s=0), "timeout_s must be finite and over 0, got 0"),
        (lambda: Settings(tokens=("a b",)), "tokens must be a tuple, each printable ASCII"),
        (lambda: Upstream(base_url="ftp://x"), "upstream must be http"),
        (lambda: Upstream(base_url="http://x", api_key="a b"), "the upstream's key must be"),
        (lambda: create_app({}), "systems must name at least one system"),
    ],
)
def test_settings_are_checked(make: Callable[[], Any], message: str) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        make()


def test_secrets_are_not_shown() -> None:
    """Not in a representation, which a log may hold."""
    upstream = Upstream(base_url="http://x", api_key="key-of-ours")

    assert "of-ours" not in repr(Settings(tokens=(TOKEN,), upstream=upstream))
