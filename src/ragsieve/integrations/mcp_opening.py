"""The first replies of the MCP server: a client sees the tools before MCP's library is imported.

The library takes most of a second, and some clients begin a turn without tools that come later.
``mcp_replies.json`` has the library's own replies, as `tools/mcp_replies.py` writes them.
"""

import os
import re
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import msgspec

_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


class _Message(msgspec.Struct):
    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] = {}


@dataclass
class Opening:
    """A session as a text file: what a client writes and reads, behind what is answered here.

    Args:
        lines: What the client writes.
        replies: What it reads.
        searches: Whether there are indexes to search.
    """

    lines: TextIO
    replies: TextIO
    searches: bool
    _again: list[str] = field(default_factory=list, init=False)  # lines that the library reads
    _greeted: bool = field(default=False, init=False)  # the client has the library's first reply

    def answer(self) -> bool:
        """Answer until the client has the tools or asks for something else; whether it stays."""
        known = msgspec.json.decode(Path(__file__).with_name("mcp_replies.json").read_bytes())
        while line := self.lines.readline():
            try:
                message = msgspec.json.decode(line, type=_Message)
            except msgspec.MsgspecError:  # the library says what is wrong
                message = _Message()
            if message.method == "tools/list" and self._greeted:
                tools = known["tools"] if self.searches else known["tools"][:2]
                self._reply(message, {"tools": tools})
                return True
            self._again.append(line)
            spoken = message.params.get("protocolVersion")
            if message.method == "initialize" and spoken in known["versions"]:
                own = {"name": "ragsieve", "version": version("ragsieve")}
                about = known["about"] | {"protocolVersion": spoken, "serverInfo": own}
                self._reply(message, about)
                self._greeted = True
            elif message.method != "notifications/initialized":
                return True
        return False

    def _reply(self, message: _Message, result: dict[str, Any]) -> None:
        reply = {"jsonrpc": "2.0", "id": message.id, "result": result}
        self.replies.write(msgspec.json.encode(reply).decode() + "\n")
        self.replies.flush()

    def readline(self) -> str:
        """The next line for the library, halves of character pairs replaced."""
        line = self._again.pop(0) if self._again else self.lines.readline()
        if not _PAIR.search(line):
            return line
        from ragsieve.text import json_text, json_value  # loads splitters of sentences

        value = json_value(line)
        return line if value is None else json_text(value) + "\n"

    def write(self, reply: str) -> None:
        """Pass a reply of the library on, unless the client has it."""
        if not self._greeted:
            self.replies.write(reply)
        self._greeted = False

    def flush(self) -> None:
        """Let the client have what is written."""
        self.replies.flush()


def standard_streams() -> tuple[TextIO, TextIO]:
    """Standard input and output, for messages alone: prints go to standard error."""
    lines = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2 if sys.stderr else 0, 1)
    return lines, replies
