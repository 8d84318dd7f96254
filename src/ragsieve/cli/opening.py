"""Options of commands that name a system: those of `ragsieve.spec.SystemSpec`."""

from __future__ import annotations

from typing import Any

import click

from ragsieve.cli import completion
from ragsieve.registry import more, points
from ragsieve.sources import SOURCES


class SourceOption(click.Option):
    """``--source``, whose help names the kinds that are installed."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Of `click.Option`, with their names."""
        flags, text = super().get_help_record(ctx) or ("", "")
        kinds = ", ".join(sorted(point.name for point in points(SOURCES.group))) or "none"
        return flags, f"{text} Installed kinds: {kinds}{more(SOURCES.group)}."


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"shell_complete": completion.complete_systems},
    "options": {"flags": ["--option"], "shell_complete": completion.complete_option},
    "models": {
        "flags": ["--model"],
        "metavar": "ROLE=MODEL",
        "shell_complete": completion.complete_role,
    },
    "source": {"cls": SourceOption, "metavar": "KIND:PLACE"},
    "source_options": {"flags": ["--source-option"]},
    "embedder": {"shell_complete": completion.complete_models("embedder")},
    "pruner": {"shell_complete": completion.complete_models("sentence pruner")},
    "llm": {
        "show_default": "smollm2, or what a trained filter learnt from",
        "shell_complete": completion.complete_models("LLM"),
    },
    "llm_options": {"flags": ["--llm-option"]},
    "model_options": {"flags": ["--model-option"], "metavar": "MODEL.KEY=VALUE"},
    "keep_answer": {"show_default": "0.95"},
}
"""Differences of options of `SystemSpec` from its fields."""
