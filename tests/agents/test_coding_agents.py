"""Qwen Code on chat completions, Claude Code on messages, Codex on Responses."""

import json

from tests.agents.conftest import ASKED, check_turns

CODEX = """model = "m"
model_provider = "ragsieve"
[model_providers.ragsieve]
name = "ragsieve"
base_url = "{proxy}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
FILES = ("handbook.md", "rooms.md")


def test_qwen_code(installed, ran, folder):
    """Two files read, each a list of parts."""
    program = installed("@qwen-code/qwen-code@0.15.10") / "qwen"
    calls = [
        ("read_file", json.dumps({"file_path": str(path), "absolute_path": str(path)}))
        for path in (folder / name for name in FILES)
    ]

    def command(proxy, home):
        own = {"OPENAI_BASE_URL": f"{proxy}/v1", "OPENAI_API_KEY": "sk-test", "OPENAI_MODEL": "m"}
        return [program, "-p", ASKED, "--yolo"], own

    check_turns(*ran(command, calls))


def test_claude_code(installed, ran, folder):
    """Two files read; its headers, query, thinking and marks of the cache arrive."""
    program = installed("@anthropic-ai/claude-code@2.1.197") / "claude"
    calls = [("Read", json.dumps({"file_path": str(folder / name)})) for name in FILES]

    def command(proxy, home):
        asks = [program, "-p", ASKED, "--allowedTools", "Read", "--model", "m"]
        return asks, {"ANTHROPIC_BASE_URL": proxy, "ANTHROPIC_API_KEY": "sk-test"}

    given, arrived = ran(command, calls)

    check_turns(given, arrived)
    assert {"/v1/messages?beta=true"} == {one["path"] for one in arrived}


def test_codex(installed, ran):
    """Two commands that print files."""
    program = installed("@openai/codex@0.171.0") / "codex"
    calls = [("exec_command", json.dumps({"cmd": f"cat {name}"})) for name in FILES]

    def command(proxy, home):
        (home / "config.toml").write_text(CODEX.format(proxy=proxy), "utf-8")
        asks = [program, "exec", "--skip-git-repo-check", "-s", "danger-full-access", ASKED]
        return asks, {"CODEX_HOME": str(home), "OPENAI_API_KEY": "sk-test"}

    check_turns(*ran(command, calls))
