"""Options of commands that name a system, and what a shell completes in their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from ragsieve import models, systems
from ragsieve.errors import RagsieveError
from ragsieve.registry import more, points
from ragsieve.sources import SOURCES
from ragsieve.spec import entry
from ragsieve.systems.base import PARTS, SystemEntry

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def starting(names: Iterable[str], start: str) -> list[str]:
    """Names that begin with what was typed."""
    return sorted(name for name in names if name.startswith(start))


def complete_systems(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """Systems by name."""
    return starting(systems.SYSTEMS, start)


def complete_option(ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """``KEY=`` of each option of the system."""
    known = _entry(ctx)
    names = [name for name in known.options if name not in PARTS] if known else []
    return starting((f"{name}=" for name in names), start)


def complete_role(ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """``ROLE=`` of each model that the system takes."""
    known = _entry(ctx)
    own = [name for name in known.options if name in PARTS] if known else []
    return starting((f"{name}=" for name in [*own, *(known.roles if known else ())]), start)


def complete_models(*kinds: str) -> Completer:
    """Models of the kinds: names, and prefixes that another part follows."""

    def complete(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
        return starting((form for form, kind in models.forms().items() if kind in kinds), start)

    return complete


def _entry(ctx: click.Context) -> SystemEntry | None:
    named = ctx.params.get("system") or (ctx.params.get("names") or ["finefilter"])[0]
    try:
        return entry(named)
    except RagsieveError:
        return None


class SourceOption(click.Option):
    """``--source``, whose help names the kinds that are installed."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Of `click.Option`, with their names."""
        flags, text = super().get_help_record(ctx) or ("", "")
        kinds = ", ".join(sorted(point.name for point in points(SOURCES.group))) or "none"
        return flags, f"{text} Installed kinds: {kinds}{more(SOURCES.group)}."


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"shell_complete": complete_systems},
    "options": {"flags": ["--option"], "shell_complete": complete_option},
    "models": {
        "flags": ["--model"],
        "metavar": "ROLE=MODEL",
        "shell_complete": complete_role,
    },
    "source": {"cls": SourceOption, "metavar": "KIND:PLACE"},
    "source_options": {"flags": ["--source-option"]},
    "embedder": {"shell_complete": complete_models("embedder")},
    "pruner": {"shell_complete": complete_models("sentence pruner")},
    "llm": {
        "show_default": "smollm2, or what a trained filter learnt from",
        "shell_complete": complete_models("LLM"),
    },
    "llm_options": {"flags": ["--llm-option"]},
    "model_options": {"flags": ["--model-option"], "metavar": "MODEL.KEY=VALUE"},
    "keep_answer": {"show_default": "0.95"},
}
"""Differences of options of `SystemSpec` from its fields."""
