"""Anthropic's messages through the proxy, asked by its own client."""

import json

import anthropic
import pytest

from ragsieve.server import Settings, Upstream, create_app
from ragsieve.server.documents import blocks

from .conftest import EVENTS, KEY, settings
from .test_chat import CHATS, DOCUMENTS, PAGE, QUESTION, RAIN, SONG, TAGGED, cut

MESSAGES = "/v1/messages"
MARK = {"cache_control": {"type": "ephemeral"}}
PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
IMAGE = {"type": "image", "source": PNG}
THOUGHT = {"type": "thinking", "thinking": "The page will say it. é", "signature": "EqQB/+=="}
HIDDEN = {"type": "redacted_thinking", "data": "EmwKAhgB"}
NOTE = {"type": "text", "text": "<system-reminder>\nBe quick.\n</system-reminder>"}
TOOLS = [{"name": "read", "input_schema": {"type": "object"}, **MARK}]
SYSTEM = [{"type": "text", "text": "You  are brief.", **MARK}]


def conversation(*contents, **more):
    """A question, calls of a tool, and what each returned, in one message."""
    said = [{"type": "text", "text": "Who sang Summer Breeze?"}]
    calls = [
        {"type": "tool_use", "id": f"t{n}", "name": "read", "input": {"page": n}}
        for n, _ in enumerate(contents)
    ]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": content, **MARK, **more}
        for n, content in enumerate(contents)
    ]
    return [
        {"role": "user", "content": [NOTE, *said]},
        {"role": "assistant", "content": [THOUGHT, HIDDEN, *calls]},
        {"role": "user", "content": [*results, NOTE]},
    ]


@pytest.fixture
def proxy(serve, system, upstream):
    """The address of a proxy that filters all results."""
    return serve(create_app({"nearest": system}, settings=settings(upstream, filter_tools=("*",))))


def client_of(url):
    """Anthropic's client of a server."""
    return anthropic.Anthropic(api_key="sk-client", base_url=url, max_retries=0)


def asking(url, messages, **more):
    """What Anthropic's client replies, with its headers, to a request with all that agents send."""
    create = client_of(url).beta.messages.with_raw_response.create
    values = {"tools": TOOLS, "system": SYSTEM, "thinking": {"type": "adaptive"}, **more}
    values |= {"betas": ["x-2026"], "extra_query": {"beta": "true"}}
    return create(model="m", max_tokens=64, messages=messages, **values)


def test_results_of_tools_are_filtered_and_nothing_else(proxy, upstream):
    """Several of one message, of a string and of parts; the request is else as it came."""
    parts = [IMAGE, {"type": "text", "text": RAIN, **MARK}, {"type": "text", "text": " "}]
    given = conversation(PAGE, parts)
    reply = asking(proxy, given)
    (sent, headers) = json.loads(upstream.bodies[-1]), upstream.headers[-1]
    song, (image, rain, blank) = (one["content"] for one in sent["messages"][2]["content"][:2])

    assert "Seals" == reply.parse().content[0].text
    assert SONG == cut(song) and len(cut(rain["text"]).split()) < 9
    assert (IMAGE, MARK, parts[2]) == (image, {"cache_control": rain["cache_control"]}, blank)
    assert ("2/2", "0") == tuple(
        reply.headers[f"x-ragsieve-{name}"] for name in ("tool-results", "cache-broken")
    )
    sent["messages"][2]["content"][0]["content"] = PAGE
    rain["text"] = RAIN
    asking(upstream.url.removesuffix("/v1"), given)
    assert json.loads(upstream.bodies[-1]) == sent
    assert ["/v1/messages?beta=true"] * 2 == upstream.paths
    for name in ("anthropic-version", "anthropic-beta", "user-agent"):
        assert upstream.headers[-1][name] == headers[name]
    assert f"Bearer {KEY}" == headers["authorization"]  # as the client's own came


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "messages",
    [
        QUESTION,
        conversation("It rained.", [IMAGE]),
        conversation(PAGE, [{"type": "text", "text": RAIN}], is_error=True),
        [*conversation(PAGE)[:2], {"role": "user", "content": [{"type": "tool_result"}, 7]}],
    ],
)
def test_what_is_not_filtered_passes_byte_by_byte(proxy, upstream, messages, stream):
    """Short results, images, and what a tool that failed says; streams come as they are."""
    for url in (proxy, upstream.url.removesuffix("/v1")):
        reply = asking(url, messages, stream=stream)
        if stream:
            assert b"".join(EVENTS) == b"".join(reply.http_response.iter_raw())

    assert upstream.bodies[0] == upstream.bodies[1]


def test_tokens_are_counted_of_what_is_sent(proxy, upstream):
    """The count's request has the same messages; the headers say that they are filtered."""
    given = conversation(PAGE, [{"type": "text", "text": RAIN}])
    asking(proxy, given)
    counted = client_of(proxy).messages.count_tokens(model="m", messages=given)
    sent = upstream.messages

    assert (7, "/v1/messages/count_tokens") == (counted.input_tokens, upstream.paths[-1])
    assert json.loads(upstream.bodies[0])["messages"] == sent != given


def test_a_later_turn_reads_the_same(proxy, upstream):
    """A mark of the cache that moves changes no result, nor does a question that follows."""
    given = conversation(PAGE, RAIN)
    asking(proxy, given)
    first = upstream.messages
    unmarked = [{k: v for k, v in one.items() if k not in MARK} for one in given[2]["content"]]
    more = [{"role": "assistant", "content": "Seals."}, {"role": "user", "content": "Why?"}]
    reply = asking(proxy, [*given[:2], {**given[2], "content": unmarked}, *more])
    second = upstream.messages

    assert [one["content"] for one in first[2]["content"][:2]] == [
        one["content"] for one in second[2]["content"][:2]
    ]
    assert more == second[3:] and "2/2" == reply.headers["x-ragsieve-tool-results"]


def test_documents_stand_behind_results(client, upstream):
    """Of the field for the last words of a user, in tags where they are."""
    asked = client(settings=settings(upstream, filter_tools=("*",)))
    results = conversation(PAGE)
    results[2]["content"][1] = {"type": "text", "text": QUESTION[0]["content"]}
    asked.post("/v1/messages", json={"messages": results, "documents": DOCUMENTS})
    song, field, question = upstream.messages[2]["content"]
    asked.post("/v1/messages", json={"messages": [*TAGGED, *conversation(PAGE)[1:]]})
    tagged = upstream.messages[0]["content"]

    assert (SONG, QUESTION[0]["content"]) == (cut(song["content"]), question["text"])
    for text in (field["text"], tagged):
        assert ["Seals sang Summer Breeze."] == [one.text for one in blocks(text)[0].documents]


@pytest.mark.parametrize("how", ["is killed", "ends"])
def test_an_upstream_that_breaks_off_is_an_error(proxy, upstream, how):
    """Of the client's own class, whole and in a stream; a status of the upstream passes."""
    upstream.breaks = how
    for stream in (True, False):
        with pytest.raises(anthropic.APIStatusError, match="the upstream broke off"):
            asked = {"model": "m", "max_tokens": 1, "messages": QUESTION}
            list(client_of(proxy).messages.create(**asked, stream=stream))
    upstream.breaks, upstream.status = "", 429
    with pytest.raises(anthropic.RateLimitError):
        client_of(proxy).messages.create(model="m", max_tokens=1, messages=QUESTION)


@pytest.mark.parametrize(
    ("path", "tokens", "key", "given", "forwarded"),
    [
        (CHATS, (), "", "authorization", (None, "Bearer sk-client")),
        (CHATS, (), KEY, "authorization", (None, f"Bearer {KEY}")),
        (CHATS, (), KEY, "x-other", (None, f"Bearer {KEY}")),
        (CHATS, ("sk-client",), "", "authorization", (None, None)),
        (MESSAGES, (), "", "x-api-key", ("sk-client", None)),
        (MESSAGES, (), KEY, "x-api-key", (KEY, None)),
        (MESSAGES, (), KEY, "authorization", (None, f"Bearer {KEY}")),
        (MESSAGES, (), KEY, "x-other", (KEY, None)),
        (MESSAGES, ("sk-client",), "", "x-api-key", (None, None)),
        (MESSAGES, ("sk-client",), KEY, "x-api-key", (KEY, None)),
    ],
)
def test_whose_key_the_upstream_gets(client, upstream, path, tokens, key, given, forwarded):
    """The configured one, as the client's came; else the client's, unless it is this server's."""
    to = Upstream(base_url=upstream.url, api_key=key)
    asked = client(settings=Settings(upstream=to, tokens=tokens))
    value = "Bearer sk-client" if given == "authorization" else "sk-client"
    reply = asked.post(path, json={"messages": QUESTION}, headers={given: value})

    assert 200 == reply.status_code
    assert forwarded == tuple(
        upstream.headers[0].get(name) for name in ("x-api-key", "authorization")
    )
    if tokens:
        wrong = asked.post(path, json={}, headers={given: "sk-other"})
        assert 401 == wrong.status_code
