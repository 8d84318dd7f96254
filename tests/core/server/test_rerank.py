"""Ranking whole documents, asked as Cohere, Jina, vLLM and TEI are."""

import math
from dataclasses import replace

import pytest

import ragsieve
from ragsieve import Document, Segment
from ragsieve.rerank import ranked, shortened
from ragsieve.server import Settings
from ragsieve.trace import record_drop


def keeping(system, scores, kept):
    """A system whose documents have these scores, some of them kept."""

    def stage(query, segments):
        found = []
        for place, segment in enumerate(segments):
            record_drop(segment, "a test's")
            value = scores[place]
            if place in kept:
                found.append(segment if value is None else segment.scored("s", value))
        return found

    def score(query, segments):
        pairs = zip(segments, scores, strict=True)
        return [s if value is None else s.scored("s", value) for s, value in pairs]

    return replace(system, stage=ragsieve.Pipeline(score, stage))


@pytest.mark.parametrize(
    ("scores", "kept", "expected"),
    [
        ([0.2, 0.9, 0.5], {0, 1, 2}, [(1, 0.9), (2, 0.5), (0, 0.2)]),
        ([0.2, 0.1, 0.5], {0}, [(2, 0.5), (0, 0.2), (1, 0.1)]),  # a copy, say, or over the budget
        ([0.5, 0.5, 0.1], {1}, [(1, 0.5), (0, 0.5), (2, 0.1)]),
        ([None, None, None], {1}, [(1, 1.0), (0, 0.0), (2, 0.0)]),
        ([-0.5, 0.5, -1.0], {1}, [(1, 0.5), (0, 0.0), (2, 0.0)]),
        ([0.0, 1000.0, -1000.0], {0, 1, 2}, [(1, 1.0), (0, 0.5), (2, pytest.approx(0))]),
    ],
)
def test_documents_are_ranked_by_their_best_span(system, scores, kept, expected):
    """Scores in [0, 1], falling; of equal ones the kept first."""
    result = keeping(system, scores, kept)("q", ["a b", "c d", "e f"])

    assert expected == ranked(result, [0, 1, 2])


def test_what_no_later_scorer_read_comes_last(system):
    """An earlier score, which may be of another scale, is cut to the least of the later ones."""

    def again(query, segments):
        return [segments[0].scored("later", 0.3)]

    first = keeping(system, [0.4, 0.9, 0.2], {0})
    result = replace(system, stage=ragsieve.Pipeline(first.stage, again))("q", ["a", "b", "c"])

    assert [(0, 0.3), (1, 0.3), (2, 0.2)] == ranked(result, [0, 1, 2])


def test_a_written_text_speaks_for_what_it_was_written_from(system):
    """Its parents' documents count as kept."""

    def write(query, segments):
        written = Document("w", "new", written_by="m", parents=(segments[1],))
        return [Segment.whole(written).scored("s", 0.7)]

    result = replace(system, stage=write)("q", ["a b c", "d e f"])

    assert [(1, 0.7), (0, 0.0)] == ranked(result, [0, 1])


def test_jinas_shape_is_spoken(client, body):
    """Index, score and, only where asked for, the document's text; all of them, or top_n
    (joonsoome/embed-rerank#11, cohere-ai/notebooks#202); none of none (griptape-ai/griptape#1152).
    """
    asked = client()
    reply = asked.post("/v1/rerank", json={**body, "return_documents": True}).json()
    first = asked.post("/v1/rerank", json={**body, "top_n": 1, "model": "nearest"}).json()
    texts = [one if isinstance(one, str) else one["text"] for one in body["documents"]]
    none = asked.post("/v2/rerank", json={**body, "documents": []})

    assert [(n, {"text": texts[n]}) for n in (1, 0, 2)] == [
        (one["index"], one["document"]) for one in reply["results"]
    ]
    counted = asked.post("/v1/filter", json=body).json()["tokens"]["before"]
    assert counted == reply["usage"]["total_tokens"] == reply["meta"]["tokens"]["input_tokens"] > 9
    assert [{"index": 1, "relevance_score": reply["results"][0]["relevance_score"]}] == first[
        "results"
    ]
    assert (200, []) == (none.status_code, none.json()["results"])


def test_an_unknown_model_is_the_default_system(client, body):
    """As clients of others name it; the reply names the system. A strict server refuses it."""
    unknown = {**body, "model": "rerank-v3.5"}
    reply = client().post("/v2/rerank", json=unknown)
    strict = client(settings=Settings(strict_models=True)).post("/v2/rerank", json=unknown)

    assert (200, "nearest") == (reply.status_code, reply.json()["model"])
    assert 422 == strict.status_code
    assert "system must be one of nearest, got 'rerank-v3.5'" == strict.json()["error"]["message"]


READ_WHOLE = "documents are read whole"
IN_ORDER = "requests are served in the order in which they come"
COHERES = {"max_chunks_per_doc", "rank_fields", "priority"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"max_chunks_per_doc": 10}, [f"max_chunks_per_doc is ignored: {READ_WHOLE}"]),
        ({"truncate_prompt_tokens": 500}, [f"truncate_prompt_tokens is ignored: {READ_WHOLE}"]),
        ({"truncation": True}, [f"truncation is ignored: {READ_WHOLE}"]),
        ({"rank_fields": ["x"]}, ["rank_fields is ignored: no document has one of them"]),
        ({"top_k": 2}, ["top_k is ignored: it is not known"]),
        ({"texts": ["It rained."]}, ["texts is ignored: it is not known"]),
        ({"priority": 3}, [f"priority is ignored: {IN_ORDER}"]),
        ({"rank_fields": None, "max_chunks_per_doc": None}, []),
        ({}, []),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_a_field_that_is_ignored_is_a_warning(client, body, path, fields, expected):
    """Other servers know it; the ranking is that without it (vllm PR 38827, litellm PR 39363,
    WeKnora PR 3299). At /v2 a field that is none of Cohere's is an error, as it is there
    (HKUDS/LightRAG#1813)."""
    asked = client()
    reply = asked.post(path, json={**body, **fields})
    plain = asked.post(path, json=body)
    unknown = [name for name in fields if path == "/v2/rerank" and name not in COHERES]
    if unknown:
        message = f"unknown field: parameter '{unknown[0]}' is not a valid field"
        assert (422, message) == (reply.status_code, reply.json()["error"]["message"])
        return

    assert (200, expected) == (reply.status_code, reply.json()["meta"]["warnings"])
    assert plain.json()["results"] == reply.json()["results"]


def test_ignored_fields_cannot_fill_a_reply(client, body):
    """Ten are named, each by its first characters, the others counted."""
    fields = {f"{n}{'x' * 10_000}": n for n in range(1000)}
    warnings = client().post("/v1/rerank", json={**body, **fields}).json()["meta"]["warnings"]

    assert 11 == len(warnings)
    assert f"0{'x' * 79} is ignored: it is not known" == warnings[0]
    assert "990 other fields are ignored" == warnings[-1]


def test_a_copy_ranks_as_its_document(client, body):
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


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (True, [(17, 27, 0.4), (0, 15, 0.1)]),
        ({}, [(17, 27, 0.4), (0, 15, 0.1)]),
        ({"threshold": 0}, [(17, 27, 0.4), (0, 15, 0.1), (28, 31, 0.0)]),
        ({"threshold": 0.4, "mode": "enabled"}, [(17, 27, 0.4)]),
        ({"max_spans": 1}, [(17, 27, 0.4)]),
        ({"threshold": 0.5}, None),
        ({"mode": "disabled"}, None),
        (False, None),
        (None, None),
    ],
    ids=str,
)
def test_a_result_names_the_spans_that_speak_for_it(system, client, asked, expected):
    """Kept or not, in code points, the best first; none where no span has the threshold."""
    text = "😀😀 It was ages.  It rained. Ok."
    scores = {"😀😀 It was ages.": 0.1, "It rained.": 0.4, "Ok.": 0.0}

    def score(query, segments):
        return [s.scored("s", scores[s.text]) for s in segments]

    spans = ragsieve.Pipeline(ragsieve.split.Sentences(), score, ragsieve.select.TopK(1))
    body = {"query": "Did it rain?", "documents": [text], "relevant_spans": asked}
    (result,) = (
        client({"s": replace(system, stage=spans)}).post("/v2/rerank", json=body).json()["results"]
    )
    found = result.get("relevant_spans")

    assert expected == (found and [(s["start"], s["end"], s["score"]) for s in found])
    assert all(s["text"] == text[s["start"] : s["end"]] for s in found or [])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"relevant_spans": {"threshold": 5}}, ".threshold must be less than or equal to 1, got 5"),
        ({"relevant_spans": {"max_spans": 0}}, "greater than or equal to 1, got 0"),
        ({"relevant_spans": {"mode": "on"}}, "mode must be 'enabled' or 'disabled', got 'on'"),
        ({"relevant_spans": {"limit": 1}}, "relevant_spans.limit is not known"),
        ({"relevant_spans": 3}, "must be a boolean or an object, got 3"),
        ({"max_tokens_per_doc": 0}, "greater than or equal to 1, got 0"),
        ({"query": " "}, "must not be blank"),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_a_field_that_breaks_its_rule_is_named(client, body, path, fields, why):
    """With the rule and the value."""
    reply = client().post(path, json={**body, **fields})

    assert 422 == reply.status_code
    assert f"body.{next(iter(fields))}" in reply.json()["error"]["message"]
    assert why in reply.json()["error"]["message"]


def test_only_so_many_tokens_of_a_document_are_read(client):
    """What is behind them finds nothing; the document comes back whole."""
    late = f"{'It rained. ' * 40}Port Lorne has a harbour."
    body = {
        "query": "Which town has a harbour?",
        "documents": ["Birds sang.", late, {"text": late}],
        "return_documents": True,
    }
    whole = client().post("/v2/rerank", json=body).json()["results"]
    short = client().post("/v2/rerank", json={**body, "max_tokens_per_doc": 10}).json()["results"]

    assert [[1, 2, 0], [0, 1, 2]] == [[one["index"] for one in r] for r in (whole, short)]
    assert late == short[1]["document"]["text"] == short[2]["document"]["text"]


@pytest.mark.parametrize("text", ["", "a b", "a b c d e", " " * 100 + "a b c d", "é" * 50])
@pytest.mark.parametrize("most", [1, 3, 4])
def test_a_text_is_shortened_to_its_longest_beginning(text, most):
    """Of at most so many tokens, here words."""

    def count(texts):
        return [len(one.split()) for one in texts]

    short = shortened(text, most, count)

    assert text.startswith(short)
    assert count([short])[0] <= most
    assert short == text or count([text[: len(short) + 1]])[0] > most


def test_vllms_form_is_spoken(client, body):
    """Documents come back unasked, no top_n is 0, and scores may be logits."""
    asked = client()
    reply = asked.post("/rerank", json={**body, "top_n": 0}).json()
    logits = asked.post("/rerank", json={**body, "use_activation": False}).json()
    bare = asked.post("/rerank", json={**body, "return_documents": False}).json()

    assert {"id", "model", "usage", "results"} <= reply.keys()
    assert 3 == len(reply["results"])
    assert body["documents"][1]["text"] == reply["results"][0]["document"]["text"]
    assert [{"index", "relevance_score"}] * 3 == [one.keys() for one in bare["results"]]
    scores = [[r["relevance_score"] for r in one["results"]] for one in (logits, reply)]
    assert scores[1] == pytest.approx([1 / (1 + math.exp(-x)) for x in scores[0]], abs=1e-5)


PORT = "Port Lorne has a harbour."
PART = {"type": "text", "text": PORT}
NAMED = {"title": "Lorne", "body": PORT, "n": [1]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"documents": PORT}, [PORT]),
        ({"documents": {"content": [PART, PORT]}}, [PORT, PORT]),
        ({"documents": [{"content": [PART, PART]}, PART]}, [f"{PORT}\n{PORT}", PORT]),
        ({"documents": [PORT], "query": {"content": [PART]}}, [PORT]),
        ({"documents": [NAMED], "rank_fields": ["title", "body"]}, [PORT]),
        ({"documents": [NAMED], "rank_fields": ["body", "n"]}, [f"body: {PORT}\nn: [1]"]),
        ({"documents": [NAMED], "rank_fields": ["title"]}, ["Lorne"]),
        ({"documents": [NAMED]}, "body.documents.0.text is missing"),
        ({"documents": [NAMED], "rank_fields": ["x"]}, "text is missing"),
        ({"documents": [{"content": [{"type": "image_url"}]}]}, "content must be parts of text"),
        ({"documents": {"content": ["a"] * 1001}}, "max_documents must be at most 1000"),
        ({"documents": 3}, "documents must be a list, got 3"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_documents_of_other_forms_are_read(client, fields, expected):
    """A text alone, vLLM's content parts, Cohere's objects with the fields to rank by."""
    body = {"query": "Which town has a harbour?", "return_documents": True, **fields}
    reply = client().post("/v1/rerank", json=body).json()
    if isinstance(expected, str):
        assert expected in reply["error"]["message"]
        return

    ranks = sorted(reply["results"], key=lambda one: one["index"])
    assert expected == [one["document"]["text"] for one in ranks]
    assert not reply["meta"]["warnings"]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank", "/infinity/rerank"])
def test_a_ranking_says_whether_there_is_an_answer(client, system, path):
    """``answerable``, null where nothing tells it; of TEI, whose reply is a list, a header."""
    asked = client({"finefilter": ragsieve.load("finefilter"), "plain": system})
    body = {"query": "Which town has a harbour?", "documents": [PORT, "It rained."]}
    reply = asked.post(path, json={**body, "return_documents": True}).json()
    texts = {"query": body["query"], "texts": body["documents"]}
    listed = asked.post("/rerank", json=texts)

    assert 0.3 < reply["answerable"] < 1
    assert str(reply["answerable"]) == listed.headers["X-Ragsieve-Answerable"]
    assert asked.post(path, json={**body, "model": "plain"}).json()["answerable"] is None
    shown = PORT if path.startswith("/infinity") else {"text": PORT}
    assert shown == reply["results"][0]["document"]


def test_teis_form_is_told_by_its_texts(client, body):
    """A bare list, best first, with texts and logits where asked for; others' fields pass."""
    asked = client()
    texts = ["It rained in Rome.", "Seals sang Summer Breeze.", "Rome."]
    plain = {"query": body["query"], "texts": texts}
    also = {"truncate": True, "truncation_direction": "Right", "top_n": 1, "é\n": 1}
    ranks = asked.post("/rerank", json=plain).json()
    reply = asked.post("/rerank", json={**plain, **also, "raw_scores": True, "return_text": True})

    assert [{"index", "score"}] * 3 == [one.keys() for one in ranks]
    assert 1 == ranks[0]["index"] and ranks[0]["score"] > ranks[1]["score"] >= 0
    assert ranks[0]["score"] == pytest.approx(1 / (1 + math.exp(-reply.json()[0]["score"])))
    assert [texts[one["index"]] for one in ranks] == [one["text"] for one in reply.json()]
    lines = reply.headers["X-Ragsieve-Ignored"].split("; ")
    assert [*also] == [line.split(" is ignored")[0] for line in lines[:3]] + ["é\n"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"texts": []}, (422, "validation", "body.texts must have at least 1 item, got 0")),
        ({"texts": ["a", 1]}, (422, "validation", "body.texts.1 must be a string, got 1")),
        ({"query": ""}, (422, "validation", "body.query must not be blank")),
        ({"texts": ["a"] * 1001}, (413, "validation", "max_documents must be at most 1000")),
    ],
    ids=lambda value: str(value)[:20],
)
def test_teis_errors_are_a_line_and_a_kind(client, fields, expected):
    """As it words them."""
    reply = client().post("/rerank", json={"query": "q", "texts": ["a"], **fields})
    values = reply.json()

    assert expected[:2] == (reply.status_code, values["error_type"])
    assert values["error"].startswith(expected[2])


def test_what_is_served_is_told_as_tei_does(client):
    """A reranker, with limits that clients ask for before they send texts."""
    info = client().get("/info").json()

    assert "nearest" == info["model_id"]
    assert ["reranker"] == [*info["model_type"]]
    assert (1000, 1_000_000) == (info["max_client_batch_size"], info["max_input_length"])
    assert 200 == client().get("/health").status_code
