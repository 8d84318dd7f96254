"""`ragsieve config`, and settings of the environment and of ragsieve.toml."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec
import platformdirs

from ragsieve.cli.base import Json, printable, table
from ragsieve.cli.signature import command
from ragsieve.errors import InputError
from ragsieve.files import read_toml
from ragsieve.schema import without_secrets
from ragsieve.spec import CUTS, SystemSpec

FILE = "ragsieve.toml"


_BY_MODEL = "model_options"
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


def settings(warn: Callable[[str], object] = lambda _: None) -> dict[str, Setting]:
    """Settings in force, an item of a table as ``options.k``: of the user's file, then of the
    folder's, then of the environment.

    Args:
        warn: Given a line where the user's file may not be read: it is left out.

    Raises:
        InputError: If another file cannot be read, is no TOML, or sets what there is not.
    """
    known: dict[str, Setting] = {}
    for path in (_own(), Path(FILE)):
        try:
            if path.is_file():
                known = _over(known, _flat(read(path), str(path)))
        except (InputError, PermissionError) as error:
            if path == Path(FILE) or PermissionError not in (type(error), type(error.__cause__)):
                raise
            warn(f"left out: {path} cannot be read: Permission denied")
    fields = msgspec.structs.asdict(SystemSpec()).items()
    variables = {n: f"RAGSIEVE_{n.upper()}" for n, one in fields if not isinstance(one, dict)}
    variables["llm_options.base_url"] = "RAGSIEVE_BASE_URL"
    named = {name: Setting(os.environ.get(v), v) for name, v in variables.items()}
    return _over(known, {name: setting for name, setting in named.items() if setting.value})


def _flat(values: Mapping[str, Any], origin: str) -> dict[str, Setting]:
    """Settings by name, items of tables by the table's name and theirs."""
    by_model = {f"{_BY_MODEL}.{n}": own for n, own in values.get(_BY_MODEL, {}).items()}
    known: dict[str, Setting] = {}
    for name, value in {**values, **by_model}.items():
        if not isinstance(value, dict):
            known[name] = Setting(value, origin)
        elif name != _BY_MODEL:
            known |= {f"{name}.{key}": Setting(one, origin) for key, one in value.items()}
    return known


def _over(far: Mapping[str, Setting], near: Mapping[str, Setting]) -> dict[str, Setting]:
    """Nearer settings over farther ones, of which those that a nearer one excludes are left out.

    A field and an option of one name exclude each other, as do ``keep_answer`` and ``min_score``;
    another system excludes options, models and thresholds. A folder that names a server's address
    gets no options, such as a key, that are set elsewhere for that server.
    """
    subjects = {_subject(name) for name in near}
    system = far.get("system", Setting(SystemSpec().system, "")).value
    if "system" in near and near["system"].value != system:
        far = {n: one for n, one in far.items() if n.partition(".")[0] not in _OF_SYSTEM}
    addresses = (n for n, (_, by) in near.items() if by == FILE and ".base_url" in n)
    servers = {n.rpartition(".")[0] for n in addresses}
    far = {n: one for n, one in far.items() if n.rpartition(".")[0] not in servers}
    return {**{n: one for n, one in far.items() if _subject(n) not in subjects}, **near}


def _subject(name: str) -> str:
    bare = name.removeprefix("options.")
    return "keep_answer" if bare == "min_score" else bare


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

    Those that the arguments take the place of are left out: a ``--system`` comes without the
    options that are set for another one.
    """
    given: dict[str, Setting] = {}
    for word, following in pairwise((*arguments, "")):
        flag, equals, value = word.partition("=")
        key = (value if equals else following).partition("=")[0]
        name = f"options.{key}" if flag == "--option" else flag[2:].replace("-", "_")
        given |= {name: Setting(None, "")} if word.startswith("--") else {}
    values: dict[str, Any] = {}
    for name, (value, origin) in _over(settings(), given).items():
        table, _, key = name.partition(".")
        if origin and key:
            text = value if isinstance(value, str) else json.dumps(value)
            values.setdefault(table, []).append(f"{key}={text}")
        elif origin:
            values[name] = value
    serve = {**values, "names": [values["system"]]} if "system" in values else values
    mcp = {**values, "sources": [values["source"]]} if "source" in values else values
    return {**dict.fromkeys(("ask", "doctor", "filter"), values), "mcp": mcp, "serve": serve}


@command("config", short_help="Show what is set, and where.")
def config_command(*, as_json: Json = False) -> None:
    """Show settings in force: of ragsieve.toml in your configuration folder, of ragsieve.toml in
    the current folder, of the environment; each goes before those named earlier, and an option on
    the command line before all; tables are merged by key. They are defaults of `filter`, `ask`,
    `serve` and `mcp`.

    \b
      system = "finefilter"                             or RAGSIEVE_SYSTEM
      keep_answer = 0.9                                 or RAGSIEVE_KEEP_ANSWER
      llm = "openai:NAME"                               or RAGSIEVE_LLM
      llm_options = {base_url = "http://host:8000/v1"}   or RAGSIEVE_BASE_URL
      max_tokens = 1000                                 or RAGSIEVE_MAX_TOKENS

    Also min_score, min_answerable, first_look, max_chars, max_tokens_per_document,
    max_chars_per_document, max_share, mark, json_as, file_names, embedder, pruner, on_error,
    source, and the tables options, models, model_options and source_options. A ragsieve.toml can
    send your questions to another server: look at those of folders that are not yours.
    """
    known = settings()
    shown = without_secrets({name: setting.value for name, setting in known.items()})
    if as_json:
        values = {n: {"value": shown[n], "from": known[n].origin} for n in shown}
        click.echo(json.dumps(values, indent=2))
    elif not shown:
        click.echo(printable(f"nothing is set: neither {_own()} nor {FILE} nor RAGSIEVE_…"))
    else:
        rows = [(name, json.dumps(shown[name]), known[name].origin) for name in shown]
        table(("name", "value", "from"), rows)
