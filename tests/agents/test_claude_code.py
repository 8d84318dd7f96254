"""Claude Code, on Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agents.conftest import ASKED, check_turns

PACKAGE = "@anthropic-ai/claude-code@2.1.197"


def test_claude_code(installed: Callable[[str], Path], ran: Any, folder: Path) -> None:
    """Two files read; its headers, query, thinking and marks of the cache arrive."""
    program = installed(PACKAGE) / "claude"
    calls = [
        ("Read", json.dumps({"file_path": str(folder / name)}))
        for name in ("handbook.md", "rooms.md")
    ]

    def command(proxy: str, home: Path) -> Any:
        asks = [program, "-p", ASKED, "--allowedTools", "Read", "--model", "m"]
        return asks, {"ANTHROPIC_BASE_URL": proxy, "ANTHROPIC_API_KEY": "sk-test"}

    given, arrived = ran(command, calls)

    check_turns(given, arrived)
    assert {"/v1/messages?beta=true"} == {one["path"] for one in arrived}
