"""Sources by a TOML file: what there is to ask, for a router to choose among.

    [[sources]]
    name = "news"                             # what traces and a trained router call it
    description = "News articles of 2023."    # what it holds, for a router
    kind = "index"                            # "index", "pages", "passages", "api" or "memory"
    folder = "news-index"                     # of an index, as are: k, by
    timeout_s = 20                            # after which it is left out; at most 86400

Pages have ``files`` (HTML, or JSONL with ``html`` a line) and ``off_topic``. Passages were found
before, question by question: ``questions`` is JSONL of questions with documents, or a data set's
name; of these ``only`` those of one ``source`` count, and ``html`` says that they are pages. An API
has ``api`` (``"crag"``, ``"crag:movie"``, a TOML table, or OpenAPI as JSON), its server's ``url``,
and where needed ``headers`` (a value ``"env:NAME"`` is taken from the environment), ``entities``
(``"spacy"`` or ``"rules"``) and ``allow_private``; one call takes half of ``timeout_s`` at most.
Paths count from the file's own folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ragsieve import datasets
from ragsieve.datasets import Dataset
from ragsieve.datasets.local import lines, parse_json
from ragsieve.errors import InputError
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Source
from ragsieve.retrieve.route import Named, check_names, nothing
from ragsieve.systems.indexes import content, index_source

Load = Callable[[str], Embedder]
T = TypeVar("T")

KINDS: dict[str, dict[str, type | tuple[type, ...]]] = {  # keys of a table, by its kind
    "index": {"folder": str, "k": int, "by": str},
    "pages": {"files": list, "off_topic": str},
    "passages": {"questions": str, "only": str, "html": bool},
    "api": {"api": str, "url": str, "headers": dict, "entities": str, "allow_private": bool},
    "memory": {},
}
_COMMON: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "description": str,
    "kind": str,
    "timeout_s": (int, float),
}
_NEEDED = {
    "index": ("folder",),
    "pages": ("files",),
    "passages": ("questions",),
    "api": ("api", "url"),
    "memory": (),
}
_TIMEOUT_S = 20.0
_MEMORY = "What the model itself knows: general knowledge."
_SAID = {str: "a string", int: "a whole number", list: "a list", dict: "a table", bool: "a boolean"}


class _Where(NamedTuple):
    """Where a table's files, data sets and embedders are found."""

    folder: Path
    data: Path | None
    load: Load


def read_sources(path: Path | str, load: Load, *, data: Path | None = None) -> tuple[Named, ...]:
    """The sources that a TOML file describes, in its order, read and loaded as far as can be.

    Args:
        path: The file; see the head of this module.
        load: Loads an index's embedder by its name.
        data: Where data sets lie; see `ragsieve.datasets.load`.

    Raises:
        InputError: If the file cannot be read, or a table of it has an unknown key or kind, lacks
            a key, or names what is not there: one line that names table and key.
        MissingExtra: If a source needs a package that is not installed.
        ModelError: If what finds entities cannot be loaded.
        SourceError: If pages cannot be read here at all.
        StoreError: If an index cannot be opened, or weights cannot be fetched.
    """
    path = Path(path)
    where = _Where(path.parent, data, load)
    return tuple(_each(path, lambda table: _named(table, where)))


def sources_content(path: Path | str, *, data: Path | None = None) -> str:
    """Twelve hex digits of what a file of sources says, and of the files that it names.

    Raises:
        InputError: If one of them cannot be read, or a table breaks a rule: one line that names
            table and key.
    """
    path = Path(path)
    parts = _each(path, lambda table: _content(table, path.parent, data))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _each(path: Path, make: Callable[[dict[str, Any]], T]) -> list[T]:
    """What ``make`` gives for each table that keeps the rules; an error names file and table."""
    found, plain = [], []
    for number, table in enumerate(_tables(path), 1):
        try:
            plain.append(_plain(table))
            found.append(make(table))
        except InputError as error:
            which = f"table {number} of [[sources]] ({table.get('name', 'no name')!r:.60})"
            raise InputError(f"{path}, {which}: {error}") from error
    try:
        check_names(plain)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return found


def _tables(path: Path) -> list[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
        json.dumps(given, default=str)  # dotted keys may nest deeper than any value can be shown
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # also what is too long or too deep
        raise InputError(f"{path} must be TOML: {error}") from error
    if unknown := given.keys() - {"sources"}:
        raise InputError(f"{path} must hold tables [[sources]] only, got {min(unknown)!r}")
    tables = given.get("sources", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: sources must be tables [[sources]], got {tables!r:.80}")
    return tables


def _content(table: Mapping[str, Any], folder: Path, data: Path | None) -> str:
    parts = [json.dumps(table, sort_keys=True, default=str)]
    if "folder" in table:
        parts.append(content(folder / table["folder"]))
    if "questions" in table:
        parts.append(_questions(table, folder, data).sha256())
    if "api" in table and table["api"].partition(":")[0] != "crag":
        parts.append(hashlib.sha256(_bytes(folder / table["api"], "api")).hexdigest())
    files = [folder / str(name) for name in table.get("files", [])]
    parts += [hashlib.sha256(_bytes(file, "files")).hexdigest() for file in files]
    return "\n".join(parts)


def _plain(table: Mapping[str, Any]) -> Named:
    """A table that keeps the rules, as a source of nothing."""
    _check(table)
    said = table.get("description") or (_MEMORY if table["kind"] == "memory" else "")
    return Named(table["name"], said, nothing, table.get("timeout_s", _TIMEOUT_S))


def _named(table: Mapping[str, Any], where: _Where) -> Named:
    make = {"index": _index, "pages": _pages, "passages": _passages, "api": _api}
    plain = _plain(table)
    if table["kind"] == "memory":
        return plain
    search, own = make[table["kind"]](table, where)
    return replace(plain, description=plain.description or own, search=search)


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
        texts = value if isinstance(value, list) else [value]
        if any(isinstance(text, str) and "\0" in text for text in texts):
            raise InputError(f"{key} must have no NUL character, got {value!r:.80}")


def _index(table: Mapping[str, Any], where: _Where) -> tuple[Source, str]:
    folder, k = where.folder / table["folder"], table.get("k", 20)
    return index_source(folder, where.load, k=k, by=table.get("by")), ""


def _passages(table: Mapping[str, Any], where: _Where) -> tuple[Source, str]:
    from ragsieve.retrieve.passages import Passages

    found = (example for _, example in _questions(table, where.folder, where.data).examples())
    return Passages(found, only=table.get("only", ""), html=table.get("html", False)), ""


def _questions(table: Mapping[str, Any], folder: Path, data: Path | None) -> Dataset:
    name = table["questions"]
    return datasets.load(name if name in datasets.DATASETS else folder / name, folder=data)


def _pages(table: Mapping[str, Any], where: _Where) -> tuple[Source, str]:
    from ragsieve.retrieve.web import Pages

    names = table["files"]
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"files must be names of files, got {names!r:.80}")
    found = [page for name in names for page in _read(where.folder / name)]
    pages = Pages(found, off_topic=table.get("off_topic", "drop"))
    pages.read()
    return pages, ""


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
    yield {"id": path.name, "html": _bytes(path, "files").decode("utf-8-sig", errors="replace")}


def _bytes(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{key}: {path} cannot be read: {error.strerror or error}") from error


def _api(table: Mapping[str, Any], where: _Where) -> tuple[Source, str]:
    from ragsieve.retrieve.apis import api as apis
    from ragsieve.retrieve.apis.entities import Entities, Rules
    from ragsieve.retrieve.apis.openapi import described
    from ragsieve.retrieve.fetch import Http
    from ragsieve.retrieve.records import Records

    name, _, domain = table["api"].partition(":")
    if name == "crag":
        api = apis.crag(*filter(None, [domain]))
    elif (path := where.folder / table["api"]).suffix == ".json":
        api = described(parse_json(_bytes(path, "api")))
    else:
        api = apis.read(path)
    kind = table.get("entities", "spacy")
    if kind not in ("spacy", "rules"):
        raise InputError(f"entities must be spacy or rules, got {kind!r}")
    http = Http(
        table["url"],
        timeout_s=table.get("timeout_s", _TIMEOUT_S) / 2,  # time for what the other calls told
        headers=_headers(table.get("headers", {})),
        allow_private=table.get("allow_private", False),
    )
    entities: Entities = Rules()
    if kind == "spacy":
        from ragsieve.retrieve.apis.ner import Spacy

        entities = spacy = Spacy()
        spacy.load()
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
