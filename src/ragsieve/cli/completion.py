"""Completion of values in a shell: systems, options of a system, models."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from ragsieve import models, systems
from ragsieve.errors import RagsieveError
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
