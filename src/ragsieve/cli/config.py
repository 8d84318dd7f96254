"""`ragsieve config`, and settings of the environment and of ragsieve.toml."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
import platformdirs

from ragsieve.cli.base import Json, printable, table
from ragsieve.cli.signature import command, is_table
from ragsieve.schema import read_toml, without_secrets
from ragsieve.spec import CUTS, SystemSpec

FILE = "ragsieve.toml"


_OF_SYSTEM = ("options", "models", *CUTS)


class Setting(NamedTuple):
    """A value with the file or variable that it comes from."""

    value: Any
    origin: str


def _own() -> Path:
    """The user's own file; of a user without a home, as in some containers, the folder's."""
    try:
        return platformdirs.user_config_path("ragsieve", appauthor=False) / FILE
    except RuntimeError:
        return Path(FILE)


def settings() -> dict[str, Setting]:
    """Settings by name: of the user's file, then of the folder's, then of the environment.

    Raises:
        InputError: If a file cannot be read, is no TOML, or sets what there is not.
    """
    known: dict[str, Setting] = {}
    for path in (_own(), Path(FILE)):
        if path.is_file():
            known |= {name: Setting(value, str(path)) for name, value in read(path).items()}
    for name in SystemSpec.__struct_fields__:
        variable = f"RAGSIEVE_{name.upper()}"
        if not is_table(SystemSpec, name) and (text := os.environ.get(variable)):
            known[name] = Setting(text, variable)
    if url := os.environ.get("RAGSIEVE_BASE_URL"):
        before = known["llm_options"].value if "llm_options" in known else {}
        known["llm_options"] = Setting({**before, "base_url": url}, "RAGSIEVE_BASE_URL")
    return known


def read(path: Path) -> Mapping[str, Any]:
    """Settings of a file: fields of `SystemSpec`, those that it names.

    Raises:
        InputError: If it cannot be read, is no TOML, or sets what there is not.
    """
    import tomllib  # of few calls

    values = msgspec.structs.asdict(read_toml(SystemSpec, path))
    return {name: values[name] for name in tomllib.loads(path.read_text(encoding="utf-8-sig"))}


def defaults(arguments: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Defaults of each command's options, by the option's name, where they are set.

    A ``--system`` among the arguments comes without the options that are set for another one.
    """
    known = {name: setting.value for name, setting in settings().items()}
    given = {word.partition("=")[0] for word in arguments}
    if "--system" in given:
        known = {name: value for name, value in known.items() if name not in _OF_SYSTEM}
    for flag, other in (("--min-score", "keep_answer"), ("--keep-answer", "min_score")):
        if flag in given:
            known.pop(other, None)
    values = {
        name: _pairs(value) if is_table(SystemSpec, name) else value
        for name, value in known.items()
    }
    serve = {**values, "names": [values["system"]]} if "system" in values else values
    mcp = {**values, "sources": [values["source"]]} if "source" in values else values
    return {"filter": values, "ask": values, "mcp": mcp, "serve": serve}


def _pairs(values: Mapping[str, Any]) -> list[str]:
    return [f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in values.items()]


@command("config", short_help="Show what is set, and where.")
def config_command(*, as_json: Json = False) -> None:
    """Show settings in force: of ragsieve.toml in your configuration folder, of ragsieve.toml in
    the current folder, of the environment; each goes before those named earlier, and an option on
    the command line before all. They are defaults of `filter`, `ask`, `serve` and `mcp`.

    \b
      system = "finefilter"                             or RAGSIEVE_SYSTEM
      keep_answer = 0.9                                 or RAGSIEVE_KEEP_ANSWER
      llm = "openai:NAME"                               or RAGSIEVE_LLM
      llm_options = {base_url = "http://host:8000/v1"}   or RAGSIEVE_BASE_URL
      max_tokens = 1000                                 or RAGSIEVE_MAX_TOKENS

    Also min_score, min_answerable, max_chars, max_tokens_per_document, max_chars_per_document,
    max_share, mark, json_as, embedder, pruner, on_error, source, and the tables options, models and
    source_options. A ragsieve.toml can send your questions to another server: look at those of
    folders that are not yours.
    """
    known = settings()
    shown = {name: without_secrets(setting.value) for name, setting in known.items()}
    if as_json:
        values = {n: {"value": shown[n], "from": known[n].origin} for n in shown}
        click.echo(json.dumps(values, indent=2))
    elif not shown:
        click.echo(printable(f"nothing is set: neither {_own()} nor {FILE} nor RAGSIEVE_…"))
    else:
        rows = [(name, json.dumps(shown[name]), known[name].origin) for name in shown]
        table(("name", "value", "from"), rows)
