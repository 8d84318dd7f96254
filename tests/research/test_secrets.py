"""A key in options, variables, headers or URLs is in nothing that commands and server write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ragsieve as library
from ragsieve.models import load
from ragsieve.server import Settings, Upstream, create_app
from tests.serving import Handler, served

testclient = pytest.importorskip("fastapi.testclient")
KEY = "sk-walrus-7f3a9c21d4e8b605"
ASK = ("ask", "-q", "Who?", "a.txt", "--llm", "openai:m", "--llm-option")
STATUSES = (200, 201, 400, 401, 500)  # 201 is an answer


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server that repeats what it is sent, with the status that the path names, or as events."""

    class Echo(Handler):
        def do_POST(self) -> None:
            streams, told = self.asked().get("stream"), f"{dict(self.headers)} {KEY}"
            status, kind = int(self.path.split("/")[1]), "text/event-stream"
            said = {"message": {"role": "assistant", "content": told}}
            whole = {"error": {"message": told}, "choices": [said] * (status == 201)}
            body = f"data: {told}".encode() if streams else whole
            self.reply(status, body, kind if streams else "application/json", X_Seen=KEY)

    with served(Echo) as address:
        yield address


@pytest.mark.parametrize(
    "options",
    [
        *(f'base_url = "URL/{status}/v1", api_key = "{KEY}"' for status in STATUSES),
        'base_url = "URL/401/v1"',  # the key is in the environment
        f'base_url = "http://me:{KEY}@127.0.0.1:1"',
        f'base_url = "URL?key={KEY}"',
        f'base_url = "URL", headers = {{"x-api-key" = "{KEY}"}}',
    ],
)
def test_of_a_benchmark(
    ragsieve: Callable[..., Any], url: str, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    """Neither its plan, nor its folder, nor the reports."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    own = options.replace("URL", url) + ", max_retries = 0"
    lines = ("questions = 1", 'systems = [{name = "all"}]', 'data = [{name = "sample"}]')
    echo = f'generators = [{{llm = "fake:echo"}}, {{llm = "openai:m", options = {{{own}}}}}]'
    Path("run.toml").write_text("\n".join((*lines, echo)))
    bench = ("bench", "run.toml", "--output", "out")
    ended = [ragsieve(*bench, "--dry-run"), ragsieve(*bench)]
    told = [*(one.out + one.err for one in (*ended, ragsieve("report", "out")))]
    files = [path for path in Path("out").rglob("*") if path.is_file()]
    told += [path.read_bytes().decode("latin-1") for path in files]

    assert [0, int("/201/" not in options)] == [one.code for one in ended]
    assert Path("out/report.html").exists()
    assert "walrus" not in "".join(told)


@pytest.mark.parametrize(
    "words",
    [
        *((*ASK, option + KEY) for option in ("api-key=", "", "base_url=http://a/#", "api_key= ")),
        ("mcp", "--server", f"http://me:{KEY}@127.0.0.1:1"),
        ("serve", "--upstream", f"http://127.0.0.1:1/#{KEY}"),
        ("config", "--json"),
        ("filter", "-q", "Who?", "a.txt"),
    ],
)
def test_of_commands(ragsieve: Callable[..., Any], words: tuple[str, ...]) -> None:
    """Nor a refusal of an option, nor what settings are said to be."""
    Path("a.txt").write_text("Seals sang.")
    table = f'{{base_url = "http://me:{KEY}@a/?key={KEY}", api_key = "{KEY}"}}'
    own = {"config": table, "filter": f'"{KEY}"'}.get(words[0], "{}")
    Path("ragsieve.toml").write_text(f"llm_options = {own}")
    ended = ragsieve(*words)

    assert (0 if words[0] == "config" else 2) == ended.code
    assert "walrus" not in ended.out + ended.err


@pytest.mark.parametrize("status", STATUSES)
def test_of_a_server(url: str, caplog: pytest.LogCaptureFixture, status: int) -> None:
    """Nor its replies, page, metrics and log, nor what an upstream repeats, streamed too."""
    caplog.set_level(logging.DEBUG, "ragsieve")
    base, sent = f"{url}/{status}/v1", {"Authorization": f"Bearer {KEY}"}
    llm = load("openai:m", base_url=base, api_key=KEY, max_retries=0)
    systems = {"x": library.load("top-sentences", llm, "fake:hashing")}
    settings = Settings(tokens=(KEY,), upstream=Upstream(base_url=base, api_key=KEY), warm=True)
    asked = {"query": "Who?", "documents": ["Seals sang."]}
    chat = {"messages": [{"role": "user", "content": "Who sang?"}]}
    bodies = {
        "answer": [asked, {**asked, "stream": True}],
        "inspect": [{**asked, "systems": ["x"], "ask": True}],
        "chat/completions": [chat, {**chat, "stream": True}],
    }
    with testclient.TestClient(create_app(systems, settings=settings), headers=sent) as client:
        replies = [
            client.post(f"/v1/{name}", json=b) for name, some in bodies.items() for b in some
        ]
        replies += [client.get(path) for path in ("/", "/ready", "/metrics", "/v1/models")]

    one = 200 if status == 201 else 502
    assert [one, 200, one, status, status] == [reply.status_code for reply in replies[:5]]
    assert all(b"(key)" in one.content for one in replies[3:5])
    told = "".join(f"{one.text}{one.headers}" for one in replies)
    assert "walrus" not in f"{told}{caplog.text}{settings}{systems}"
