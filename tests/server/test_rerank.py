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
    """As clients of others name it, and send what only others know; the reply names the system."""
    asked = {**body, "model": "rerank-v3.5", "max_chunks_per_doc": 10}
    reply = client().post("/v2/rerank", json=asked)

    assert (200, "nearest") == (reply.status_code, reply.json()["model"])


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
    with pytest.raises(cohere.core.api_error.ApiError, match="must not be blank"):
        asked.rerank(model="nearest", query=" ", documents=texts)
