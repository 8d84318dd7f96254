"""`ragsieve doctor`: one page of what works, and exit code 1 where what is named does not."""

import json
import socket
from pathlib import Path
from typing import ClassVar

import platformdirs
import pytest

from ragsieve.cli import doctor
from tests.serving import Handler, free_port, served

KEY = "sk-secret-1234"


class Models(Handler):
    """A server with a list of models for who has the key; a path of its own redirects."""

    posts: ClassVar[list[str]] = []

    def do_POST(self):
        self.posts.append(self.path)

    def do_GET(self):
        if self.path.startswith("/away"):
            self.reply(302, {}, Location="http://127.0.0.1:9/v1/models")
        elif self.path == "/v1/models" and self.headers["Authorization"] != f"Bearer {KEY}":
            self.reply(401, {"error": f"no {self.headers['Authorization']}"})
        else:
            self.reply(200, {"data": [{"id": "m"}, {"id": 7}]})


class Open(Handler):
    """One that shows them to anyone, or a `ragsieve serve`."""

    def do_GET(self):
        self.reply(200, {"data": [{"id": "m"}], "info": {"title": "ragsieve"}})


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No settings, no servers of this machine, nothing fetched."""
    monkeypatch.setattr(platformdirs, "user_config_path", lambda *_, **__: tmp_path)
    monkeypatch.setattr(doctor, "_LOCAL", {"nobody": free_port()})
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def checked(ended):
    """State and words of each check, by its name."""
    values = json.loads(ended.out)
    assert (ended.code == 0) is values["ok"]
    assert KEY not in ended.out + ended.err
    return {one["name"]: (one["state"], one["text"]) for one in values["checks"]}


def test_a_bare_machine_is_well(ragsieve):
    """Without settings the default filters, and nothing is asked over the network."""
    page = ragsieve("doctor")
    found = checked(ragsieve("doctor", "--json"))

    assert 0 == page.code and "finefilter" in page.out
    assert ("ok", "nothing") == found["asked"]
    assert found["finefilter"][1].startswith("filters, ")
    assert found["pruner"][0] == "ok" and Path(found["pruner"][1].split(", ")[1]).is_dir()
    assert "serve" in found["extras"][1].split(", ")


@pytest.mark.parametrize(
    ("path", "key", "model", "state", "says"),
    [
        ("v1", KEY, "m", "ok", "with the key of the settings: it answers"),
        ("v1", KEY, "other", "note", "it answers, but lists m"),
        ("v1", "", "m", "fails", "without a key: the key is refused (HTTP 401)"),
        ("other", "", "m", "ok", "without a key: it answers"),
        ("away", KEY, "m", "fails", "HTTP 302"),
    ],
)
def test_a_server_that_is_named_is_asked(ragsieve, path, key, model, state, says):
    """With its key, which goes nowhere else and is not shown."""
    with served(Models) as url:
        Path("ragsieve.toml").write_text(
            f'llm = "openai:{model}"\n[llm_options]\nbase_url = "{url}/{path}"\napi_key = "{key}"\n'
        )
        ended = ragsieve("doctor", "--json")
    found = checked(ended)

    assert (state, True) == (found["llm"][0], found["llm"][1].endswith(says))
    assert int(state == "fails") == ended.code and "…" in found["llm_options.api_key"][1]
    assert url.removeprefix("http://") == found["asked"][1] and [] == Models.posts


@pytest.mark.parametrize(
    ("options", "name", "says"),
    [
        (("--llm", "openai:m", "--llm-option", "base_url=http://127.0.0.1:9/v1"), "llm", "refused"),
        (("--system", "no-such"), "no-such", "no-such"),
        (("--pruner", "pruner:/no/folder"), "pruner", "no folder at '/no/folder'"),
        (("--source", "index:/no/folder"), "finefilter", "/no/folder"),
        (("--pruner", "fake:echo"), "finefilter", "is no sentence pruner"),
    ],
)
def test_what_is_named_and_does_not_work_fails(ragsieve, options, name, says):
    """Exit code 1, and the line says why; the other lines are there."""
    ended = ragsieve("doctor", "--json", *options)
    state, text = checked(ended)[name]

    assert (1, "fails") == (ended.code, state) and says in text


def test_servers_that_nobody_named_are_told(ragsieve, monkeypatch):
    """Those of this machine that show their models to anyone; they make nothing fail."""
    with served(Models) as closed, served(Open) as url:
        ports = [int(one.rpartition(":")[2]) for one in (closed, url)]
        monkeypatch.setattr(doctor, "_LOCAL", {"vLLM": ports[0], "Ollama": ports[1]})
        found = checked(ragsieve("doctor", "--json"))

    assert f"port {ports[0]}" not in found and "nothing" == found["asked"][1]
    assert (
        f"Ollama, or one like it, has m: --llm openai:NAME --llm-option base_url={url}/v1"
        == (found[f"port {ports[1]}"][1])
    )


def test_a_port_that_is_named_and_taken_fails(ragsieve):
    """Not where the other is a `ragsieve serve`."""
    with socket.create_server(("127.0.0.1", 0)) as taken, served(Open) as ours:
        ports = [str(taken.getsockname()[1]), ours.rpartition(":")[2]]
        ended = [ragsieve("doctor", "--json", "--port", port) for port in ports]
    states = [checked(one)[port][0] for one, port in zip(ended, ports, strict=True)]

    assert ["fails", "note"] == states and [1, 0] == [one.code for one in ended]
