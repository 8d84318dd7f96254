"""What an index knows of its documents and chunks, and which state of it is served.

INDEX/
├── current                 the name of the state that is served
├── 000007-5f0c11d2/        a state: never changed once it is served, removed when another is
│   ├── documents.sqlite        documents, spans of chunks, what the index was built with
│   ├── bm25/                   words, memory-mapped
│   ├── keys.npy, vectors.npy   vectors, memory-mapped, where they are few
│   └── chroma/                 vectors, unless they lie on a server; opened where they are many
├── pending.sqlite          what a build that is not done has cut and embedded
└── lock                    held by the one that builds
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ragsieve.errors import InputError, StoreError
from ragsieve.types import Document

FORMAT = 1
LOCK = "lock"
"""The file that one who builds holds."""

DAMAGED = (ValueError, TypeError, AttributeError, LookupError, EOFError, zipfile.BadZipFile)
"""What NumPy and bm25s raise for files that hold something else than they wrote."""

_STATE = re.compile(r"[0-9]{6,}-[0-9a-f]{8}")
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What an index was built with; ``name`` is its collection's on a server of vectors."""

    embedder: str
    splitter: str
    titles: bool
    url: str
    name: str
    label: str
    format: int = FORMAT


class Chunk(NamedTuple):
    """A span of a document by their numbers, which give the order in which they were added."""

    number: int
    document: int
    start: int
    end: int


@contextmanager
def storing(folder: Path, what: str = "written") -> Iterator[None]:
    """Tell what goes wrong on the disk in one line."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"the index {str(folder)!r} could not be {what}: {reason}") from error


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items, the last one shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


def raw(text: str) -> bytes:
    """A text as it is stored: UTF-8, lone surrogates as they are."""
    return text.encode("utf-8", "surrogatepass")


def text_of(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogatepass")


def key_of(text: str) -> bytes:
    """What a text's vector is known by, 16 bytes."""
    return hashlib.sha256(raw(text)).digest()[:16]


def digest_of(document: Document) -> bytes:
    """The same for title and text of a document, 32 bytes."""
    title = raw(document.title)
    return hashlib.sha256(b"%d:%b%b" % (len(title), title, raw(document.text))).digest()


def metadata_of(document: Document) -> str:
    """Metadata as JSON.

    Raises:
        InputError: If it is more than JSON can hold.
    """
    try:
        return json.dumps(dict(document.metadata), sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata of document {document.id!r} must be JSON: {error}") from error


def current(folder: Path) -> Path | None:
    """The state that is served; None where nothing was built yet."""
    with storing(folder, "read"):
        try:
            name = (folder / "current").read_text(encoding="ascii", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None
    if not _STATE.fullmatch(name):
        raise StoreError(f"the index {str(folder)!r} could not be read: no state {name!r:.40}")
    return folder / name


def switch(folder: Path, state: Path) -> None:
    """Serve ``state`` from now on, once all of it is on the disk."""
    with storing(folder):
        for path in (*state.rglob("*"), state):
            _flush(path)
        beside = folder / "current.new"
        beside.write_text(state.name, encoding="ascii")
        _flush(beside)
        beside.replace(folder / "current")
        _flush(folder)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(folder: Path, keep: Path | None) -> None:
    """Remove every state but ``keep``; one that cannot go now goes with the next build."""
    with storing(folder):
        for path in folder.iterdir():
            if _STATE.fullmatch(path.name) and path != keep:
                shutil.rmtree(path, ignore_errors=True)


class State:
    """A state that is served, to be read by any number of threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = self._settings()

    def _connect(self) -> sqlite3.Connection:
        name = (self.path / "documents.sqlite").absolute().as_uri()
        return sqlite3.connect(f"{name}?mode=ro&immutable=1", uri=True, check_same_thread=False)

    def _settings(self) -> Settings:
        rows = self.rows("SELECT json FROM settings")
        try:
            found = json.loads(rows[0][0])
            if found["format"] != FORMAT:
                raise StoreError(
                    f"the index {str(self.path.parent)!r} has format {found['format']!r}, "
                    f"this ragsieve reads {FORMAT}: build it again"
                )
            return Settings(**found)
        except (ValueError, TypeError, LookupError) as error:
            raise StoreError(
                f"the index {str(self.path.parent)!r} could not be read: no settings"
            ) from error

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a statement finds."""
        with storing(self.path.parent, "read"), closing(self._connect()) as connection:
            return connection.execute(statement, values).fetchall()

    def count(self, table: str) -> int:
        """Rows of ``documents`` or ``chunks``."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])

    def vectors(self) -> int:
        """How many vectors its chunks need: one for each key."""
        return int(self.rows("SELECT count(DISTINCT key) FROM chunks")[0][0])

    def ids(self) -> list[str]:
        """Ids of the documents, in the order in which they were added."""
        rows = self.rows("SELECT id FROM documents ORDER BY number")
        return [text_of(row[0]) for row in rows]

    def digests(self) -> set[bytes]:
        """`digest_of` each document."""
        return {digest for (digest,) in self.rows("SELECT digest FROM documents")}

    def with_keys(self, keys: Iterable[bytes]) -> dict[bytes, list[int]]:
        """Numbers of the chunks that have each key, in order."""
        found: dict[bytes, list[int]] = {}
        for some in batched(keys, 500):
            marks = ",".join("?" * len(some))
            statement = f"SELECT key, number FROM chunks WHERE key IN ({marks}) ORDER BY number"
            for key, number in self.rows(statement, some):
                found.setdefault(key, []).append(number)
        return found

    def chunks(self, numbers: Iterable[int]) -> dict[int, Chunk]:
        """Chunks by their numbers."""
        found = {}
        for some in batched(numbers, 500):
            marks = ",".join("?" * len(some))
            statement = f"SELECT number, document, start, end FROM chunks WHERE number IN ({marks})"
            found.update({row[0]: Chunk(*row) for row in self.rows(statement, some)})
        return found

    def documents(self, ranks: dict[int, int]) -> dict[int, Document]:
        """Documents by their numbers, with the ranks that ``ranks`` gives them."""
        found = {}
        for some in batched(ranks, 500):
            marks = ",".join("?" * len(some))
            statement = (
                "SELECT number, id, text, title, source, metadata "
                f"FROM documents WHERE number IN ({marks})"
            )
            for number, *texts, metadata in self.rows(statement, some):
                id_, text, title, source = map(text_of, texts)
                kept = json.loads(metadata)
                found[number] = Document(id_, text, title, source, ranks[number], kept)
        return found
