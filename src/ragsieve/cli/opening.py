"""Options of commands that name a system, and what a shell completes in their values."""

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


def completing(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """A completer of names that a command's context gives."""
    return lambda ctx, _, start: sorted(name for name in names(ctx) if name.startswith(start))


complete_systems = completing(lambda _: systems.SYSTEMS)
"""Systems by name."""


def _of_system(names: Callable[[SystemEntry], Iterable[str]]) -> Completer:
    """A completer of ``NAME=`` for names that the entry of a command's system gives."""

    def completed(ctx: click.Context) -> Iterable[str]:
        named = ctx.params.get("system") or (ctx.params.get("names") or ["finefilter"])[0]
        try:
            return [f"{name}=" for name in names(entry(named))]
        except RagsieveError:
            return []

    return completing(completed)


_options = _of_system(lambda known: known.options.keys() - PARTS.keys())
_roles = _of_system(lambda known: {*known.roles} | (known.options.keys() & PARTS.keys()))


def _models(kind: str) -> dict[str, Any]:
    """Of an option that names a model of a kind: names, and prefixes that others follow."""
    forms = models.forms
    return {"shell_complete": completing(lambda _: (n for n, k in forms().items() if k == kind))}


class SourceOption(click.Option):
    """``--source``, whose help names the kinds that are installed."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Of `click.Option`, with their names."""
        flags, text = super().get_help_record(ctx) or ("", "")
        kinds = ", ".join(sorted(point.name for point in points(SOURCES.group))) or "none"
        return flags, f"{text} Installed kinds: {kinds}{more(SOURCES.group)}."


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"shell_complete": complete_systems},
    "options": {"flags": ["--option"], "shell_complete": _options},
    "models": {"flags": ["--model"], "metavar": "ROLE=MODEL", "shell_complete": _roles},
    "source": {"cls": SourceOption, "metavar": "KIND:PLACE"},
    "source_options": {"flags": ["--source-option"]},
    "embedder": _models("embedder"),
    "pruner": _models("sentence pruner"),
    "llm": {"show_default": "smollm2, or what a trained filter learnt from", **_models("LLM")},
    "llm_options": {"flags": ["--llm-option"]},
    "model_options": {"flags": ["--model-option"], "metavar": "MODEL.KEY=VALUE"},
    "keep_answer": {"show_default": "0.95"},
}
"""Differences of options of `SystemSpec` from its fields."""

KEPT = {**CHANGES, "on_error": {"default": "keep"}}  # of what serves: what fails is skipped
