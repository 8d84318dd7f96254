"""Sources declared in a TOML file, for a router to choose among.

    [[sources]]
    name = "news"                             # what traces and a trained router call it
    description = "News articles of 2023."    # what it holds, for a router
    kind = "index"                            # "index", "pages", "passages", "api" or "memory"
    folder = "news-index"                     # of an index, as are: k, by
    timeout_s = 20                            # after which it is left out; at most 86400

An API has 20 seconds unless ``timeout_s`` says otherwise; the other kinds, which compute here, have
no limit unless it does: an index waits for a local model that writes.

Pages have ``files`` (HTML, or JSONL with ``html`` a line; folders of such, or patterns like
``"pages/*.html"``) and ``off_topic``. Passages were retrieved before, question by question:
``questions`` is JSONL of questions with documents, or a data set's name; of these ``only`` those of
one ``source`` count, and ``html`` says that they are pages. An API has ``api`` (``"crag"``,
``"crag:movie"``, a TOML table, or OpenAPI as JSON), its server's ``url``, and where needed
``headers`` (a value ``"env:NAME"`` is taken from the environment), ``entities`` (``"spacy"`` or
``"rules"``) and ``allow_private``; one call takes half of ``timeout_s`` at most. Paths count from
the file's own folder.
"""

import glob
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from ragsieve import models
from ragsieve.errors import InputError, naming
from ragsieve.files import read_bytes, read_toml
from ragsieve.models.base import Embedder
from ragsieve.run.questions import lines, parse_json
from ragsieve.schema import Schema
from ragsieve.system import Source
from ragsieve_research import datasets
from ragsieve_research.datasets import Dataset
from ragsieve_research.retrieve.corpus import By
from ragsieve_research.retrieve.indexes import content, index_embedder, index_source
from ragsieve_research.retrieve.route import Named, check_names, nothing

Load = Callable[[str], Embedder]

PAGES = (".html", ".htm", ".jsonl", ".jsonl.gz")
"""Endings of the files that are read of a folder or a pattern."""

Text = Annotated[str, Meta(pattern=r"^[^\0]*\Z", extra={"rule": "text without NUL characters"})]
Seconds = Annotated[float, Meta(gt=0, le=86_400, extra={"rule": "over 0 and at most 86,400"})]
Files = Annotated[
    tuple[Text, ...], Meta(min_length=1, extra={"rule": "names of files, folders or patterns"})
]


class _Where(NamedTuple):
    """Places of a table's files, data sets and embedders."""

    folder: Path
    data: Path | None
    load: Load = models.load


class _Table(Schema, tag_field="kind", kw_only=True, frozen=True):
    """Options of all kinds of source."""

    name: str
    description: str = ""
    timeout_s: Seconds | None = None

    def __post_init__(self) -> None:
        self.named()  # checks the name

    def named(self) -> Named:
        """The source, as one of nothing."""
        return Named(self.name, self.description, nothing, self.timeout_s)

    def search(self, where: _Where) -> Source:
        """The source itself, read and loaded."""
        return nothing

    def contents(self, where: _Where) -> list[str]:
        """Digests of the files that the table names."""
        return []


class Index(_Table, tag="index", kw_only=True, frozen=True):
    """An index by its folder, searched for the best ``k`` chunks."""

    folder: Text
    k: int = 20
    by: By | None = None

    def search(self, where: _Where) -> Source:
        """The index."""
        return index_source(where.folder / self.folder, where.load, k=self.k, by=self.by)

    def contents(self, where: _Where) -> list[str]:
        """Digest of the index."""
        return [content(where.folder / self.folder)]


class PagesTable(_Table, tag="pages", kw_only=True, frozen=True):
    """HTML pages: files, or lines of JSONL."""

    files: Files
    off_topic: str = "drop"

    def search(self, where: _Where) -> Source:
        """The pages, read now."""
        from ragsieve_research.retrieve.pages import Pages

        pages = [page for name in self._names(where.folder) for page in _read(where.folder, name)]
        source = Pages(pages, off_topic=self.off_topic)  # type: ignore[arg-type]
        source.read()
        return source

    def contents(self, where: _Where) -> list[str]:
        """Digests of the files."""
        return [_digest(where.folder / name) for name in self._names(where.folder)]

    def _names(self, folder: Path) -> list[str]:
        """The names of the files, from ``folder``: those of folders and patterns by name."""
        names: dict[str, None] = {}
        for name in self.files:
            is_folder = (folder / name).is_dir()
            if (folder / name).is_file() or not (is_folder or glob.has_magic(name)):
                names[name] = None
                continue
            pattern = f"{glob.escape(Path(name).as_posix())}/**/*" if is_folder else name
            matches = sorted(glob.glob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207
            pages = [m for m in matches if m.lower().endswith(PAGES) and (folder / m).is_file()]
            if not pages:
                raise InputError(f"files must match {', '.join(PAGES)}, got {name!r} with none")
            names |= dict.fromkeys(pages)
        return [*names]


class PassagesTable(_Table, tag="passages", kw_only=True, frozen=True):
    """Documents that were retrieved before, by question."""

    questions: Text
    only: str = ""
    html: bool = False

    def search(self, where: _Where) -> Source:
        """The passages of each question."""
        from ragsieve_research.retrieve import passages

        examples = (example for _, example in self._dataset(where).examples())
        return passages.Passages(examples, only=self.only, html=self.html)

    def contents(self, where: _Where) -> list[str]:
        """Digest of the data set."""
        return [self._dataset(where).sha256()]

    def _dataset(self, where: _Where) -> Dataset:
        known = self.questions in datasets.DATASETS
        name = self.questions if known else where.folder / self.questions
        return datasets.load(name, folder=where.data)


class ApiTable(_Table, tag="api", kw_only=True, frozen=True):
    """An API: a table of it, and its server."""

    api: Text
    url: Text
    headers: Mapping[str, str] = {}
    entities: Literal["spacy", "rules"] = "spacy"
    allow_private: bool = False
    timeout_s: Seconds = 20.0

    def search(self, where: _Where) -> Source:
        """The API, with what finds entities loaded."""
        from ragsieve_research.retrieve.apis import api as apis
        from ragsieve_research.retrieve.apis.entities import Entities, Rules
        from ragsieve_research.retrieve.apis.openapi import described
        from ragsieve_research.retrieve.fetch import Http
        from ragsieve_research.retrieve.records import Records

        name, _, domain = self.api.partition(":")
        if name == "crag":
            api = apis.crag(*filter(None, [domain]))
        elif (path := where.folder / self.api).suffix == ".json":
            api = described(parse_json(read_bytes(path)))
        else:
            api = apis.read(path)
        http = Http(
            self.url,
            timeout_s=self.timeout_s / 2,  # time for what the other calls gave
            headers=_headers(self.headers),
            allow_private=self.allow_private,
        )
        entities: Entities = Rules()
        if self.entities == "spacy":
            from ragsieve_research.retrieve.apis.ner import Spacy

            entities = spacy = Spacy()
            spacy.load()
        return Records(api, http, entities=entities)

    def contents(self, where: _Where) -> list[str]:
        """Its table, where it is a file."""
        bundled = self.api.partition(":")[0] == "crag"
        return [] if bundled else [_digest(where.folder / self.api)]


class MemoryTable(_Table, tag="memory", kw_only=True, frozen=True):
    """The model by itself: a source of nothing."""

    description: str = "What the model itself knows: general knowledge."


Table = Index | PagesTable | PassagesTable | ApiTable | MemoryTable


class _SourcesFile(Schema, frozen=True):
    """A file of sources."""

    sources: tuple[Table, ...] = ()


def read_sources(path: Path | str, load: Load, *, data: Path | None = None) -> tuple[Named, ...]:
    """The sources that a TOML file describes, in its order, read and loaded as far as can be.

    Args:
        path: The file; see the head of this module.
        load: Loads an index's embedder by its name.
        data: Where data sets lie; see `ragsieve_research.datasets.load`.

    Raises:
        InputError: If the file cannot be read, or a table of it has an unknown key or kind, lacks
            a key, or names what is not there: one line that names source and key.
        MissingExtra: If a source needs a package that is not installed.
        ModelError: If what finds entities cannot be loaded.
        SourceError: If pages cannot be read here at all.
        StoreError: If an index cannot be opened, or weights cannot be fetched.
    """
    path = Path(path)
    where = _Where(path.parent, data, load)
    sources = []
    for table in _tables(path):
        with _naming(f"{path}, source {table.name!r}"):
            sources.append(_source(table, where))
    return tuple(sources)


def source_models(path: Path | str) -> list[str]:
    """Embedders of the indexes that a file of sources names.

    Raises:
        InputError: If the file cannot be read, or there is no index.
    """
    indexes = [table for table in _tables(Path(path)) if isinstance(table, Index)]
    return [n for one in indexes for n in index_embedder(Path(path).parent / one.folder, one.by)]


def sources_content(path: Path | str, *, data: Path | None = None) -> str:
    """Twelve hex digits of what a file of sources says, and of the files that it names.

    Raises:
        InputError: If one of them cannot be read, or a table breaks a rule: one line that names
            table and key.
    """
    path = Path(path)
    where = _Where(path.parent, data)
    parts = []
    for table in _tables(path):
        with _naming(f"{path}, source {table.name!r}"):
            parts += [msgspec.json.encode(table).decode(), *table.contents(where)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _tables(path: Path) -> tuple[Table, ...]:
    tables = read_toml(_SourcesFile, path).sources
    with _naming(path):
        check_names([table.named() for table in tables])
    return tables


@contextmanager
def _naming(place: object) -> Iterator[None]:
    """Begin the line of an error with ``place``."""
    with naming(place):
        yield


def _source(table: Table, where: _Where) -> Named:
    search = table.search(where)
    api = getattr(search, "api", None)  # whose table says what it holds
    description = table.description or (api.description if api else "")
    return replace(table.named(), description=description, search=search)


def _read(folder: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """The pages of a file: a line each of JSONL, else one."""
    path = folder / name
    if path.name.endswith((".jsonl", ".jsonl.gz")):
        for number, line in lines(path):
            with _naming(f"{path} line {number}"):
                page = parse_json(line)
                if not isinstance(page.get("html"), str):
                    raise InputError(f"a page must have html, got the keys {sorted(page)!r:.80}")
            yield {"id": f"{name}:{number}", **page}
        return
    from ragsieve.read.web import charset

    raw = read_bytes(path)
    yield {"id": name, "html": raw.decode(charset(raw), errors="replace")}


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers, those that say ``env:NAME`` from the environment."""
    values = {}
    for key, value in headers.items():
        variable = value.removeprefix("env:")
        if variable != value and variable not in os.environ:
            raise InputError(f"headers.{key} needs the environment variable {variable}, not set")
        values[key] = value if variable == value else os.environ[variable]
    return values
