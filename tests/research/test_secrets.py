"""A key in options, variables, headers or URLs is in nothing that commands and server write."""

import logging
import time
from pathlib import Path

import pytest

import ragsieve as library
from ragsieve.models import load
from ragsieve.server import Settings, Upstream, create_app
from tests.serving import Handler, served

testclient = pytest.importorskip("fastapi.testclient")
KEY = "sk-walrus-7f3a9c21d4e8b605"
ASK = ("ask", "-q", "Who?", "a.txt", "--llm", "openai:m", "--llm-option")
STATUSES = (200, 400, 401, 500)
EVENTS = "text/event-stream"


@pytest.fixture(scope="module")
def url():
    """A server that repeats what it is sent, with the status that the path names, or as events."""

    class Echo(Handler):
        def do_POST(self):
            streams, told = self.asked().get("stream"), f"{dict(self.headers)} {KEY}"
            status = int(self.path.split("/")[1])
            if not streams:
                body = {"error": {"message": told}, "choices": []}
                self.reply(status, body, X_Seen=KEY)
                return
            self.reply(
                status, told[:-9].encode(), EVENTS, X_Seen=KEY, Content_Length=str(len(told))
            )
            time.sleep(0.05)  # the rest of the key comes apart
            self.wfile.write(told[-9:].encode())

    with served(Echo) as address:
        yield address


CELLS = [f'base_url = "URL/{status}/v1", api_key = "{KEY}"' for status in STATUSES]
CELLS += ['base_url = "URL/401/v1"', f'base_url = "http://me:{KEY}@a"']  # the environment's key
CELLS += [f'base_url = "URL?key={KEY}"', f'headers = {{"x-api-key" = "{KEY}"}}']


@pytest.mark.slow
@pytest.mark.parametrize("options", CELLS)
def test_of_a_benchmark(ragsieve, url, monkeypatch, options):
    """Neither its plan, nor its folder, nor the reports."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    own = options.replace("URL", url) + ", max_retries = 0"
    lines = ("questions = 1", 'systems = [{name = "all"}]', 'data = [{name = "sample"}]')
    echo = f'generators = [{{llm = "fake:echo"}}, {{llm = "openai:m", options = {{{own}}}}}]'
    Path("run.toml").write_text("\n".join((*lines, echo)))
    bench = ("bench", "run.toml", "--output", "out")
    ended = [ragsieve(*bench, "--dry-run"), ragsieve(*bench)]
    files = [path for path in Path("out").rglob("*") if path.is_file()]
    told = [path.read_bytes().decode("latin-1") for path in files]

    assert [0, 1] == [one.code for one in ended]
    assert Path("out/report.html") in files
    assert "walrus" not in f"{told}{ended}{ragsieve('report', 'out')}"


WORDS = [(*ASK, option + KEY) for option in ("api-key=", "", "base_url=http://a/#", "api_key= ")]
WORDS += [("mcp", "--server", f"http://me:{KEY}@a"), ("serve", "--upstream", f"http://a/#{KEY}")]


@pytest.mark.parametrize("words", [*WORDS, ("config", "--json"), ("filter", "-q", "Who?", "a.txt")])
def test_of_commands(ragsieve, words):
    """Nor a refusal of an option, nor what settings are said to be."""
    Path("a.txt").write_text("Seals sang.")
    table = f'{{base_url = "http://me:{KEY}@a/?key={KEY}", api_key = "{KEY}"}}'
    own = {"config": table, "filter": f'"{KEY}"'}.get(words[0], "{}")
    Path("ragsieve.toml").write_text(f"llm_options = {own}")
    ended = ragsieve(*words)

    assert (0 if words[0] == "config" else 2) == ended.code
    assert "walrus" not in ended.out + ended.err


@pytest.mark.parametrize("command", ["ask", "filter", "serve", "mcp"])
def test_of_help(ragsieve, command):
    """It tells where what is set."""
    own = f'{{base_url = "http://a/?key={KEY}", api_key = "{KEY}"}}'
    lines = (f"llm_options = {own}", f'model_options = {{"openai:m.1" = {own}}}')
    Path("ragsieve.toml").write_text("\n".join(lines))
    ended = ragsieve(command, "--help")
    told = "".join(f"{ended.out}{ended.err}".split())

    assert 0 == ended.code
    assert "openai:m.1.base_urlissetbyragsieve.toml" in told and "walrus" not in told


@pytest.mark.slow
@pytest.mark.parametrize("status", STATUSES)
def test_of_a_server(url, caplog, status):
    """Nor its replies, page, metrics and log, nor what an upstream repeats, streamed too."""
    caplog.set_level(logging.DEBUG, "ragsieve")
    base, sent = f"{url}/{status}/v1", {"Authorization": f"Bearer {KEY}"}
    llm = load("openai:m", base_url=base, api_key=KEY, max_retries=0)
    systems = {"x": library.load("top-sentences", llm, "fake:hashing")}
    settings = Settings(tokens=(KEY,), upstream=Upstream(base_url=base, api_key=KEY), warm=True)
    asked = {"query": "Who?", "documents": ["Seals sang."]}
    chat = {"messages": [{"role": "user", "content": "Who sang?"}]}
    bodies = [("answer", asked), ("inspect", {**asked, "systems": ["x"], "ask": True})]
    bodies += [("chat/completions", chat), ("chat/completions", {**chat, "stream": True})]
    with testclient.TestClient(create_app(systems, settings=settings), headers=sent) as client:
        replies = [client.post(f"/v1/{path}", json=body) for path, body in bodies]
        replies += [client.post("/v1/answer", json={**asked, "stream": True})]
        replies += [client.get(path) for path in ("/", "/ready", "/metrics", "/v1/models")]
    told = "".join(f"{one.text}{one.headers}" for one in replies)

    assert [502, 502, status, status] == [one.status_code for one in replies[:4]]
    assert all(b"(key)" in one.content for one in replies[2:4])
    assert "walrus" not in f"{told}{caplog.text}{settings}{systems}"
