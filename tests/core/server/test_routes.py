"""Filter, answer and inspect over HTTP: the library's own results."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

import ragsieve
from ragsieve import models
from ragsieve.errors import ContextOverflow, ModelError, SourceError
from ragsieve.models.fake import HashingEmbedder, echo
from ragsieve.models.sharing import sharing
from ragsieve.server import Limits, Settings, create_app
from ragsieve.systems.finefilter import finefilter_one_pass

from .conftest import JSON, failing


def untimed(values):
    """JSON values without the seconds that steps took."""
    if isinstance(values, dict):
        return {k: untimed(v) for k, v in values.items() if k != "seconds"}
    return [untimed(v) for v in values] if isinstance(values, list) else values


def events(text):
    """Server-sent events with their data."""
    found = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data[6:])) for name, data in found]


def test_a_filter_is_the_librarys_own(client, system, body):
    """Result.to_dict with the system's name; an answer with what it rests on, within the budget."""
    reply = client().post("/v1/filter", json=body)
    own = system(body["query"], body["documents"]).to_dict(documents=False)

    assert 200 == reply.status_code
    assert {"system": "nearest", **untimed(own)} == untimed(reply.json())
    assert ["Seals sang Summer Breeze."] == [one["text"] for one in reply.json()["kept"]]

    reply = client().post("/v1/answer", json={**body, "trace": False}).json()

    assert "Seals sang Summer Breeze." in reply["answer"]
    known = {"schema_version", "system", "query", "kept", "text", "tokens", "answer"}
    assert known == reply.keys()

    reply = client().post("/v1/filter", json={**body, "max_tokens": 2}).json()

    assert ([], 0) == (reply["kept"], reply["tokens"]["after"])


def test_kept_spans_do_not_wait_for_the_answer(serve, system, body):
    """They are sent while the generator still thinks."""
    told = threading.Event()
    waited = []

    class Slow:
        context, count = system.reader.context, system.reader.count

        def __call__(self, query, segments, /):
            waited.append(told.wait(2))
            return system.reader(query, segments)

    url = serve(create_app({"slow": replace(system, reader=Slow())}))
    with httpx.stream("POST", f"{url}/v1/answer", json={**body, "stream": True}) as reply:
        lines = reply.iter_lines()
        first = next(lines)
        told.set()
        last = [x for x in lines if x[:6] == "event:"][-1]

        assert ("event: kept", "event: done") == (first, last)
    assert [True] == waited


def test_many_clients_get_what_one_would(client):
    """32 threads of requests, their models batched: each result is the library's own."""
    bodies = [
        {"query": f"Who sang song {n}?", "documents": [f"Anna{n} sang song {n}. It rained."] * 3}
        for n in range(32)
    ]
    with sharing(8) as share:
        embedder = share(HashingEmbedder())
        many = ragsieve.load("top-sentences", share(echo()), embedder, options={"k": 2})
        asked = client({"many": many}, Settings(limits=Limits(workers=8)))
        with ThreadPoolExecutor(32) as pool:
            replies = list(pool.map(lambda b: asked.post("/v1/answer", json=b).json(), bodies))
    alone = ragsieve.load("top-sentences", echo(), HashingEmbedder(), options={"k": 2})
    for one, reply in zip(bodies, replies, strict=True):
        own = alone.ask(one["query"], one["documents"]).to_dict(documents=False)

        assert near({"system": "many", **untimed(own)}) == near(untimed(reply))


def test_views_and_systems_are_listed(client, system, body):
    """In the order asked for, the default first."""
    asked = client({"nearest": system, "other": system.with_budget(0)})
    reply = asked.post("/v1/inspect", json={**body, "systems": ["other", "nearest"]}).json()

    assert [("other", 0), ("nearest", 1)] == [(v["name"], len(v["kept"])) for v in reply["views"]]
    assert 422 == asked.post("/v1/inspect", json={**body, "systems": []}).status_code

    listed = client({"mine": system, "all": system}).get("/v1/systems").json()["systems"]

    assert ["mine", "all"] == [one["name"] for one in listed]
    assert ["", "Keep every document whole"] == [one["summary"] for one in listed]


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (ModelError("it broke"), 502, "model_failed"),
        (SourceError("it broke"), 502, "model_failed"),
        (ContextOverflow(needed=9, limit=8, model="m"), 413, "context_overflow"),
        (ZeroDivisionError("it broke"), 500, "internal"),
    ],
)
def test_failures_have_one_shape(client, system, body, raised, status, code):
    """A status, a code and a line, as JSON and as the event of a stream; no text of our fault."""
    asked = client({"fails": failing(system, raised)})
    reply = asked.post("/v1/answer", json=body)
    ((event, values),) = events(asked.post("/v1/answer", json={**body, "stream": True}).text)

    assert (status, code) == (reply.status_code, reply.json()["error"]["code"])
    assert ("error", reply.json()) == (event, values)
    assert {"message", "type", "code"} == reply.json()["error"].keys()
    assert (code == "model_failed") == ("it broke" in reply.text)


@pytest.mark.parametrize(
    ("sent", "status", "message"),
    [
        (b"{", 400, "the body must be JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b"[" * 300_000, 413, "max_values must be at most 250000, got 300001"),
        (b"1" * 5000, 400, "the body must be JSON"),
        (b'{"query": "q", "documents": [{"text": "a", "metadata": {"x": NaN}}]}', 400, "NaN"),
        (b'{"query": "q", "documents": [{"text": "a", "metadata": {"x": 1e999}}]}', 400, "1e999"),
        (b'{"query": " ", "documents": []}', 422, "body.query must not be blank, got ' '"),
        (b'{"query": "q", "documents": [{"id": "x"}]}', 422, "body.documents.0.text is missing"),
        (b'{"query": "q", "documents": [], "max_tokens": -1}', 422, "or equal to 0, got -1"),
        (b'{"query": "q"}', 422, "documents must be a list"),
        (b'{"query": "q", "documents": [], "max_token": 3}', 422, "body.max_token is not known"),
        (b'{"query": "q", "documents": [], "max_tokens": "3"}', 422, "be a whole number, got '3'"),
        (b'{"query": "q", "documents": [], "system": "no"}', 422, "one of nearest, got 'no'"),
    ],
)
def test_what_breaks_a_rule_is_refused(client, sent, status, message):
    """By a status of 4xx and a line that says which rule, of one field."""
    reply = client().post("/v1/filter", content=sent, headers=JSON)

    assert status == reply.status_code
    assert message in reply.json()["error"]["message"]
    assert "; body" not in reply.json()["error"]["message"]


def test_pages_of_other_sites_can_do_nothing(client, body):
    """Plain text is not read as JSON; no site may frame the page."""
    text = {"content-type": "text/plain"}
    reply = client().post("/v1/filter", content=json.dumps(body), headers=text)
    asked = client().options("/v1/filter", headers={"Origin": "http://evil.example"})
    packed = client().post("/v1/filter", json=body, headers={"content-encoding": "gzip"})

    assert (415, "Content-Encoding must be identity, got 'gzip'") == (
        packed.status_code,
        packed.json()["error"]["message"],
    )
    assert 415 == reply.status_code
    assert "Content-Type must be application/json, got 'text/plain'" in reply.text
    assert "access-control-allow-origin" not in asked.headers

    reply = client().get("/")
    policy = reply.headers["content-security-policy"]

    assert (200, True) == (reply.status_code, "<form" in reply.text or "drawLive" in reply.text)
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy


def test_hostile_documents_change_nothing_around_them(client):
    """They come back as they were sent, a lone surrogate, which strict readers mind, as U+FFFD."""
    texts = ["", "a\x00\x1b[31m sang \ud800. ", "</script><b>&amp; sang</b>"]
    texts += ["data: x\n\nevent: done"]
    documents = [{"id": "same", "text": text} for text in texts]
    everything = ragsieve.load("all", "fake:echo")
    asked = client({"all": everything})
    body = {"query": "Who sang?", "documents": documents, "stream": True}
    sent = json.dumps(body)  # the client's own encoder minds lone surrogates
    reply = asked.post("/v1/answer", content=sent, headers=JSON)
    told = events(reply.text)

    assert "text/event-stream; charset=utf-8" == reply.headers["content-type"]
    assert ["kept", "delta", "done"] == [name for name, _ in told]
    assert told[1][1]["text"] == told[2][1]["answer"] != ""
    shown = [text.replace("\ud800", "\ufffd") for text in texts if text]
    assert shown == [one["text"] for one in told[0][1]["kept"]]
    assert len(shown) == len({one["document"] for one in told[0][1]["kept"]})


def near(values):
    """The same with numbers of four digits."""
    return json.loads(json.dumps(values), parse_float=lambda text: round(float(text), 4))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({}, ["Seals sang Summer Breeze."]),
        ({"keep_answer": 0.8}, ["Nobody sang.", "Seals sang Summer Breeze."]),
        ({"min_score": 0.2}, ["Nobody sang.", "Seals sang Summer Breeze."]),
        ({"keep_answer": 0.8, "max_chars": 32}, ["Seals sang Summer Breeze."]),
        ({"keep_answer": 0.8, "max_chars_per_document": 13}, ["Nobody sang."]),
        ({"keep_answer": 0.8, "max_tokens_per_document": 3}, ["Nobody sang."]),
        ({"max_tokens": 0}, []),
    ],
)
def test_a_request_says_where_to_cut(client, body, numbers, expected):
    """The fake keeps more where more is promised; filter and answer alike."""
    asked = client({"finefilter": cutting(keep_answer=0.5)})
    for path in ("/v1/filter", "/v1/answer"):
        reply = asked.post(path, json={**body, **numbers}).json()

        assert expected == [span["text"] for span in reply["kept"]]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [["song", "", "Song", ["Seals sang Summer Breeze."]]]),
        ({"max_chars": 24}, []),
        (
            {"min_score": 0.2, "max_chars_per_document": 25},
            [["song", "", "Song", ["Seals sang Summer Breeze."]], ["0", "", "", ["Nobody sang."]]],
        ),
        (
            {"documents": [], "pages": [{"html": "<p>Seals sang Summer Breeze.</p><p>Rain.</p>",
                                         "url": "https://a.example", "title": "Hit"}]},
            [["0", "https://a.example", "Hit", ["Seals sang Summer Breeze."]]],
        ),
    ],
)  # fmt: skip
def test_excerpts_of_documents_and_pages(client, body, more, expected):
    """Best first, with scores and places; within the budgets, which no title counts to."""
    if "pages" in more:
        pytest.importorskip("html_to_markdown")
    asked = client({"finefilter": cutting(keep_answer=0.5)})
    reply = asked.post("/v1/excerpts", json={**body, **more})
    results = reply.json()["results"]

    assert 200 == reply.status_code
    assert expected == [[one[key] for key in ("id", "url", "title", "excerpts")] for one in results]
    assert all(len(one["scores"]) == len(one["places"]) == 1 for one in results)
    assert 0.75 == reply.json()["answerable"]


def cutting(**options):
    """The default filter, of fakes."""
    llm, pruner = models.load("fake:echo"), models.load("fake:pruner")
    return finefilter_one_pass(llm, pruner, **options)


@pytest.mark.parametrize("name", ["keep_answer", "min_answerable"])
def test_what_a_system_cannot_cut_at_is_said(client, body, name):
    """In a line that names the number; a threshold stands in place of how many stay."""
    reply = client().post("/v1/filter", json={**body, name: 0.9})
    by_score = client().post("/v1/filter", json={**body, "min_score": 0.9})

    assert (422, 200, []) == (reply.status_code, by_score.status_code, by_score.json()["kept"])
    assert f"no stage of this system cuts at {name}, got 0.9" == reply.json()["error"]["message"]
