"""Models by name within a run, a command or a system: each at its own address, or nowhere."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

import ragsieve as library
from ragsieve.errors import InputError
from ragsieve.models.openai import OpenAI
from ragsieve.sources import named_source

LOOKED_UP = []
KEY = "sk-walrus-7f3a9c21d4e8b605"
DOCUMENTS = ["Seals and Crofts sang Summer Breeze.", "Parking is free."]


def _look(event, arguments):
    if event in ("socket.getaddrinfo", "socket.connect"):
        host = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        LOOKED_UP.append(str(host[0] if isinstance(host, tuple) else host))


sys.addaudithook(_look)  # which sees what any library asks of the network


@pytest.fixture(autouse=True)
def nothing_public(monkeypatch, ragsieve):
    """No name but this machine's is looked up; a key is in the environment."""
    for name in ("OPENAI_BASE_URL", "CO_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("CO_API_KEY", KEY)
    Path("a.txt").write_text(DOCUMENTS[0])
    LOOKED_UP.clear()
    yield

    assert {*LOOKED_UP} <= {"127.0.0.1", "localhost", "::1"}


@pytest.fixture
def server(serve):
    """A server of every kind of model."""

    def script(path, body, number):
        if path.endswith("/embeddings"):
            rows = [{"index": i, "embedding": [1.0, i]} for i, _ in enumerate(body["input"])]
            return 200, {"data": rows}
        if "messages" not in body:
            return 404, {"error": path}
        said = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
        return 200, {"choices": [said], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}

    return lambda: serve(script)


def run_file(*lines):
    """The command for a run of one question."""
    own = ("questions = 1", "latency = 0", 'embedder = "fake:hashing"', 'data = [{name="sample"}]')
    text = "\n".join((*own, *lines))
    if "systems" not in text:
        text = 'systems = [{name = "all"}]\n' + text
    Path("run.toml").write_text(text)
    return ("bench", "run.toml", "--output", "out")


def test_a_judge_of_a_generators_name_is_that_generator(ragsieve, server):
    """Its address and options stand where the generator's do, and nowhere else."""
    here = server()
    own = f'generators = [{{llm = "openai:m", options = {{base_url = "{here.url}/v1"}}}}]'
    bench = run_file('judge = "openai:m"', own)
    planned, ended = ragsieve(*bench, "--dry-run"), ragsieve(*bench)
    header = json.loads(Path("out/run.json").read_text())

    assert [0, 0] == [planned.code, ended.code]
    assert {"/v1/chat/completions"} == {p for p in here.paths if p.startswith("/v1/chat")}
    assert [f"openai:m@{here.url}/v1"] == header["addresses"]
    assert f"asks openai:m@{here.url}/v1" in planned.err
    assert KEY not in f"{planned}{ended}{header}"


def test_two_models_at_two_addresses(ragsieve, server):
    """Each has what is its own: a judge, a critic, an embedder."""
    one, other = server(), server()
    tables = [
        f'[model_options."openai:{name}"]\nbase_url = "{other.url}/v1"\napi_key = "k-{name}"'
        for name in ("j", "c", "my-embed")
    ]
    row = '{name = "chunkrag", models = {critic = "openai:c", embedder = "openai:my-embed"}}'
    own = f'generators = [{{llm = "openai:m", options = {{base_url = "{one.url}/v1"}}}}]'
    bench = run_file(f"systems = [{row}]", 'judge = "openai:j"', own, *tables)
    planned, ended = ragsieve(*bench, "--dry-run"), ragsieve(*bench)
    names = ("openai:c", "openai:j", "openai:m", "openai_embeddings:my-embed")
    urls = (other.url, other.url, one.url, other.url)

    assert (0, 0) == (planned.code, ended.code)
    assert {"m"} == {body["model"] for body in one.requests if "messages" in body}
    assert {"j", "c", "my-embed"} == {body["model"] for body in other.requests}
    assert {"Bearer k-j", "Bearer k-c", "Bearer k-my-embed"} == {*other.keys}
    for name, url in zip(names, urls, strict=True):
        assert f"asks {name}@{url}/v1" in planned.err
    assert "k-j" not in planned.err + Path("out/run.json").read_text()


LOCAL = "base_url=http://127.0.0.1:9/v1"
ASK = ("ask", "-q", "Who sang?", "a.txt", "--llm", "openai:m", "--llm-option", LOCAL)
ROW = 'generators = [{llm = "openai:m", options = {base_url = "http://127.0.0.1:9/v1"}}]'
PARTS = 'systems = [{{name = "{}", models = {{{} = "openai:{}"}}}}]'
RUNS = [
    (ROW, 'judge = "openai:j"'),
    (ROW, PARTS.format("winnowrag", "critic", "j")),
    (ROW, PARTS.format("top-sentences", "embedder", "embed-j")),
    (
        'generators = [{llm = "openai:m"}]',
        'model_options."openai:j".base_url = "http://127.0.0.1:9/v1"',
    ),
]


@pytest.mark.parametrize(
    "words",
    [
        (*ASK, "--system", "winnowrag", "--model", "critic=openai:j"),
        (*ASK, "--system", "chunkrag", "--model", "reranker=cohere:j"),
        (*ASK, "--system", "top-sentences", "--embedder", "openai:embed-j"),
        ("serve", "--upstream", "http://127.0.0.1:9/v1", "--llm", "openai:j"),
        *RUNS,
    ],
)
def test_a_public_address_needs_somebodys_word(ragsieve, words):
    """Where another model's address is named, a line says whose is missing."""
    ended = ragsieve(*(run_file(*words) if words in RUNS else words))

    assert 2 == ended.code
    assert "has no base_url, while" in ended.err
    assert 1 == len(ended.err.strip().splitlines())


def test_a_name_has_one_address(ragsieve):
    """Two are an error, whoever names them."""
    other = "openai:m.base_url=http://127.0.0.1:10/v1"
    twice = (
        (*ASK, "--model-option", other),
        (*run_file(ROW), "--model-option", other),
        run_file(ROW[:-1] + ', {llm = "openai:m", label = "n"}]'),
    )

    assert [(2, True)] * 3 == [
        (ended.code, "one base_url" in ended.err) for ended in (ragsieve(*w) for w in twice)
    ]


def test_an_index_asks_where_it_is_told(ragsieve, server, monkeypatch):
    """The name of its embedder lies in its folder, and its address in the command."""
    here = server()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{here.url}/v1")
    built = ragsieve("index", "build", "index", "a.txt", "--embedder", "openai:embed-e")
    monkeypatch.delenv("OPENAI_BASE_URL")
    ask = ("filter", "-q", "Who sang?", "--source", "index:index", "--llm", "openai:m")
    unwritten = ragsieve(*ask, "--llm-option", LOCAL)
    found = ragsieve(*ask, "--model-option", f"openai:embed-e.base_url={here.url}/v1")
    written = ragsieve(
        *(*ask, "--llm-option", f"base_url={here.url}/v1"),
        *("--model-option", f"openai:embed-e.base_url={here.url}/v1"),
    )

    assert (0, 2, 2, 0) == (built.code, unwritten.code, found.code, written.code)
    assert "openai_embeddings:embed-e has no base_url" in unwritten.err
    assert "openai:m has no base_url" in found.err
    assert "Summer Breeze" in written.out

    mcp = pytest.importorskip("ragsieve.integrations.mcp")
    llm = OpenAI("m", base_url=f"{here.url}/v1")
    kinds = {"index": named_source("index:index", {})}
    tools = mcp.create_server(library.load("top-documents", llm), kinds)
    with pytest.raises(Exception, match="openai_embeddings:embed-e has no base_url"):
        asyncio.run(tools.call_tool("search_index", {"question": "Who?", "index": "index"}))


def test_a_model_by_name_beside_an_opened_one(server):
    """In Python, a name goes where the opened model of that name does; another is refused."""
    here = server()
    llm = OpenAI("m", base_url=f"{here.url}/v1", api_key="k")
    with pytest.raises(InputError, match="openai_embeddings:embed-e has no base_url"):
        library.load("top-sentences", llm, "openai:embed-e")
