"""Codex, on OpenAI's Responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agents.conftest import ASKED, check_turns

PACKAGE = "@openai/codex@0.171.0"
CONFIG = """model = "m"
model_provider = "ragsieve"
[model_providers.ragsieve]
name = "ragsieve"
base_url = "{proxy}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""


def test_codex(installed: Callable[[str], Path], ran: Any) -> None:
    """Two commands that print files."""
    program = installed(PACKAGE) / "codex"
    calls = [
        ("exec_command", json.dumps({"cmd": f"cat {name}"})) for name in ("handbook.md", "rooms.md")
    ]

    def command(proxy: str, home: Path) -> Any:
        (home / "config.toml").write_text(CONFIG.format(proxy=proxy), "utf-8")
        asks = [program, "exec", "--skip-git-repo-check", "-s", "danger-full-access", ASKED]
        return asks, {"CODEX_HOME": str(home), "OPENAI_API_KEY": "sk-test"}

    check_turns(*ran(command, calls))
