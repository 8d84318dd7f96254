"""Options of commands that name a system: those of `ragsieve.spec.SystemSpec`."""

from __future__ import annotations

from typing import Any

from ragsieve.cli.completion import (
    complete_models,
    complete_option,
    complete_role,
    complete_systems,
)

CHANGES: dict[str, dict[str, Any]] = {
    "system": {"shell_complete": complete_systems},
    "options": {"flags": ["--option"], "shell_complete": complete_option},
    "models": {"flags": ["--model"], "metavar": "ROLE=MODEL", "shell_complete": complete_role},
    "source": {"metavar": "KIND:PLACE"},
    "source_options": {"flags": ["--source-option"]},
    "embedder": {"shell_complete": complete_models("embedder")},
    "pruner": {"shell_complete": complete_models("sentence pruner")},
    "llm": {
        "show_default": "smollm2, or what a trained filter learnt from",
        "shell_complete": complete_models("LLM"),
    },
    "llm_options": {"flags": ["--llm-option"]},
    "keep_answer": {"show_default": "0.95"},
}
"""Differences of options of `SystemSpec` from its fields."""
