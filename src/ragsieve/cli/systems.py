"""`ragsieve systems`."""

import json
from collections.abc import Sequence
from typing import Annotated

import click

from ragsieve import systems
from ragsieve.cli.base import info, printable, table
from ragsieve.cli.opening import complete_systems
from ragsieve.cli.signature import command
from ragsieve.schema import argument_texts
from ragsieve.spec import entry as find
from ragsieve.systems.base import PARTS

ListJson = Annotated[bool, {"flags": ["--json"], "help": "Print JSON."}]


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool) -> None:
    """Print rows as a table, or as a JSON array of objects."""
    if as_json:
        keys = [heading.replace(" ", "_") for heading in headings]
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
    else:
        table(headings, rows)


@command("systems", short_help="List every system, or show one.")
def systems_command(
    name: Annotated[str | None, {"shell_complete": complete_systems}] = None,
    *,
    as_json: ListJson = False,
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
    print_rows(("name", "summary", "needs", "paper"), rows, as_json)


def _print_system(name: str, as_json: bool) -> None:
    """Print all that can be known of a system without its models."""
    entry = find(name)
    texts = argument_texts(entry.function)
    about = {"name": name, "summary": entry.summary, "needs": entry.needs, "paper": entry.paper}
    models = [*(option for option in entry.options if option in PARTS), *entry.roles]
    own = ((o, value, texts.get(o, "")) for o, value in entry.options.items() if o not in models)
    names = ("option", "default", "meaning")
    options = [dict(zip(names, one, strict=True)) for one in own]
    if as_json:
        click.echo(json.dumps({**about, "models": models, "options": options}, indent=2))
        return
    for key, value in {**about, "models": ", ".join(models)}.items():
        click.echo(printable(f"{key}: {value or 'none'}"))
    click.echo()
    if options:
        rows = [(o["option"], json.dumps(o["default"]), o["meaning"]) for o in options]
        table(names, rows)
    usage = [("--option OPTION=VALUE", options), ("--model MODEL=…", models)]
    if flags := " and ".join(flag for flag, some in usage if some):
        info(f"set by {flags} of `ragsieve filter`, `ask` and `serve`", "dim")
