"""Ranking whole documents, asked by Cohere's own client and as Jina's is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

import ragsieve
from ragsieve.pipeline import System
from ragsieve.server import Settings, create_app
from ragsieve.server.ranking import ranked
from ragsieve.trace import record_drop
from ragsieve.types import Document, Query, Segment

MakeClient = Callable[..., TestClient]
TOKEN = "a-token-of-ours"


def keeping(system: System, scores: Sequence[float | None], kept: set[int]) -> System:
    """A system whose documents have these scores, some of them kept."""

    def stage(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        found = []
        for place, segment in enumerate(segments):
            record_drop(segment, "a test's")
            value = scores[place]
            if place in kept:
                found.append(segment if value is None else segment.scored("s", value))
        return found

    def score(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        pairs = zip(segments, scores, strict=True)
        return [s if value is None else s.scored("s", value) for s, value in pairs]

    return replace(system, stage=ragsieve.Pipeline(score, stage))


@pytest.mark.parametrize(
    ("scores", "kept", "expected"),
    [
        ([0.2, 0.9, 0.5], {0, 1, 2}, [(1, 0.9), (2, 0.5), (0, 0.2)]),
        ([0.2, 0.1, 0.5], {0}, [(0, 0.2), (2, 0.2), (1, 0.1)]),  # none over the one before it
        ([None, None, None], {1}, [(1, 1.0), (0, 0.0), (2, 0.0)]),
        ([-0.5, 0.5, -1.0], {1}, [(1, 0.5), (0, 0.0), (2, 0.0)]),
        ([0.0, 1000.0, -1000.0], {0, 1, 2}, [(1, 1.0), (0, 0.5), (2, 0.0)]),  # logistic function
    ],
)
def test_documents_are_ranked_by_their_best_span(
    system: System,
    scores: list[float | None],
    kept: set[int],
    expected: list[tuple[int, float]],
) -> None:
    """Kept ones first, scores in [0, 1], falling."""
    result = keeping(system, scores, kept)("q", ["a b", "c d", "e f"])

    assert expected == ranked(result, [0, 1, 2])


def test_a_written_text_speaks_for_what_it_was_written_from(system: System) -> None:
    """Its parents' documents count as kept."""

    def write(query: Query, segments: Sequence[Segment]) -> list[Segment]:
        written = Document("w", "new", written_by="m", parents=(segments[1],))
        return [Segment.whole(written).scored("s", 0.7)]

    result = replace(system, stage=write)("q", ["a b c", "d e f"])

    assert [(1, 0.7), (0, 0.0)] == ranked(result, [0, 1])


def test_jinas_shape_is_spoken(client: MakeClient, body: dict[str, Any]) -> None:
    """Index, score and, where asked for, the document; all of them, or top_n."""
    asked = client()
    reply = asked.post("/v1/rerank", json={**body, "return_documents": True}).json()
    first = asked.post("/rerank", json={**body, "top_n": 1, "model": "nearest"}).json()

    assert [1, 0, 2] == [one["index"] for one in reply["results"]]
    assert body["documents"][1]["text"] == reply["results"][0]["document"]["text"]
    assert reply["usage"]["total_tokens"] > 0
    assert [{"index": 1, "relevance_score": reply["results"][0]["relevance_score"]}] == first[
        "results"
    ]


def test_an_unknown_model_is_the_default_system(client: MakeClient, body: dict[str, Any]) -> None:
    """As clients of others name it; the reply names the system."""
    reply = client().post("/v2/rerank", json={**body, "model": "rerank-v3.5"})

    assert (200, "nearest") == (reply.status_code, reply.json()["model"])


READ_WHOLE = "documents are read whole"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_tokens_per_doc": 20}, [f"max_tokens_per_doc is ignored: {READ_WHOLE}"]),
        ({"max_chunks_per_doc": 10}, [f"max_chunks_per_doc is ignored: {READ_WHOLE}"]),
        ({"truncate_prompt_tokens": 500}, [f"truncate_prompt_tokens is ignored: {READ_WHOLE}"]),
        ({"truncation": True}, [f"truncation is ignored: {READ_WHOLE}"]),
        (
            {"rank_fields": ["x"]},
            ["rank_fields is ignored: documents are ranked by title and text"],
        ),
        ({"top_k": 2}, ["top_k is ignored: it is not known"]),
        ({"texts": ["It rained."]}, ["texts is ignored: it is not known"]),
        ({"rank_fields": None, "max_tokens_per_doc": None}, []),
        ({}, []),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_a_field_that_is_ignored_is_a_warning(
    client: MakeClient, body: dict[str, Any], path: str, fields: dict[str, Any], expected: list[str]
) -> None:
    """Other servers know it; the ranking is that without it (vllm PR 38827, litellm PR 39363,
    WeKnora PR 3299).
    """
    asked = client()
    reply = asked.post(path, json={**body, **fields})
    plain = asked.post(path, json=body)

    assert (200, expected) == (reply.status_code, reply.json()["meta"]["warnings"])
    assert plain.json()["results"] == reply.json()["results"]


def test_ignored_fields_cannot_fill_a_reply(client: MakeClient, body: dict[str, Any]) -> None:
    """Ten are named, each by its first characters, the others counted."""
    fields = {f"{n}{'x' * 10_000}": n for n in range(1000)}
    warnings = client().post("/v1/rerank", json={**body, **fields}).json()["meta"]["warnings"]

    assert 11 == len(warnings)
    assert f"0{'x' * 79} is ignored: it is not known" == warnings[0]
    assert "990 other fields are ignored" == warnings[-1]


def test_only_what_was_asked_for_is_in_a_result(client: MakeClient) -> None:
    """No key ``document`` unless asked for (joonsoome/embed-rerank#11); then its text
    (cohere-ai/notebooks#202).
    """
    texts = ["Ashby lies on a hill.", "Port Lorne has a harbour."]
    body = {"model": "any", "query": "Which town has a harbour?", "documents": texts}
    asked = client()
    plain = asked.post("/v2/rerank", json={**body, "top_n": 2}).json()["results"]
    whole = asked.post("/v1/rerank", json={**body, "return_documents": True}).json()["results"]

    assert [{"index", "relevance_score"}] * 2 == [one.keys() for one in plain]
    assert [(1, {"text": texts[1]}), (0, {"text": texts[0]})] == [
        (one["index"], one["document"]) for one in whole
    ]


def test_no_documents_have_no_results(client: MakeClient) -> None:
    """They are no error (griptape-ai/griptape#1152)."""
    reply = client().post("/v2/rerank", json={"model": "any", "query": "Who?", "documents": []})

    assert (200, []) == (reply.status_code, reply.json()["results"])


def test_a_copy_ranks_as_its_document(client: MakeClient, body: dict[str, Any]) -> None:
    """It is read once, and both places have its score and text."""
    rained, song, rome = body["documents"]
    asked = {**body, "documents": [song, rome, song, rained], "return_documents": True}
    results = client().post("/v1/rerank", json=asked).json()["results"]

    assert [0, 2] == [one["index"] for one in results[:2]]
    assert results[0]["relevance_score"] == results[1]["relevance_score"]
    assert [song["text"], song["text"]] == [one["document"]["text"] for one in results[:2]]
    assert {1: rome["text"], 3: rained} == {
        one["index"]: one["document"]["text"] for one in results[2:]
    }


def test_a_strict_server_refuses_an_unknown_model(client: MakeClient, body: dict[str, Any]) -> None:
    """The error names those that are served."""
    strict = client(settings=Settings(strict_models=True))
    reply = strict.post("/v2/rerank", json={**body, "model": "rerank-v3.5"})

    assert 422 == reply.status_code
    assert "system must be one of nearest, got 'rerank-v3.5'" == reply.json()["error"]["message"]


@pytest.mark.server
@pytest.mark.parametrize("version", ["Client", "ClientV2"])
def test_coheres_client_is_served(
    serve: Callable[[Any], str], system: System, body: dict[str, Any], version: str
) -> None:
    """By its base URL and a token as its key; its errors carry ours."""
    cohere = pytest.importorskip("cohere")
    url = serve(create_app({"nearest": system}, settings=Settings(tokens=(TOKEN,))))
    texts = [one if isinstance(one, str) else one["text"] for one in body["documents"]]
    asked = getattr(cohere, version)(api_key=TOKEN, base_url=url)
    reply = asked.rerank(model="nearest", query=body["query"], documents=texts, top_n=2)

    assert [1, 0] == [one.index for one in reply.results]
    assert 1 >= reply.results[0].relevance_score > reply.results[1].relevance_score >= 0
    ignored = {"max_tokens_per_doc" if version == "ClientV2" else "max_chunks_per_doc": 20}
    warned = asked.rerank(model="nearest", query=body["query"], documents=texts, **ignored)
    assert [f"{name} is ignored: {READ_WHOLE}" for name in ignored] == warned.meta.warnings
    with pytest.raises(cohere.core.api_error.ApiError, match="must not be blank"):
        asked.rerank(model="nearest", query=" ", documents=texts)
