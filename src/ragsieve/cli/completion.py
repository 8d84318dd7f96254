"""Completion of values in a shell: systems, options of a system, models."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from ragsieve import artifacts, models, systems
from ragsieve.artifacts import building
from ragsieve.errors import RagsieveError

Completer = Callable[[click.Context, click.Parameter, str], list[str]]


def starting(names: Iterable[str], start: str) -> list[str]:
    """Names that begin with what was typed."""
    return sorted(name for name in names if name.startswith(start))


def complete_systems(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """Systems by name."""
    return starting(systems.SYSTEMS, start)


def complete_option(ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """``KEY=`` of each option of the system."""
    entry = _entry(ctx)
    names = [name for name in entry.options if name not in building.MODELS] if entry else []
    return starting((f"{name}=" for name in names), start)


def complete_role(ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    """``ROLE=`` of each model that the system takes."""
    entry = _entry(ctx)
    own = [name for name in entry.options if name in building.MODELS] if entry else []
    return starting((f"{name}=" for name in [*own, *(entry.roles if entry else ())]), start)


def complete_models(*kinds: str) -> Completer:
    """Models of the kinds: names, and prefixes that another part follows."""

    def complete(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
        forms = [(f"{prefix}:", kind) for prefix, (_, _, kind) in models.BACKENDS.items()]
        forms += [(name, kind) for name, (_, _, kind) in models.FAKE.items()]
        forms += [(name, models.BACKENDS[prefix][2]) for name, prefix in models.NAMED.items()]
        return starting((form for form, kind in forms if kind in kinds), start)

    return complete


def _entry(ctx: click.Context) -> systems.registry.SystemEntry | None:
    name = ctx.params.get("system") or "finefilter"
    try:
        return artifacts.entry(name)
    except RagsieveError:
        return None
