"""The MCP server, asked by the SDK's own client: in process, over stdio, over HTTP."""

import asyncio
import json
import runpy
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

import ragsieve
from ragsieve.cli.commands import cli
from ragsieve.errors import InputError, SourceError
from ragsieve.integrations.mcp import create_server
from ragsieve.integrations.mcp_opening import Opening
from ragsieve.server import Limits
from ragsieve.types import Document, Query
from ragsieve_research.artifacts.places import Index
from ragsieve_research.retrieve.indexes import IndexOptions, create_index
from tests.processes import python
from tests.serving import Handler, free_port, served
from tests.stalling import stalling

QUESTION = "Who designed the Eiffel Tower?"
ROOT = Path(__file__).parents[3]
LINES = (ROOT / "examples/eiffel.jsonl").read_text(encoding="utf-8")
DOCUMENTS = [json.loads(line)["text"] for line in LINES.splitlines()]
COMMAND = [sys.executable, "-m", "ragsieve", "mcp"]
TOOL = SimpleNamespace(**runpy.run_path(str(ROOT / "tools" / "mcp_replies.py")))


def asked(server, work):
    """What a client gets from a server or a transport."""

    async def session():
        async with Client(server) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(session(), 120))


async def filters(client, **options):
    arguments = {"question": QUESTION, "documents": DOCUMENTS, **options}
    reply = await client.call_tool("filter_documents", arguments)
    assert not reply.is_error, reply
    return dict(reply.structured_content or {})


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """An index of the example, searched by words."""
    folder = tmp_path_factory.mktemp("indexes") / "towers"
    corpus = create_index(folder, IndexOptions(embedder="none", chunks="whole"))
    corpus.add([Document(str(n), text) for n, text in enumerate(DOCUMENTS)])
    return folder


@pytest.mark.parametrize(
    "limits",
    [
        {"max_chars": 120},
        {"max_tokens_per_document": 20},
        {"max_chars_per_document": 90},
        {"max_share": 0.5, "max_chars": 200},
        {"keep_answer": 0.6},
        {"min_score": 0.6},
        {"min_answerable": 1.0},
    ],
    ids=str,
)
def test_documents_are_filtered_as_by_python(limits):
    """The same text, within the budget and at the numbers; fewer tokens than before."""
    system = ragsieve.load("finefilter")
    filtered = asked(
        create_server(system), lambda client: filters(client, max_tokens=60, limits=limits)
    )
    own = limits
    result = system.at(max_tokens=60, **own)(QUESTION, DOCUMENTS)

    assert result.text == filtered["text"] != system(QUESTION, DOCUMENTS).text
    assert filtered["tokens_after"] <= 60 < filtered["tokens_before"]
    assert 0 <= filtered["answerable"] <= 1


def test_what_does_not_fit_and_warnings_are_said():
    """So that a model reads no empty text as nothing found; without warnings there is no field."""
    german = ["Gustave Eiffels Ingenieure haben den Eiffelturm im Jahr 1884 in Paris entworfen."]

    async def calls(client):
        return [await filters(client, **one) for one in ({}, {"max_tokens": 2}, asks)]

    asks = {"question": "Wer hat den Eiffelturm entworfen?", "documents": german}
    plain, short, foreign = asked(create_server(ragsieve.load("finefilter")), calls)

    assert "warnings" not in plain
    assert "[what matters does not fit max_tokens=2]" == short["text"]
    assert 0 == short["tokens_after"] and "max_tokens=2 is too little" in short["warnings"][0]
    assert "not English (de)" in foreign["warnings"][0] and foreign["text"]


def test_the_same_call_gets_the_same_bytes_and_says_what_it_saved():
    """In another server, too; seconds stand where no model reads them, and no cache is broken."""

    async def calls(client):
        arguments = {"question": QUESTION, "documents": DOCUMENTS}
        return await client.call_tool("filter_documents", arguments)

    one, two = (asked(create_server(ragsieve.load("finefilter")), calls) for _ in range(2))
    saved = one.meta["ragsieve"]

    assert one.content == two.content and one.structured_content == two.structured_content
    assert saved["tokens_after"] < saved["tokens_before"] and saved["seconds"] > 0
    assert 0 == saved["cache_broken"]


def test_handles_of_a_server_are_asked_there(monkeypatch):
    """A proxy has cut a result, and the agent's MCP server shows what is gone; or says why not. It
    shows the proxy, and no other server, the token that this one asks for, and waits for a time."""
    run = {"document": "c", "start": 0, "end": 2, "text": "No", "spans": 1, "reason": "score"}

    class Proxy(Handler):
        def do_POST(self):
            codes = {"abc": 200, "moved": 302}
            status = codes.get(self.asked()["handle"], 422) if self.path == "/v1/dropped" else 422
            status = status if self.headers["Authorization"] == "Bearer secret-7" else 401
            told = {"runs": [run], "cursor": ""} if status == 200 else "no"
            self.reply(status, told, Location="/v1/dropped")

        def do_GET(self):
            self.reply(200, {"runs": [run], "cursor": ""})

    async def asks(client):
        tried = [{"handle": "abc"}, {"handle": "x"}]
        tried += [{"handle": "abc", "document": "1"}, {"handle": "moved"}]
        return [await client.call_tool("show_dropped", one) for one in tried]

    with served(Proxy) as url:
        server = create_server(ragsieve.load("finefilter"), server=url, token="secret-7")
        shown, wrong, other, moved = asked(server, asks)
        refused, *_ = asked(create_server(ragsieve.load("finefilter"), server=url), asks)
    monkeypatch.setattr("ragsieve.integrations.mcp.WAIT_S", 0.5)
    with stalling("trickling body") as slow:
        late, *_ = asked(create_server(ragsieve.load("finefilter"), server=slow), asks)
    away, *_ = asked(create_server(ragsieve.load("finefilter"), server=url), asks)

    assert {"runs": [run], "cursor": ""} == shown.structured_content
    assert "the server said 422" in wrong.content[0].text
    assert "document goes with no handle of a proxy, got '1'" in other.content[0].text
    assert "the server said 302" in moved.content[0].text
    assert "it takes over 0.5 s" in late.content[0].text
    assert "the server said 401" in refused.content[0].text
    assert away.is_error and "the server cannot be asked" in away.content[0].text


def test_documents_have_ids_and_titles():
    """As the library takes them; texts alone may stand between them."""
    system = ragsieve.load("finefilter")
    documents = [
        {"id": "koechlin", "title": "The engineer", "text": DOCUMENTS[1]},
        {"id": 7, "title": None, "text": DOCUMENTS[0]},
        DOCUMENTS[2],
    ]

    async def work(client):
        filtered = await filters(client, documents=documents)
        shown = await client.call_tool("show_dropped", {"handle": filtered["handle"]})
        return filtered, {run["document"] for run in shown.structured_content["runs"]}

    filtered, dropped = asked(create_server(system), work)

    assert system(QUESTION, documents).text == filtered["text"]
    assert "The engineer: " in filtered["text"]
    assert {"7", "2"} <= dropped <= {"koechlin", "7", "2"}


def test_what_was_dropped_comes_back_by_its_handle():
    """Verbatim, a run of spans in a row, with why; of one document where it is named."""

    async def work(client):
        handle = (await filters(client))["handle"]
        every = await client.call_tool("show_dropped", {"handle": handle})
        one = await client.call_tool("show_dropped", {"handle": handle, "document": "1"})
        return every.structured_content["runs"], one.structured_content["runs"]

    system = ragsieve.load("finefilter")
    every, one = asked(create_server(system), work)
    dropped = [row for row in system(QUESTION, DOCUMENTS).rows if not row["kept"]]

    assert all(DOCUMENTS[int(s["document"])][s["start"] : s["end"]] == s["text"] for s in every)
    assert len(every) < len(dropped) == sum(run["spans"] for run in every)
    assert all(run["reason"] for run in every)
    assert [run for run in every if run["document"] == "1"] == one


def test_what_cannot_be_encoded_is_replaced(tmp_path):
    """Half of a character pair in an index costs no result, kept or dropped."""
    text = "Koechlin \ud800 designed the Eiffel Tower. Bananas \ud800 are yellow. They grow."
    corpus = create_index(tmp_path / "odd", IndexOptions(embedder="none", chunks="whole"))
    corpus.add([Document("d\ud800", text)])
    system = ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})

    async def work(client):
        search = {"question": QUESTION, "index": "odd"}
        found = (await client.call_tool("search_index", search)).structured_content
        dropped = await client.call_tool("show_dropped", {"handle": found["handle"]})
        return found["text"], dropped.structured_content["runs"]

    kept, (run,) = asked(create_server(system, {"odd": Index(place=str(tmp_path / "odd"))}), work)

    assert "Koechlin \ufffd designed the Eiffel Tower." == kept
    assert "Bananas \ufffd are yellow. They grow." == run["text"]
    assert "Bananas" == text[run["start"] :][:7]


def test_a_reply_is_never_longer_than_a_page():
    """8,000 tokens, or what was asked for; all pages together are all that was dropped."""
    system = ragsieve.load("finefilter", pruner="fake:pruner")
    text = " ".join(f"{n}. {one}" for n in range(60) for one in DOCUMENTS)

    async def pages(client, **options):
        arguments = {"handle": (await filters(client, documents=[text]))["handle"], **options}
        replies = [await client.call_tool("show_dropped", arguments)]
        while cursor := replies[-1].structured_content["cursor"]:
            replies.append(await client.call_tool("show_dropped", {**arguments, "cursor": cursor}))
        return replies

    server = create_server(system)
    for most, options in ((8000, {}), (20_000, {"max_tokens": 20_000})):
        replies = asked(server, lambda client, options=options: pages(client, **options))
        runs = [run for reply in replies for run in reply.structured_content["runs"]]
        lengths = [sum(system.reader.count([part.text for part in r.content])) for r in replies]
        dropped = [row for row in system(QUESTION, [text]).rows if not row["kept"]]

        assert len(text) > 60_000 and 2 <= len(replies)
        assert max(lengths) <= most < 2 * lengths[0]
        assert all(text[run["start"] : run["end"]] == run["text"] for run in runs)
        assert len(dropped) == sum(run["spans"] for run in runs)
        assert all(
            any(run["start"] <= row["start"] and row["end"] <= run["end"] for run in runs)
            for row in dropped
        )


FILTER, ASKED = "filter_documents", {"question": "q", "documents": []}


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("show_dropped", {"handle": "x"}, "handle must be of a result that is remembered, got 'x'"),
        (FILTER, {**ASKED, "question": " "}, "must not be blank"),
        (FILTER, {**ASKED, "limits": {"max_chars": -1}}, "max_chars must not be negative, got -1"),
        (FILTER, {**ASKED, "limits": {"max_words": 1}}, "limits.max_words is not known"),
        (FILTER, {**ASKED, "budget": 5}, "budget is not known"),
        (FILTER, {**ASKED, "documents": [{"text": "a", "url": "u"}]}, "documents.0.url is not kno"),
        ("search_index", {"question": "q", "index": "other"}, "index must be one of towers"),
        ("search_index", {"question": "q", "index": "towers", "k": 10**400}, "k must be from 1 to"),
    ],
)
def test_bad_arguments_are_one_line(index, tool, arguments, message):
    """An error of the tool, which the model reads, with rule and value."""
    server = create_server(ragsieve.load("finefilter"), {"towers": Index(place=str(index))})
    reply = asked(server, lambda client: client.call_tool(tool, arguments))

    assert reply.is_error
    assert message in reply.content[0].text
    assert "\n" not in reply.content[0].text


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["a"] * 4, "max_documents must be at most 3, got 4"),
        (["a b c " * 20], "max_tokens must be at most 40, got 61 in the documents"),
        (["a " * 90_000], "max_tokens must be at most 40, got 180001 bytes in the documents"),
        (["sleeps"], "timeout_s must not pass, got over 0.2 s"),
    ],
)
def test_a_call_has_the_limits_of_a_server(documents, message):
    """An error of the tool in time; the next call is answered."""

    def stage(query, segments):
        if segments[0].text == "sleeps":
            time.sleep(1)
        return [*segments]

    system = replace(ragsieve.load("all", "fake:echo"), stage=stage)
    limits = Limits(max_documents=3, max_tokens=40, timeout_s=0.2)

    async def calls(client):
        arguments = {"question": "q", "documents": documents}
        bad = await client.call_tool("filter_documents", arguments)
        return bad, await client.call_tool("filter_documents", {**arguments, "documents": ["b"]})

    bad, good = asked(create_server(system, limits=limits), calls)

    assert (True, message) == (bad.is_error, bad.content[0].text.rpartition(": ")[2])
    assert not good.is_error and "b" == good.structured_content["text"]


@pytest.mark.parametrize(
    ("error", "when", "message"),
    [
        (SourceError("the index\nis away"), "asked", "the search failed: SourceError: the"),
        (SourceError("the index\nis away"), "opened", "the index is away"),
        (OSError("no disk"), "opened", "OSError: no disk"),
    ],
)
def test_a_search_that_fails_is_an_error(error, when, message):
    """Which says why; also where a filter that fails keeps the documents."""

    def fail(query):
        raise error

    def opened(*_):
        return fail(Query("q")) if when == "opened" else fail

    broken = SimpleNamespace(open=opened, about=dict)
    server = create_server(ragsieve.load("finefilter").lenient(), {"towers": broken})
    arguments = {"question": "q", "index": "towers"}
    reply = asked(server, lambda client: client.call_tool("search_index", arguments))

    assert reply.is_error and message in reply.content[0].text


@pytest.mark.slow
def test_a_process_serves_over_stdio(index):
    """As an agent's configuration starts it, with an index as tool and resource."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "--source", f"index:{index}"]
    )

    async def work(client):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        search = {"question": QUESTION, "index": "towers", "k": 3}
        reply = await client.call_tool("search_index", search)
        about = await client.read_resource("ragsieve://indexes/towers")
        return tools, reply.structured_content, about.contents[0].text

    tools, found, about = asked(stdio_client(parameters), work)

    assert {"filter_documents", "search_index", "show_dropped"} == tools
    assert "Koechlin" in found["text"]
    assert {"documents": len(DOCUMENTS), "passages": len(DOCUMENTS)} == json.loads(about)


@pytest.mark.parametrize("searches", [False, True])
@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_a_session_opens_as_the_library_opens_it(version, searches):
    """Before the library is there, which then replies to the rest: else `tools/mcp_replies.py`."""
    replies = StringIO()
    session = Opening(StringIO(TOOL.client(version)), replies, searches)
    by_library = TOOL.library(version, searches=searches)

    assert session.answer()
    assert by_library == [json.loads(line) for line in replies.getvalue().splitlines()]


def test_half_a_character_pair_is_replaced():
    """As in all other texts."""
    session = Opening(StringIO(json.dumps({"id": 1, "x": ["\ud83d", "😀"]})), StringIO(), False)
    session.answer()

    assert {"id": 1, "x": ["\ufffd", "😀"]} == json.loads(session.readline())


def test_a_session_opens_before_its_library_is_imported():
    """And before the net's; what the opening cannot answer goes to the library, line by line."""
    code = """
import io, json, sys
from ragsieve.cli.mcp import Opening, SystemSpec, mcp_command
with SystemSpec().opened():
    for line in map(json.dumps, json.load(sys.stdin)):
        session = Opening(io.StringIO(line), io.StringIO(), False)
        assert session.answer() and session.readline() == line, line
print(*{name.partition(".")[0] for name in sys.modules})
"""
    old = {"method": "initialize", "id": 1, "params": {"protocolVersion": "1999-01-01"}}
    odd = [7, "{", {"method": "tools/list", "id": 1}, {"method": "ping", "id": 2}, old]
    names = python(code, input=json.dumps(odd)).stdout.split()

    assert set() == {"mcp", "pydantic", "anyio", "asyncio", "onnxruntime"} & {*names}


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", ["The Eiffel Tower is by Koechlin. It rains.", "It is. " * 430_000]
)
def test_a_process_serves_and_ends_with_its_client(document):
    """Soon after its standard input is closed, in 2 s alone, whatever it is at: here 3 MB."""
    call = {"name": "filter_documents", "arguments": {**ASKED, "documents": [document]}}
    row = {"jsonrpc": "2.0", "method": "tools/call", "params": call, "id": 2}
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdin.write(f"{TOOL.client('2025-06-18')}{json.dumps(row)}\n")
        process.stdin.flush()
        opened = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        if len(document) < 100:
            assert (
                "Koechlin" in json.loads(process.stdout.readline())["result"]["content"][0]["text"]
            )
        else:
            time.sleep(4)
        process.stdin.close()

        assert [0, "a"] == opened and 0 == process.wait(10)


@pytest.fixture
def url():
    """A server over HTTP, ended by its test."""
    port = free_port()
    command = [*COMMAND, "--http", "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            ends = time.monotonic() + 60
            while time.monotonic() < ends:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.mark.slow
def test_a_process_serves_over_http(url):
    """The same tools at one address of this machine."""
    filtered = asked(streamable_http_client(url), filters)

    assert ragsieve.load("finefilter")(QUESTION, DOCUMENTS).text == filtered["text"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--server-token-env", "HOME"], "--server-token-env goes with --server"),
        (
            ["--server", "http://127.0.0.1:1", "--server-token-env", "NO_SUCH"],
            "--server-token-env must name a variable that is set, got 'NO_SUCH'",
        ),
        (["--server", "ftp://x"], "--server must be http"),
    ],
)
def test_a_servers_token_comes_from_a_variable(arguments, message):
    """Which must be set, and go with a server."""
    run = CliRunner().invoke(cli, ["mcp", *arguments])

    assert message in str(run.exception)


def test_a_token_is_one_that_a_header_can_hold():
    """And is never shown."""
    with pytest.raises(InputError, match=r"token must be printable ASCII .* \(value not shown\)"):
        create_server(ragsieve.load("finefilter"), server="http://127.0.0.1:1", token="a\nb")
