"""The proxy for chats, asked by OpenAI's own client, before an upstream on 127.0.0.1."""

import asyncio
import json
import socket
import time
from itertools import product

import httpx
import openai
import pytest

import ragsieve
from ragsieve import ModelError, Pipeline, System
from ragsieve.agents.rules import ToolRule
from ragsieve.server import Limits, Settings, Upstream, create_app
from ragsieve.server.documents import blocks
from ragsieve.server.service import Service
from ragsieve.server.sieving import sieved
from ragsieve.timeouts import until
from ragsieve.trace import set_answerable
from tests.stalling import sending, stalling
from tests.timing import is_linear

from .conftest import JSON, KEY, REPLY, RESPONDS, failing, settings

CHATS = "/v1/chat/completions"
DOCUMENTS = ["It rained in Rome.", "Seals sang Summer Breeze. It was a hit."]


def said(text):
    """A user's message."""
    return {"role": "user", "content": text}


QUESTION = [said("Who sang Summer Breeze?")]
RAINED, SANG = DOCUMENTS
BLOCK = f'<document>{RAINED}</document><document id="a">{SANG}</document>'
TAGGED = [said(f"<documents>{BLOCK}</documents>\nWho sang Summer Breeze?")]


def openai_of(url, key="any"):
    """OpenAI's client of a server."""
    return openai.OpenAI(api_key=key, base_url=f"{url}/v1", max_retries=0)


def test_openais_client_is_answered(serve, system, upstream):
    """Tagged documents are filtered where they stand; tools and settings pass as they are."""
    url = serve(create_app({"nearest": system}, settings=settings(upstream, tokens=("our-token",))))
    asked = openai_of(url, "our-token")
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    reply = asked.chat.completions.with_raw_response.create(
        model="m", messages=TAGGED, tools=[tool], temperature=0.25
    )
    sent = json.loads(upstream.bodies[0])

    assert "Seals" == reply.parse().choices[0].message.content
    assert ("15", "5", "1/2") == tuple(
        reply.headers[f"x-ragsieve-{name}"]
        for name in ("tokens-before", "tokens-after", "documents")
    )
    assert [tool] == sent["tools"] and 0.25 == sent["temperature"]
    assert [
        '<documents>\n<document id="a">\nSeals sang Summer Breeze.\n</document>\n'
        "</documents>\nWho sang Summer Breeze?"
    ] == [m["content"] for m in upstream.messages]
    assert f"Bearer {KEY}" == upstream.headers[0]["authorization"]


def test_openais_client_is_streamed_to(serve, system, upstream):
    """Documents of the field; the upstream's chunks come as they are."""
    asked = openai_of(serve(create_app({"nearest": system}, settings=settings(upstream))))
    chunks = asked.chat.completions.create(
        model="m", messages=QUESTION, stream=True, extra_body={"documents": DOCUMENTS}
    )

    assert ["Se", "als"] == [one.choices[0].delta.content for one in chunks]
    assert ["user"] == [m["role"] for m in upstream.messages]
    assert "\nSeals sang Summer Breeze.\n" in upstream.messages[0]["content"]
    assert "It rained" not in upstream.messages[0]["content"]


def test_a_long_last_event_ends_a_stream(client, upstream):
    """It says so at its beginning; no error follows."""
    asked = {"input": "Hi", "stream": True}
    reply = client(settings=settings(upstream)).post("/v1/responses", json=asked)

    assert b"".join(RESPONDS) == reply.content


@pytest.mark.parametrize("how", ["is killed", "ends"])
def test_an_upstream_killed_in_the_middle_is_an_error(serve, system, upstream, how):
    """The client's own error class says so, in a stream and else; then the server goes on."""
    asked = openai_of(serve(create_app({"nearest": system}, settings=settings(upstream))))
    upstream.breaks = how
    stream = asked.chat.completions.create(model="m", messages=TAGGED, stream=True)
    with pytest.raises(openai.APIError, match="the upstream broke off"):
        list(stream)
    with pytest.raises(openai.APIStatusError, match="the upstream broke off") as caught:
        asked.chat.completions.create(model="m", messages=TAGGED)
    upstream.breaks = ""
    again = asked.chat.completions.create(model="m", messages=TAGGED)

    assert (502, "upstream_broke") == (caught.value.status_code, caught.value.code)
    assert "Seals" == again.choices[0].message.content


def test_an_upstream_that_is_silent_or_away_is_an_error(client, upstream, system):
    """504 and 502 in OpenAI's shape of errors; its address is not shown."""
    slow = Settings(upstream=Upstream(base_url=upstream.url, timeout_s=0.2))
    upstream.hold.clear()
    silent = client(settings=slow).post(CHATS, json={"messages": TAGGED})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        gone = Settings(upstream=Upstream(base_url=where))
        away = client(settings=gone).post(CHATS, json={"messages": TAGGED})

    assert (504, "upstream_timeout") == (silent.status_code, silent.json()["error"]["code"])
    assert (502, "upstream_away") == (away.status_code, away.json()["error"]["code"])
    assert "127.0.0.1" not in silent.text + away.text


@pytest.mark.parametrize(("path", "field"), [(CHATS, "messages"), ("/v1/responses", "input")])
def test_without_documents_the_bytes_pass(client, upstream, path, field):
    """The request to its last space, and the reply; headers but the connection's and cookies."""
    message = '[{"role":"user","content":"Hi \\ud83d\\ude00"}]'
    sent = f'{{"model" :"m",  "{field}":{message}, "x":1.0}}'.encode()
    kind = "Application/JSON ; charset=utf-8"
    headers = {"content-type": kind, "x-mine": "1", "cookie": "s=t"}
    asked = client(settings=settings(upstream))
    reply = asked.post(path, content=sent, headers=headers)
    asked.post(path, json={field: [], "ragsieve": None})  # our own, though it says nothing

    assert (sent, REPLY) == (upstream.bodies[0], reply.content)
    assert {field: []} == json.loads(upstream.bodies[1])
    names = "x-mine", "cookie"  # the upstream's are kept for no other request
    assert [("1", None), (None, None)] == [tuple(map(h.get, names)) for h in upstream.headers]
    assert ("r1", None) == tuple(reply.headers.get(n) for n in ("x-request-id", "set-cookie"))
    assert not [name for name in reply.headers if name.startswith("x-ragsieve")]


def test_headers_say_what_is_ignored_and_how_probable_an_answer_is(client, system, upstream):
    """Fields of documents that no model sees; no probability where nothing tells it."""

    def unlikely(query, segments):
        set_answerable(0.25)
        return [*segments]

    systems = {"nearest": system, "unlikely": System(Pipeline(unlikely), system.reader)}
    asked = client(systems, settings=settings(upstream))
    body = {"messages": QUESTION, "documents": [{"text": DOCUMENTS[1], "year": 1972}]}
    nearest = asked.post(CHATS, json=body).headers
    sure = asked.post(CHATS, json={**body, "ragsieve": {"system": "unlikely"}}).headers

    assert ("year", None) == tuple(
        nearest.get(f"x-ragsieve-{n}") for n in ("ignored", "answerable")
    )
    assert "0.25" == sure["x-ragsieve-answerable"]


@pytest.mark.parametrize("stream", [False, True])
def test_headers_pass_byte_by_byte(serve, system, upstream, stream):
    """In whatever encoding they are, both ways; so does what stands behind the path."""
    upstream.region = "Zürich"
    url = serve(create_app({"nearest": system}, settings=settings(upstream)))
    headers = {b"x-title": "Café".encode("latin-1")}
    body = {"messages": TAGGED, "stream": stream}
    reply = httpx.post(f"{url}{CHATS}?api-version=1", json=body, headers=headers)

    assert (200, "Zürich") == (reply.status_code, dict(reply.headers.raw)[b"x-region"].decode())
    assert "Café" == upstream.headers[0]["x-title"]
    assert ["/v1/chat/completions?api-version=1"] == upstream.paths


@pytest.mark.parametrize(("said", "status", "body"), [(429, 429, REPLY), (799, 502, None)])
def test_a_refusal_of_the_upstream_passes(client, upstream, said, status, body):
    """With its status and its body; HTTP knows none from 600 on."""
    upstream.status = said
    reply = client(settings=settings(upstream)).post(CHATS, json={"messages": QUESTION})

    assert status == reply.status_code
    assert reply.content == body or reply.json()["error"]["message"] == f"the upstream said {said}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": [{"role": "user", "content": "<documents>Who?"}]}, "must hold documents"),
        ({"messages": QUESTION, "documents": [7]}, "documents must be strings or objects"),
        ({"messages": QUESTION, "documents": "abc"}, "documents must be a list, got 'abc'"),
        ({"messages": QUESTION, "documents": {"a": "b"}}, "documents must be a list, got {'a'"),
        ({"messages": QUESTION, "documents": ["a"] * 3}, "max_documents must be at most 2, got 3"),
        ({"messages": TAGGED * 2}, "max_documents must be at most 2, got 4"),  # of all messages
    ],
)
def test_what_cannot_be_filtered_passes(client, upstream, body, said):
    """Documents in no known form as they came, too many of them whole; a header says so."""
    asked = client(settings=settings(upstream, limits=Limits(max_documents=2)))
    reply = asked.post(CHATS, json=body)

    assert 200 == reply.status_code
    assert said in reply.headers["x-ragsieve-error"]
    if "at most" not in said:
        assert body == json.loads(upstream.bodies[0])
    elif body["messages"] != QUESTION:
        assert all(text in one["content"] for one in upstream.messages for text in DOCUMENTS)


def test_a_reply_can_hold_the_trace(client, upstream):
    """The field ``ragsieve`` is ours alone: it is not forwarded, and names budget and trace."""
    own = {"trace": True, "max_tokens": 3, "system": "nearest"}
    asked = client(settings=settings(upstream))
    reply = asked.post(CHATS, json={"messages": TAGGED, "ragsieve": own}).json()

    assert "Seals" == reply["choices"][0]["message"]["content"]
    assert ("nearest", []) == (reply["ragsieve"]["system"], reply["ragsieve"]["kept"])
    assert [] != reply["ragsieve"]["trace"]["steps"]
    assert "ragsieve" not in json.loads(upstream.bodies[0])


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ("all", "ragsieve must be an object, got 'all'"),
        ({"upstream": "http://x"}, "ragsieve.upstream is not known"),
        ({"system": "no"}, "system must be one of nearest, got 'no'"),
        ({"max_tokens": True}, "ragsieve.max_tokens must be a whole number, got True"),
    ],
)
def test_wrong_wishes_are_refused(client, upstream, own, message):
    """422, and nothing is forwarded."""
    body = {"messages": TAGGED, "ragsieve": own}
    reply = client(settings=settings(upstream)).post(CHATS, json=body)

    assert 422 == reply.status_code
    assert message in reply.json()["error"]["message"]
    assert [] == upstream.bodies


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
def test_no_reply_tells_the_upstreams_key(client, kind):
    """However JSON, or JSON in a text of JSON, escapes it; what is compressed is not passed on."""
    key = "sk/the-key"
    codes = "".join(f"\\u{ord(char):04X}" for char in key)
    body = "\n".join([key, key.replace("/", "\\/"), codes, json.dumps(codes), "data: [DONE]\n\n"])
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Key: {codes}\r\nConnection: close\r\n"
    replies = []
    for more in ("\r\n", "Content-Encoding: gzip\r\n\r\n"):
        with sending(f"{head}{more}{body}".encode(), b"", -1) as url:
            asked = client(settings=Settings(upstream=Upstream(base_url=url, api_key=key)))
            replies.append(asked.post(CHATS, json={"messages": QUESTION}))

    assert '(key)\n(key)\n(key)\n"(key)"\ndata: [DONE]\n\n' == replies[0].text
    assert "x-key" not in replies[0].headers
    assert (502, True) == (replies[1].status_code, "compressed" in replies[1].text)


def test_items_of_a_list_count_as_one_document(client, upstream):
    """Of a tool of MCP, a part each; what they are cut to stands in the last one."""
    asked = client(settings=settings(upstream, filter_tools=("*",), limits=Limits(max_documents=1)))
    said = [json.dumps({"id": n, "says": "Nobody sang in Rome. " * 9}) for n in range(40)]
    said[9] = json.dumps({"id": 9, "says": "Seals sang Summer Breeze."})
    result = {"role": "tool", "content": [{"type": "text", "text": one} for one in said]}
    reply = asked.post(CHATS, json={"messages": [*QUESTION, result]})
    (part,) = upstream.messages[-1]["content"]

    assert "x-ragsieve-error" not in reply.headers
    assert said[9] in part["text"] and len(part["text"]) < 999


def test_a_long_conversation_is_read_in_linear_time(system):
    """Also where each question leans on those before; past the deadline nothing is filtered."""
    content = f"<documents>{'<document>Bees make honey.</document>' * 9}</documents>And why?"
    service = Service({"nearest": system}, Settings(limits=Limits(max_documents=1)))

    def chat(size):
        messages = [{"role": "user", "content": content}] * size
        return sieved(service, "nearest", {}, {"messages": messages})

    assert is_linear(chat, 400)
    service = Service({"nearest": system}, Settings())
    with until(time.monotonic()):
        assert ["forwarded unfiltered: the time for a reply is over"] == chat(1).errors


@pytest.mark.parametrize(
    "host", ["127.0.0.1:80/v1/files?", "127.0.0.1:80/v1/files", "127.0.0.1/v1/files#"]
)
def test_the_host_header_chooses_no_path(client, upstream, monkeypatch, host):
    """Neither past the guard, nor in what is forwarded with the server's own key."""
    asked = client(settings=settings(upstream))
    headers = {"host": host}
    refused = asked.post(CHATS, json={"messages": QUESTION}, headers=headers)
    monkeypatch.setattr("ragsieve.server.guard.Guard._check_host", lambda *_: None)
    asked.post(CHATS, json={"messages": QUESTION}, headers=headers)

    assert (400, "bad_host") == (refused.status_code, refused.json()["error"]["code"])
    assert [CHATS] == upstream.paths


def test_only_chats_and_models_are_forwarded(client, upstream):
    """And without an upstream, nothing is."""
    asked = client(settings=settings(upstream))

    assert {"object": "list", "data": []} == asked.get("/v1/models").json()
    assert 404 == asked.post("/v1/embeddings", json={}).status_code
    assert 404 == client().post(CHATS, json={"messages": QUESTION}).status_code


SONG = "Seals sang Summer Breeze."
PAGE = f"{SONG} {' '.join(f'It was a hit in week {n} of May.' for n in range(30))}"
RAIN = f"Nobody came. {' '.join(f'It rained in Rome on day {n}.' for n in range(40))}"
SAYS = "tokens kept, {} parts left out: show_dropped(handle='"


def cut(content):
    """What is kept of a result; its last line says that something was cut."""
    kept, _, line = content.rpartition("\n\n")
    assert SAYS.format(30 if kept == SONG else 40) in line
    return kept


def agent(*names):
    """A question, calls of tools by their names, and what each returned."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for n, name in enumerate(names)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"c{n}", "content": [PAGE, RAIN][n % 2]}
        for n, _ in enumerate(names)
    ]
    return [*QUESTION, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def test_results_of_tools_are_filtered_where_the_server_says_so(serve, system, upstream):
    """By OpenAI's client: each message keeps its place and its call; the rest can be asked for."""
    told = settings(upstream, filter_tools=("*",))
    url = serve(create_app({"nearest": system}, settings=told))
    messages = agent("search", "browse")
    create = openai_of(url).chat.completions.with_raw_response.create
    reply = create(model="m", messages=messages)
    song, rain = upstream.messages[2:]
    handle = song["content"].partition("handle='")[2][:12]
    asked = {"handle": handle, "query": "week 7", "max_tokens": 500}
    page = httpx.post(f"{url}/v1/dropped", json=asked).json()
    wrong = httpx.post(f"{url}/v1/dropped", json={**asked, "handle": "0"})

    assert "Seals" == reply.parse().choices[0].message.content
    assert messages[:2] == upstream.messages[:2]
    assert SONG == cut(song["content"]) and len(cut(rain["content"]).split()) < 9
    assert [("tool", "c0"), ("tool", "c1")] == [
        (m["role"], m["tool_call_id"]) for m in (song, rain)
    ]
    assert {"tool-results": "2/2", "documents": "0/0", "cache-broken": "0"} == {
        name: reply.headers[f"x-ragsieve-{name}"]
        for name in ("tool-results", "documents", "cache-broken")
    }
    before, after = (int(reply.headers[f"x-ragsieve-tokens-{n}"]) for n in ("before", "after"))
    assert after < before / 5 and float(reply.headers["x-ragsieve-seconds"]) > 0
    assert "It was a hit in week 7 of May." in page["runs"][0]["text"]
    assert 422 == wrong.status_code
    assert wrong.json()["error"]["message"].startswith("handle must be of a resu")


def test_a_later_turn_sends_the_same_bytes_of_earlier_ones(client, upstream):
    """Results and documents are cut for their own turn; a rule by name gives another budget."""
    rules = (ToolRule(name="browse", cut=False), "*")
    asked = client(settings=settings(upstream, filter_tools=rules))
    first = [*TAGGED, *agent("search", "browse")[1:]]
    more = [{"role": "assistant", "content": "Seals."}, said("In what week?")]
    replies = [asked.post(CHATS, json={"messages": m}) for m in (first, [*first, *more])]
    sent = [json.loads(body)["messages"] for body in upstream.bodies]
    budget = {"messages": first, "ragsieve": {"max_tokens": 2, "trace": True}}
    broken = asked.post(CHATS, json=budget)
    (result,) = broken.json()["ragsieve"]["tool_results"]

    follows = [*first, more[0], said(f"<documents>{BLOCK}</documents>Why?")]
    asked_for = asked.post(CHATS, json={"messages": follows, "ragsieve": {"trace": True}}).json()
    query = "user: Who sang Summer Breeze?\nassistant: Seals.\nuser: Why?"

    assert query == asked_for["ragsieve"]["query"]
    assert sent[1] == [*sent[0], *more]
    assert "It rained" not in sent[0][0]["content"] and RAIN == sent[0][3]["content"]
    assert ["0", "0"] == [reply.headers["x-ragsieve-cache-broken"] for reply in replies]
    assert int(broken.headers["x-ragsieve-cache-broken"]) > 10
    assert ("search", "c0", QUESTION[0]["content"]) == tuple(
        result[name] for name in ("tool", "call", "question")
    )


def test_model_calls_for_results_of_tools_are_counted_once(client, upstream):
    """Those of the request: a later turn finds what was cut before."""
    pruned = ragsieve.load("finefilter", "fake:echo", pruner="fake:pruner")
    asked = client({"pruned": pruned}, settings(upstream, filter_tools=("*",)))
    replies = [asked.post(CHATS, json={"messages": agent("search", "browse")}) for _ in "12"]

    assert ["2", "0"] == [reply.headers["x-ragsieve-model-calls"] for reply in replies]


@pytest.mark.parametrize(
    ("patterns", "filtered"),
    [((), []), (("web_*",), [3]), (("calc", "web_*"), [2, 3]), (("web",), [])],
)
def test_only_tools_that_the_server_names_are_filtered(client, upstream, patterns, filtered):
    """By default none; what they do not match passes byte by byte."""
    body = json.dumps({"messages": agent("calc", "web_search")}, indent=1).encode()
    asked = client(settings=settings(upstream, filter_tools=patterns))
    asked.post(CHATS, content=body, headers=JSON)
    sent = agent("calc", "web_search")

    assert filtered == [n for n, m in enumerate(upstream.messages) if m != sent[n]]
    assert filtered or body == upstream.bodies[0]


def test_parts_of_a_result_are_filtered_one_by_one(client, upstream):
    """Other parts and blank texts pass, and so does a call that nobody can name."""
    parts = [{"type": "text", "text": PAGE}, {"type": "image_url"}, {"type": "text", "text": " "}]
    odd = [
        {"role": "assistant", "tool_calls": [7, {"id": ["c"], "function": None}]},
        {"role": "assistant", "tool_calls": 7},
        {"role": "tool", "tool_call_id": ["c"], "content": parts},
        {"role": "tool", "content": None},
    ]
    asked = client(settings=settings(upstream, filter_tools=("*",)))
    reply = asked.post(CHATS, json={"messages": [*QUESTION, *odd]})

    assert "x-ragsieve-error" not in reply.headers
    song, *others = upstream.messages[3]["content"]
    assert (SONG, parts[1:]) == (cut(song["text"]), others)
    assert [*odd[:2], odd[3]] == [upstream.messages[n] for n in (1, 2, 4)]


def test_a_broken_filter_costs_neither_document_nor_result(client, upstream, system):
    """All are forwarded as they came, and a header says why."""
    fails = failing(system, ModelError("it broke\nbadly é"))
    asked = client({"fails": fails}, settings(upstream, filter_tools=("*",)))
    messages = agent("search", "browse")
    reply = asked.post(CHATS, json={"messages": messages, "documents": [*DOCUMENTS, "é"]})

    assert (200, REPLY) == (reply.status_code, reply.content)
    first, *others = reply.headers["x-ragsieve-error"].split("; ")
    assert "forwarded unfiltered: it broke badly ?" == first
    assert others and all("was skipped: ModelError: it broke" in other for other in others)
    assert all(one in upstream.messages[0]["content"] for one in DOCUMENTS)
    assert messages[1:] == upstream.messages[1:]


def items(*names):
    """The same as items of OpenAI's Responses."""
    calls = [
        {"type": "function_call", "call_id": f"c{n}", "name": name, "arguments": "{}"}
        for n, name in enumerate(names)
    ]
    results = [
        {"type": "function_call_output", "call_id": f"c{n}", "output": [PAGE, RAIN][n % 2]}
        for n, _ in enumerate(names)
    ]
    return [*QUESTION, *calls, *results]


def test_outputs_in_responses_are_filtered(serve, system, upstream):
    """By OpenAI's client: items keep their places and calls; all else is as it came."""
    told = settings(upstream, filter_tools=("web_*",))
    asked = openai_of(serve(create_app({"nearest": system}, settings=told)))
    given = items("web_search", "web_browse", "calc")
    create = asked.responses.with_raw_response.create
    reply = create(model="m", input=given, instructions="Be brief.", previous_response_id="r0")
    sent = json.loads(upstream.bodies[-1])

    assert (REPLY, ["/v1/responses"]) == (reply.content, upstream.paths)
    assert "2/2" == reply.headers["x-ragsieve-tool-results"]
    assert ("Be brief.", "r0") == (sent["instructions"], sent["previous_response_id"])
    assert {"model", "input", "instructions", "previous_response_id"} == {*sent}
    assert SONG == cut(sent["input"][4]["output"]) != cut(sent["input"][5]["output"])
    for item, name in zip(sent["input"], given, strict=True):
        assert {k: v for k, v in name.items() if k != "output"}.items() <= item.items()
    assert given[6] == sent["input"][6]


def test_documents_in_responses_are_filtered(client, upstream):
    """Those of the field, and those in tags of an input that is one text."""
    asked = client(settings=settings(upstream))
    asked.post("/v1/responses", json={"input": TAGGED[0]["content"]})
    parts = [{"type": "input_text", "text": "Who sang Summer Breeze?"}]
    message = {"role": "user", "content": parts}
    asked.post("/v1/responses", json={"input": [message], "documents": DOCUMENTS})
    tagged, field = [json.loads(body)["input"][0]["content"] for body in upstream.bodies]

    assert ["Seals sang Summer Breeze."] == [d.text for d in blocks(tagged)[0].documents]
    assert ["input_text", "input_text"] == [part["type"] for part in field]
    assert ["Seals sang Summer Breeze."] == [d.text for d in blocks(field[0]["text"])[0].documents]


async def cut_short(url, system, count, arrived):
    """What so many chats at once are sent, which their server ends once they have arrived."""
    limits = Limits(per_client=count)
    app = create_app(
        {"nearest": system}, settings=Settings(upstream=Upstream(base_url=url), limits=limits)
    )
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": CHATS, "query_string": b""}
    scope |= {"headers": headers}
    sent = [[] for _ in range(count)]

    def chat(messages):
        body = [{"type": "http.request", "body": b'{"messages": []}'}]

        async def receive():
            return body.pop() if body else await asyncio.sleep(60)

        async def send(message):
            messages.append(message)

        return app({**scope, "app": app}, receive, send)

    async with app.router.lifespan_context(app), asyncio.timeout(20):
        chats = [asyncio.create_task(chat(messages)) for messages in sent]
        while not (arrived() or any(len(messages) > 1 for messages in sent)):
            await asyncio.sleep(0.05)
        for one in chats:
            one.cancel()
        await asyncio.wait(chats)
    return sent


def test_a_server_that_ends_says_so_to_its_chats(system, upstream):
    """503, or an event behind those that came; however many are at the upstream at once."""
    upstream.hold.clear()
    whole = asyncio.run(cut_short(upstream.url, system, 110, lambda: len(upstream.bodies) == 110))
    with stalling("one event, then silent") as url:
        ((head, event, *last),) = asyncio.run(cut_short(url, system, 1, lambda: False))

    assert {503} == {messages[0]["status"] for messages in whole}
    assert all(b'"code":"ending"' in messages[1]["body"].replace(b" ", b"") for messages in whole)
    assert (200, True) == (head["status"], event["body"].startswith(b"data: "))
    assert b'"code": "ending"' in last[0]["body"]
    assert not last[-1]["more_body"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "mode"),
    [
        *product(["timeout"], ["silent", "trickling head", "trickling body", "trickling events"]),
        *product(["broke"], ["endless body", "endless event", "closes at half"]),
    ],
)
def test_an_upstream_that_does_not_end_is_given_up(client, mode, code):
    """In bounded time and memory, with a fault, or with an event behind what came."""
    with stalling(mode) as url:
        seconds = 1 if code == "timeout" else 20  # megabytes come first
        asked = client(settings=Settings(upstream=Upstream(base_url=url, total_s=seconds)))
        began = time.monotonic()
        text = asked.post(CHATS, json={"messages": []}).text

    assert f"upstream_{code}" in text
    assert time.monotonic() - began < seconds + 4
