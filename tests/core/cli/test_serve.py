"""`ragsieve serve`: what it is told, and a server that really runs."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.stalling import stalling

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("prometheus_client")

FAKES = ("--llm", "fake:echo", "--embedder", "fake:hashing", "--system", "top-sentences")

UPSTREAM = ("--upstream", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "all", "--system", "icl", "--option", "k=1"), "go with one --system"),
        (("--upstream", "ftp://x"), "upstream must be http(s)://host[:port][/path], got 'ftp://x'"),
        (("--upstream-key-env", "HOME"), "--upstream-key-env goes with --upstream"),
        (("--filter-tools", "*"), "--filter-tools and --tool-rules go with --upstream"),
        ((*UPSTREAM, "--tool-rules", "rules.toml"), "rules.toml: tools[0].nam is not known; known"),
        (("--token-env", "NO_SUCH_NAME"), "--token-env must name a variable that is set"),
        (("--token-file", "short"), "a token must be 8 or more printable ASCII characters"),
        (("--token-file", "empty"), "--token-file must hold a token, got none in 'empty'"),
        (("--limit-timeout-s", "0"), "--limit-timeout-s': 0.0 is not in the range 0<x<=86400"),
        (("--host", "192.0.2.1"), "--host and --port must be free to listen at"),
        (("--keep-answer", "0.9"), "k, reranker, got 'keep_answer'"),
        (
            ("--system", "finefilter", "--keep-answer", "0.9"),
            "--keep-answer goes with one --system; a request may name keep_answer",
        ),
    ],
)
def test_bad_options_end_in_one_line(ragsieve, arguments, message):
    """Exit code 2, before a model is loaded."""
    Path("short").write_text("secret")
    Path("empty").write_text("\n")
    Path("rules.toml").write_text('[[tools]]\nnam = "x"')
    code, out, err = ragsieve("serve", *FAKES, *arguments)

    assert (2, "") == (code, out)
    assert message in err.splitlines()[-1]
    assert "secret" not in err


def test_an_open_door_is_said(ragsieve):
    """Where others can reach it and no token is asked for."""
    _, _, err = ragsieve("serve", *FAKES, "--host", "192.0.2.1")

    assert "warning: all who reach 192.0.2.1 may ask: set --token-env or --token-file" in err


@pytest.fixture
def server(tmp_path):
    """The command as a process, with the address that it says."""
    (tmp_path / "tokens").write_text("first-token\nsecond-token\n")
    command = [sys.executable, "-m", "ragsieve", "serve", *FAKES, "--port", "0"]
    command += ["--token-file", str(tmp_path / "tokens"), "--max-tokens", "50"]
    env, pipe = {**os.environ, "PYTHONUNBUFFERED": "1"}, subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)
    yield process, process.stdout.readline().rpartition(" ")[2].strip()
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_server_runs_until_it_is_told_to_stop(server):
    """It says its address, answers there who has a token, and ends with 0, saying nothing more."""
    process, url = server
    body = json.dumps({"query": "Who sang?", "documents": ["Anna sang. It rained."]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer second-token"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/filter", body, headers)) as reply:
        kept = json.loads(reply.read())["text"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{url}/v1/systems")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)

    assert "Anna sang. It rained." == kept
    assert 401 == refused.value.code
    assert (0, "", "") == (process.returncode, out, err)


@pytest.mark.slow
@pytest.mark.parametrize(("grace", "signals"), [("60", 2), ("1", 1)])
def test_the_end_of_a_server_can_be_hastened(grace, signals):
    """By a second signal, or by --grace: who waits for a silent upstream is told, and it ends."""
    with stalling("silent") as upstream:
        command = [sys.executable, "-m", "ragsieve", "serve", *FAKES, "--port", "0"]
        command += ["--upstream", f"{upstream}/v1", "--grace", grace]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        url = process.stdout.readline().rpartition(" ")[2].strip()
        body, headers = b'{"messages": []}', {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", body, headers)
        waiting = threading.Thread(target=lambda: suppressed(request), daemon=True)
        waiting.start()
        time.sleep(1)
        began = time.monotonic()
        for _ in range(signals):
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
        code = process.wait(10)

    assert 0 == code and time.monotonic() - began < 5


def suppressed(request):
    """Ask, whatever comes of it."""
    with suppress(OSError, http.client.HTTPException):
        urllib.request.urlopen(request, timeout=20)
