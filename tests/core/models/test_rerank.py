"""Rerank servers: scripted ones on 127.0.0.1."""

import logging
import random
import threading
import time
import traceback

import pytest

from ragsieve import InputError, ModelError, models
from ragsieve.trace import Usage, step

pytest.importorskip("openai")

KEY = "co-very-secret"
SOON = {"retry-after-ms": "10"}


def model(server, **options):
    options = {"api_key": KEY, "max_retries": 0, **options}
    return models.load("rerank:m", base_url=server.url, **options)


def results(*scores):
    return {"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]}


def by_length(path, body, number):
    """A document's characters, less the query's, in an order of the server's own."""
    found = results(*(len(text) - len(body["query"]) for text in body["documents"]))
    random.Random(0).shuffle(found["results"])
    return 200, {"id": "1", **found}


def always(status, payload, **headers):
    return lambda path, body, number: (status, payload, headers)


def test_scores_stand_in_the_order_of_the_pairs(serve):
    """Whatever order the server returns; all documents are asked back, under the model's name."""
    server = serve(by_length)
    scorer = model(server)
    scores = scorer.score([("q", "x" * n) for n in (3, 9, 1, 5, 7)])

    assert ([2, 8, 0, 4, 6], "float32") == (scores.tolist(), scores.dtype.name)
    (sent,) = server.requests
    assert ("m", "q", 5) == (sent["model"], sent["query"], sent["top_n"])
    assert (["/rerank"], [f"Bearer {KEY}"]) == (server.paths, server.keys)


def test_each_query_is_one_request(serve):
    """Pairs in any order go back to their places; over 1,000 documents several, of none none."""
    server = serve(by_length)
    scores = model(server).score([("q", "aaa"), ("qq", "aaa"), ("q", "bb"), ("qq", "bb")])

    assert [2, 1, 1, 0] == scores.tolist()
    assert [("q", ["aaa", "bb"]), ("qq", ["aaa", "bb"])] == sorted(
        (sent["query"], sent["documents"]) for sent in server.requests
    )

    server = serve(by_length)
    pairs = [("q", "x" * (1 + n % 97)) for n in range(1500)]
    scores = model(server).score(pairs)

    assert [n % 97 for n in range(1500)] == scores.tolist()
    assert [500, 1000] == sorted(len(sent["documents"]) for sent in server.requests)
    assert scores.tolist() == model(server, max_documents=400).score(pairs).tolist()
    assert [300, 400, 400, 400] == sorted(len(r["documents"]) for r in server.requests[2:])

    server = serve(always(500, {}))

    assert ((0,), []) == (model(server).score([]).shape, server.requests)


def test_texts_are_sent_as_servers_take_them(serve):
    """A blank text as a full stop, control characters and lone surrogates as U+FFFD."""
    server = serve(by_length)
    model(server).score([(" ", ""), (" ", " \n"), (" ", "a\x00b\ud800"), (" ", "a")])

    (sent,) = server.requests
    assert (".", [".", ".", "a\ufffdb\ufffd", "a"]) == (sent["query"], sent["documents"])


def test_a_server_may_call_documents_texts(serve):
    """Text Embeddings Inference wants ``texts``, says so once, and returns a bare list."""

    def script(path, body, number):
        if "texts" not in body:
            return 422, "Failed to deserialize the JSON body: missing field `texts`"
        found = [{"index": i, "score": len(text)} for i, text in enumerate(body["texts"])]
        return 200, found[::-1]

    server = serve(script)
    scorer = model(server)

    assert [1, 3, 2] == scorer.score([("q", "a"), ("q", "bbb"), ("q", "cc")]).tolist()
    assert [4] == scorer.score([("q", "dddd")]).tolist()
    assert [False, True, True] == ["texts" in sent for sent in server.requests]


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (400, "request ({} tokens) exceeds the available context size (512 tokens), try"),
        (400, "input ({} tokens) is larger than the max context size (512 tokens). skipping"),
        (500, "input ({} tokens) is too large to process (current batch size: 512)"),
    ],
)
def test_documents_that_are_too_long_are_cut(serve, status, line):
    """To what llama.cpp says that it holds; the others stay, and the trace has a note."""

    def script(path, body, number):
        if (most := max(len(body["query"]) + len(d) for d in body["documents"])) <= 512:
            return by_length(path, body, number)
        return status, {"error": {"message": line.format(most), "type": "server_error"}}

    server, pairs = serve(script), [("q", "a" * 400), ("q", "b" * 2000), ("q", "c" * 900)]
    with step("score") as seen:
        scores = model(server, max_retries=4).score(pairs)

    assert [399, 459, 459] == scores.tolist()
    assert ["documents are read to character 460: the server holds 512 tokens"] == seen.notes
    assert 2 == len(server.requests)
    with pytest.raises(ModelError, match="need 601 tokens, the context of m holds 512"):
        model(serve(script)).score([("q" * 600, "a")])


@pytest.mark.parametrize("scores", [[9, 1, 2, 0, 1, 1], [1.5, 1, 1.4, 0, 1, 1]])
def test_a_server_that_ranks_by_no_reranker_is_told_once(serve, scores):
    """By an answer among other texts, which costs what it costs; of one with a key not."""
    server = serve(lambda p, b, n: (200, results(*([3] if n % 2 else scores))))
    scorer = model(server, api_key="none")
    with step("score") as seen:
        for _ in range(2):
            scorer.score([("q", "a")])
    noise = scores[0] < 2

    assert [False, True, False] == [len(sent["documents"]) > 1 for sent in server.requests]
    assert [noise] * noise == ["scores an answer 1.5 and other" in w for w in seen.warnings]
    assert 8 == len(seen.usages)


def test_texts_may_be_asked_for_side_by_side(serve):
    """A request that was under way when another learned of ``texts`` is sent again as well."""
    learned = threading.Event()

    def script(path, body, number):
        if "texts" in body:
            learned.set()
            return by_length(path, body, number)
        if body["query"] == "slow":
            learned.wait(5)
            time.sleep(0.1)
        return 422, "missing field `texts`"

    assert [0, 1] == model(serve(script)).score([("slow", "aaaa"), ("fast", "aaaaa")]).tolist()


@pytest.mark.parametrize(
    ("script", "sent", "line"),
    [
        (always(422, {"detail": "texts are too long"}), 2, "HTTP 422: texts are too long"),
        (
            always(400, {"message": "no such model"}, **{"retry-after": "3600"}),
            1,
            "HTTP 400: no su",
        ),
        (always(500, {"message": "out of\nmemory"}, **SOON), 3, "HTTP 500: out of memory"),
    ],
)
def test_only_requests_that_may_be_answered_are_sent_again(serve, script, sent, line):
    """One that is refused once, or twice where a server minds texts; what fails ends in a line."""
    server = serve(script)
    with pytest.raises(ModelError, match=rf"^rerank:m@{server.url}: {line}[^\n]*$"):
        model(server, max_retries=2).score([("q", "a")])

    assert sent == len(server.requests)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_servers_are_asked_again(serve, status):
    """After the time that they ask for: 10 ms here, where it else would be about 1 s and 2 s."""
    server = serve(
        lambda p, b, n: by_length(p, b, n) if n > 2 else (status, {"message": "busy"}, SOON)
    )
    began = time.monotonic()

    assert [0] == model(server, max_retries=2).score([("q", "a")]).tolist()
    assert (3, True) == (len(server.requests), time.monotonic() - began < 2)


@pytest.mark.parametrize("fault", ["silent", "hangs up"])
def test_servers_that_fall_silent_or_hang_up_are_asked_again(serve, fault):
    """Once more after a second."""

    def script(path, body, number):
        if number > 1:
            return by_length(path, body, number)
        time.sleep(0.5 if fault == "silent" else 0)
        return 0, ""

    server = serve(script)

    assert [0] == model(server, timeout_s=0.2, max_retries=1).score([("q", "a")]).tolist()
    assert 2 == len(server.requests)


FORM = "results cannot be read: Expected `"
PLACES = "2 documents must come back, each once, got "
NUMBER = "relevance_score must be a finite number, got "
REPLIES = {
    "not JSON": ("<html>", "reply is not JSON: Expecting value"),
    "cut": ('{"results": [', "reply is not JSON"),
    "deep": ("[" * 100_000, "reply is not JSON"),
    "long number": ('{"results": ' + "9" * 5000 + "}", "reply is not JSON"),
    "text": ('"text"', FORM),
    "no results": ({"error": "x"}, FORM),
    "result text": ({"results": ["a", "b"]}, FORM),
    "missing": (results(1), PLACES + "[0]"),
    "none": ({"results": []}, PLACES + "[]"),
    "twice": ({"results": [*results(1, 2)["results"], *results(1)["results"]]}, "got [0, 1, 0]"),
    "too many": (results(1, 2, 3), PLACES + "[0, 1, 2]"),
    "negative": ({"results": [{"index": -1, "relevance_score": 1}]}, PLACES + "[-1]"),
    "index text": ({"results": [{"index": "0", "relevance_score": 1}]}, "Expected `int`"),
    "no index": ({"results": [{"relevance_score": 1}]}, "missing required field `index`"),
    "no score": ({"results": [{"index": 0}, {"index": 1}]}, NUMBER + "None"),
    "nan": (results(0, float("nan")), NUMBER + "nan"),
    "too large": (results(1e39, 0), NUMBER + "1e+39"),
    "huge": (results(10**400, 0), "cannot be read"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_that_cannot_be_read_is_an_error(serve, name):
    """No score is made up: one short line says what is wrong, and nothing is charged."""
    payload, says = REPLIES[name]
    server = serve(always(200, payload))
    with step("score") as seen, pytest.raises(ModelError) as caught:
        model(server).score([("q", "a"), ("q", "b")])
    line = str(caught.value)

    assert line.startswith(f"rerank:m@{server.url}: ")
    assert says in line
    assert (True, 1, []) == (len(line) < 500, len(line.splitlines()), seen.usages)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(serve, status):
    """Neither the key nor the documents go where a server points."""
    other = serve(by_length)
    server = serve(always(status, {}, location=f"{other.url}/rerank"))
    with pytest.raises(ModelError, match=f"HTTP {status}: a redirect, which is not followed$"):
        model(server).score([("q", "a")])

    assert ([], []) == (other.paths, other.keys)


def test_the_key_is_never_shown(serve, caplog):
    """Not where the server repeats it: in no error, trace back, log, name or representation. The
    client's own error shows the headers of the reply, so it is left out of the trace."""
    server = serve(always(401, {"message": f"invalid key {KEY}"}))
    scorer = model(server)
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
        scorer.score([("q", "a")])
    shown = [*traceback.format_exception(caught.value), caplog.text, repr(scorer), scorer.identity]

    assert "HTTP 401: invalid key (key)" in str(caught.value)
    assert [] == [text for text in shown if KEY in text]

    with pytest.raises(ModelError) as caught:
        model(serve(always(401, {}, hint=KEY))).score([("q", "a")])

    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_pairs_are_charged_what_the_server_counts(serve):
    """11 tokens for three pairs are 3, 4 and 4, wherever the reply counts them."""
    counts = [
        {"usage": {"total_tokens": 11}},
        {"meta": {"tokens": {"input_tokens": 11.0}}},
        {"meta": {"billed_units": {"input_tokens": 11}}},
        {"meta": {"billed_units": {"total_tokens": 11}}},
    ]
    server = serve(lambda path, body, number: (200, {**results(1, 2, 3), **counts[number - 1]}))
    scorer = model(server)
    for _ in counts:
        with step("score") as seen:
            scorer.score([("q", "a"), ("q", "b"), ("q", "c")])

        assert [Usage(scorer.identity, tokens) for tokens in (3, 4, 4)] == seen.usages


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"usage": None},
        {"usage": {"total_tokens": 10**400}},
        {"meta": {"billed_units": {"n": 1}}},
        {"usage": {"total_tokens": 31}},  # Infinity's: characters
    ],
)
def test_pairs_are_charged_by_words_where_nothing_is_counted(serve, said):
    """Two words of the query with three and with one of the document."""
    server = serve(lambda path, body, number: (200, {**results(1, 2), **said}))
    with step("score") as seen:
        model(server).score([("who came?", "It was he."), ("who came?", "He.")])

    assert [5, 3] == [usage.tokens_in for usage in seen.usages]


def test_what_was_read_before_an_error_is_charged(serve):
    """The first query's pair and the second's, where the third is refused."""
    said = {**results(1), "usage": {"total_tokens": 5}}
    server = serve(lambda path, body, number: (400, {}) if number == 3 else (200, said))
    scorer = model(server, concurrency=1)
    with step("score") as seen, pytest.raises(ModelError, match="HTTP 400"):
        scorer.score([(query, "a") for query in "pqr"])

    assert [Usage(scorer.identity, 5)] * 2 == seen.usages


def test_coheres_models_are_asked_at_cohere(serve, monkeypatch):
    """By CO_API_KEY, at CO_API_URL where it is set, and else at Cohere's own."""
    monkeypatch.setenv("CO_API_KEY", KEY)
    monkeypatch.delenv("CO_API_URL", raising=False)
    own = models.load("cohere:rerank-v3.5")
    server = serve(by_length)
    monkeypatch.setenv("CO_API_URL", server.url)
    scorer = models.load("cohere:rerank-v3.5")

    assert "rerank:rerank-v3.5@https://api.cohere.com/v2" == own.identity
    assert [1] == scorer.score([("q", "ab")]).tolist()
    assert (["/v2/rerank"], [f"Bearer {KEY}"]) == (server.paths, server.keys)


def test_coheres_key_goes_to_cohere_only(serve, monkeypatch):
    """Another server gets the option's alone; without either the error names both."""
    monkeypatch.setenv("CO_API_KEY", KEY)
    server = serve(by_length)
    models.load("rerank:m", base_url=f"{server.url}/v1/").score([("q", "a")])

    assert ({"/v1/rerank"}, {"Bearer none"}) == ({*server.paths}, {*server.keys})

    monkeypatch.delenv("CO_API_KEY", raising=False)
    with pytest.raises(InputError, match="api_key must be given, or CO_API_KEY be set"):
        models.load("cohere:rerank-v3.5")


def test_a_name_may_say_where_it_is_served():
    """So that a model is one word, on the command line too."""
    named = models.load("rerank:org/model@http://127.0.0.1:8000/")

    assert models.load("rerank:org/model", base_url="http://127.0.0.1:8000") == named
    assert "rerank:org/model@http://127.0.0.1:8000" == named.identity
