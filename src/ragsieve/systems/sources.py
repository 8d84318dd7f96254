"""Sources by a TOML file: what there is to ask, for a router to choose among.

    [[sources]]
    name = "news"                             # what traces and a trained router call it
    description = "News articles of 2023."    # what it holds, for a router
    kind = "index"                            # "index", "pages", "api" or "memory"
    folder = "news-index"                     # of an index, as are: k, by
    timeout_s = 20                            # after which it is left out

Pages have ``files`` (HTML, or JSONL with ``html`` a line) and ``off_topic``. An API has ``api``
(``"crag"``, ``"crag:movie"``, a TOML table, or OpenAPI as JSON), its server's ``url``, and where
needed ``headers`` (a value ``"env:NAME"`` is taken from the environment), ``entities`` (``"spacy"``
or ``"rules"``) and ``allow_private``. Paths count from the file's own folder.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragsieve.datasets.local import lines, parse_json
from ragsieve.errors import InputError
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Source
from ragsieve.retrieve.route import Named, check_names, nothing
from ragsieve.systems.indexes import index_source

Load = Callable[[str], Embedder]

KINDS: dict[str, dict[str, type | tuple[type, ...]]] = {  # keys of a table, by its kind
    "index": {"folder": str, "k": int, "by": str},
    "pages": {"files": list, "off_topic": str},
    "api": {"api": str, "url": str, "headers": dict, "entities": str, "allow_private": bool},
    "memory": {},
}
_COMMON: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "description": str,
    "kind": str,
    "timeout_s": (int, float),
}
_NEEDED = {"index": ("folder",), "pages": ("files",), "api": ("api", "url"), "memory": ()}
_SAID = {str: "a string", int: "a whole number", list: "a list", dict: "a table", bool: "a boolean"}


def read_sources(path: Path | str, load: Load) -> tuple[Named, ...]:
    """The sources that a TOML file describes, in its order.

    Args:
        path: The file; see the head of this module.
        load: Loads an index's embedder by its name.

    Raises:
        InputError: If the file cannot be read, or a table of it has an unknown key or kind, lacks
            a key, or names what is not there: one line that names table and key.
        MissingExtra: If a source needs a package that is not installed.
        StoreError: If an index cannot be opened.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} must be TOML: {error}") from error
    if unknown := given.keys() - {"sources"}:
        raise InputError(f"{path} must hold tables [[sources]] only, got {min(unknown)!r}")
    tables = given.get("sources", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: sources must be tables [[sources]], got {tables!r:.80}")
    found = []
    for number, table in enumerate(tables, 1):
        try:
            found.append(_named(table, path.parent, load))
        except InputError as error:
            where = f"table {number} of [[sources]] ({table.get('name', 'no name')!r:.60})"
            raise InputError(f"{path}, {where}: {error}") from error
    try:
        check_names(found)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return tuple(found)


def _named(table: Mapping[str, Any], folder: Path, load: Load) -> Named:
    _check(table)
    make = {"index": _index, "pages": _pages, "api": _api}
    kind, said = table["kind"], table.get("description", "")
    search: Source = nothing
    if kind != "memory":
        search, own = make[kind](table, folder, load)
        said = said or own
    return Named(table["name"], said, search, float(table.get("timeout_s", 20)))


def _check(table: Mapping[str, Any]) -> None:
    """Raise `InputError` where a key is missing, not known, or of another type."""
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    known = {**_COMMON, **KINDS[kind]}
    if unknown := table.keys() - known.keys():
        keys = ", ".join(known)
        raise InputError(f"keys of kind {kind} are {keys}, got {min(unknown)!r}")
    for key in ("name", *_NEEDED[kind]):
        if key not in table:
            raise InputError(f"{key} is missing")
    for key, value in table.items():
        wanted = known[key]
        if not isinstance(value, wanted) or (type(value) is bool and wanted is not bool):
            rule = "a number" if isinstance(wanted, tuple) else _SAID[wanted]
            raise InputError(f"{key} must be {rule}, got {value!r:.80}")


def _index(table: Mapping[str, Any], folder: Path, load: Load) -> tuple[Source, str]:
    return (
        index_source(folder / table["folder"], load, k=table.get("k", 20), by=table.get("by")),
        "",
    )


def _pages(table: Mapping[str, Any], folder: Path, _: Load) -> tuple[Source, str]:
    from ragsieve.retrieve.web import Pages

    names = table["files"]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"files must be names of files, got {names!r:.80}")
    found = [page for name in names for page in _read(folder / name)]
    return Pages(found, off_topic=table.get("off_topic", "drop")), ""


def _read(path: Path) -> Iterator[Mapping[str, Any]]:
    """The pages of a file: a line each of JSONL, else one."""
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        for number, line in lines(path):
            try:
                page = parse_json(line)
                if not isinstance(page.get("html"), str):
                    raise InputError(f"a page must have html, got the keys {sorted(page)!r:.80}")
            except InputError as error:
                raise InputError(f"{path} line {number}: {error}") from error
            yield {"id": f"{path.name}:{number}", **page}
        return
    try:
        yield {"id": path.name, "html": path.read_text(encoding="utf-8-sig", errors="replace")}
    except OSError as error:
        raise InputError(f"files: {path} cannot be read: {error.strerror or error}") from error


def _api(table: Mapping[str, Any], folder: Path, _: Load) -> tuple[Source, str]:
    from ragsieve.retrieve import api as apis
    from ragsieve.retrieve.entities import Entities, Rules
    from ragsieve.retrieve.fetch import Http
    from ragsieve.retrieve.openapi import described
    from ragsieve.retrieve.records import Records

    name, _, domain = table["api"].partition(":")
    if name == "crag":
        api = apis.crag(*filter(None, [domain]))
    elif (path := folder / table["api"]).suffix == ".json":
        try:
            api = described(parse_json(path.read_bytes()))
        except OSError as error:
            raise InputError(f"api: {path} cannot be read: {error.strerror or error}") from error
    else:
        api = apis.read(path)
    kind = table.get("entities", "spacy")
    if kind not in ("spacy", "rules"):
        raise InputError(f"entities must be spacy or rules, got {kind!r}")
    entities: Entities = Rules()
    if kind == "spacy":
        from ragsieve.retrieve.ner import Spacy

        entities = Spacy()
    headers = _headers(table.get("headers", {}))
    http = Http(table["url"], headers=headers, allow_private=table.get("allow_private", False))
    return Records(api, http, entities=entities), api.description


def _headers(given: Mapping[str, Any]) -> dict[str, str]:
    """Headers, those that say ``env:NAME`` from the environment."""
    found = {}
    for key, value in given.items():
        if not isinstance(value, str):
            raise InputError(f"headers.{key} must be a string")
        variable = value.removeprefix("env:")
        if variable != value and variable not in os.environ:
            raise InputError(f"headers.{key} needs the environment variable {variable}, not set")
        found[key] = value if variable == value else os.environ[variable]
    return found
