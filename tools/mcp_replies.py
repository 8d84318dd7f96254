"""Write down the library's first replies as an MCP server, for every version of the protocol:

python tools/mcp_replies.py
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS as VERSIONS

import ragsieve
from ragsieve.integrations import mcp_opening
from ragsieve.integrations.mcp import create_server
from ragsieve.integrations.mcp_opening import Opening
from ragsieve.sources import named_source

FILE = Path(mcp_opening.__file__).with_name("mcp_replies.json")


class _Session(Opening):
    """A client that leaves when it has two replies."""

    def __init__(self, lines: str) -> None:
        self.lines, self.served = StringIO(lines), Event()
        self.replies: list[dict[str, Any]] = []

    def readline(self) -> str:
        line = self.lines.readline()
        if not line:
            self.served.wait(60)
        return line

    def write(self, reply: str) -> None:
        self.replies.append(json.loads(reply))

    def flush(self) -> None:
        if len(self.replies) == 2:
            self.served.set()


def client(version: str) -> str:
    """What a client writes before its first turn, as lines."""
    about = {"clientInfo": {"name": "client", "version": "1"}, "capabilities": {}}
    messages: list[dict[str, Any]] = [
        {"method": "initialize", "id": 0, "params": {"protocolVersion": version, **about}},
        {"method": "notifications/initialized"},
        {"method": "tools/list", "id": "a"},
    ]
    return "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)


def library(version: str, *, searches: bool) -> list[dict[str, Any]]:
    """The library's replies to it."""
    sources = {"towers": named_source("index:towers", {})} if searches else {}
    session = _Session(client(version))
    create_server(ragsieve.load("finefilter"), sources).serve(session)
    return session.replies


def main() -> None:
    """Write `FILE`."""
    (about, tools) = (reply["result"] for reply in library(VERSIONS[-1], searches=True))
    del about["protocolVersion"], about["serverInfo"]
    known = {"versions": VERSIONS, "about": about, **tools}
    FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
