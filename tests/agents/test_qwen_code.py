"""Qwen Code, on chat completions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.agents.conftest import ASKED, check_turns

PACKAGE = "@qwen-code/qwen-code@0.15.10"


def test_qwen_code(installed: Callable[[str], Path], ran: Any, folder: Path) -> None:
    """Two files read, each a list of parts."""
    program = installed(PACKAGE) / "qwen"
    calls = [
        ("read_file", json.dumps({"file_path": str(path), "absolute_path": str(path)}))
        for path in (folder / "handbook.md", folder / "rooms.md")
    ]

    def command(proxy: str, home: Path) -> Any:
        own = {"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "m"}
        return [program, "-p", ASKED, "--yolo"], own

    check_turns(*ran(command, calls))
