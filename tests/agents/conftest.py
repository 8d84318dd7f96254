"""Real coding agents before a real `ragsieve serve`: `make test-agents`, never with the others."""

import json
import os
import subprocess
import sys

import httpx
import pytest

from tests.agents.upstream import CUT, WIRES, playing
from tests.serving import Handler, served

if not os.environ.get("RAGSIEVE_AGENTS"):
    collect_ignore_glob = ["test_*.py"]

ASKED = "What is the fine for late books? Look into handbook.md, then into rooms.md."
FINE = "The fine for late books is 20 cents a day, at most 5 euros."
_DESK = "Cards are issued at the desk on the ground floor. Room {0} opens at eight."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files that the agent is to read; the first says what is asked."""
    made = tmp_path_factory.mktemp("work")
    sections = [f"## Section {n}\n\n{_DESK.format(n)}" for n in range(40)]
    sections[23] += f"\n\n{FINE}"
    (made / "handbook.md").write_text("# Handbook\n\n" + "\n\n".join(sections), "utf-8")
    (made / "rooms.md").write_text("\n\n".join(map(_DESK.format, range(60))), "utf-8")
    return made


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Installs a package of npm in a folder of its own: where its programs are."""

    def install(package):
        into = tmp_path_factory.mktemp("npm")
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(into), package]
        subprocess.run(command, check=True, timeout=500)
        return into / "node_modules" / ".bin"

    return install


def _passing(url, log):
    """A handler before a server that logs what an agent sends, and what it is replied."""

    class Passing(Handler):
        def do_POST(self):
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            own = {k: v for k, v in self.headers.items() if k.lower() != "host"}
            reply = httpx.post(url + self.path, content=raw, headers=own, timeout=60)
            about = {"headers": dict(self.headers), "path": self.path}
            log.append({**about, "body": json.loads(raw), "replied": reply.content})
            self.reply(reply.status_code, reply.content, reply.headers["content-type"])

    return Passing


@pytest.fixture(scope="module")
def ran(folder, tmp_path_factory):
    """Runs an agent through the proxy: what it sent, and what the upstream was sent. Its command is
    made of the proxy's address and an empty home; its calls are the upstream's."""
    processes = []

    def run(command, calls):
        given = []
        arrived = []
        home = tmp_path_factory.mktemp("home")
        with served(playing(calls, arrived)) as model:
            serve = ["-m", "ragsieve", "serve", "--port", "0", "--filter-tools", "*"]
            serving = subprocess.Popen(
                [sys.executable, *serve, "--upstream", f"{model}/v1"],
                stdout=subprocess.PIPE,
                text=True,
            )
            processes.append(serving)
            url = serving.stdout.readline().split()[-1]
            with served(_passing(url, given)) as proxy:
                arguments, own = command(proxy, home)
                env = {"PATH": os.environ["PATH"], "HOME": str(home), **own}
                null = subprocess.DEVNULL
                subprocess.run(arguments, cwd=folder, env=env, stdin=null, timeout=240)
        return given, arrived

    yield run
    for one in processes:
        one.terminate()
        one.wait(30)


def check_turns(given, arrived):
    """What holds of every agent: results are filtered once, and nothing else is touched."""
    wire = WIRES[given[0]["path"].partition("?")[0]]
    for sent, one in zip(given, arrived, strict=True):
        body = json.loads(json.dumps(sent["body"]))
        for result, new in zip(wire.results(body), one["results"], strict=True):
            result |= new  # of a result the same fields, with other texts
        assert (sent["path"], body, [*body]) == (one["path"], one["body"], [*one["body"]])
        headers = {k.lower(): v for k, v in one["headers"].items()}
        ours = ("host", "connection", "accept-encoding", "content-length", "cookie")
        kept = {k.lower(): v for k, v in sent["headers"].items() if k.lower() not in ours}
        assert kept.items() <= headers.items()
        assert sent["replied"] == one["sent"]  # a cut answer is passed on as cut
    first, second = (
        [one["results"] for one in arrived if len(one["results"]) == n] for n in (1, 2)
    )
    text = json.dumps(first[0])
    assert FINE in text and "left out: show_dropped(handle='" in text and len(text) < 2000
    unmarked = [
        {k: v for k, v in one[0].items() if k != "cache_control"} for one in (*first, *second)
    ]
    assert all(one == unmarked[0] for one in unmarked)
    assert CUT in [one["part"] for one in arrived]
