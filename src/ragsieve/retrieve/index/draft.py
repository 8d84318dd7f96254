"""The next state of an index, in the making, and what a build keeps should it be killed."""

from __future__ import annotations

import json
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.prompts import titled
from ragsieve.retrieve.index.store import (
    Settings,
    State,
    current,
    metadata_of,
    raw,
    storing,
    text_of,
)
from ragsieve.types import Document, Segment

_SCHEMA = """
CREATE TABLE settings(json TEXT NOT NULL);
CREATE TABLE documents(
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, digest BLOB NOT NULL,
    text BLOB NOT NULL, title BLOB NOT NULL, source BLOB NOT NULL, metadata TEXT NOT NULL
);
CREATE TABLE chunks(
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL,
    start INTEGER NOT NULL, end INTEGER NOT NULL, key BLOB NOT NULL
);
CREATE INDEX chunks_of ON chunks(document);
CREATE INDEX chunks_with ON chunks(key);
"""
_PENDING = """
CREATE TABLE IF NOT EXISTS settings(json TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS spans(digest BLOB PRIMARY KEY, spans TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors(key BLOB PRIMARY KEY, vector BLOB NOT NULL);
"""
Spans = list[tuple[int, int]]


class Known(NamedTuple):
    """What stands in the index under a document's id."""

    number: int
    digest: bytes
    source: bytes
    metadata: str


class Draft:
    """A state that is being made: a copy of the one that is served, to be changed."""

    def __init__(self, folder: Path, served: State | None) -> None:
        number = int(served.path.name.partition("-")[0]) + 1 if served else 1
        self.folder = folder
        self.path = folder / f"{number:06}-{secrets.token_hex(4)}"
        try:
            with storing(folder):
                self._connection = self._copied(served.path if served else None)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def _copied(self, served: Path | None) -> sqlite3.Connection:
        self.path.mkdir()
        target = self.path / "documents.sqlite"
        if served:
            shutil.copyfile(served / target.name, target)
        connection = sqlite3.connect(target, isolation_level=None)
        connection.execute("PRAGMA journal_mode=OFF")  # thrown away if it fails
        connection.execute("PRAGMA synchronous=OFF")  # `switch` flushes it
        connection.execute(
            "ATTACH ? AS old", (str(served / target.name) if served else ":memory:",)
        )
        if not served:
            connection.executescript(_SCHEMA)
            connection.execute("CREATE TABLE old.chunks(key BLOB)")
        connection.execute("BEGIN")
        return connection

    def known(self, id_: str) -> Known | None:
        """What stands under an id."""
        row = self._one("SELECT number, digest, source, metadata FROM documents WHERE id=?", id_)
        return Known(*row) if row else None

    def _one(self, statement: str, value: str | bytes) -> Any:
        with storing(self.folder):
            stored = raw(value) if isinstance(value, str) else value
            return self._connection.execute(statement, (stored,)).fetchone()

    def has_vector(self, key: bytes) -> bool:
        """Whether the state that is served has a vector for this key."""
        return self._one("SELECT 1 FROM old.chunks WHERE key=? LIMIT 1", key) is not None

    def describe(self, number: int, document: Document) -> None:
        """Put a document's source and metadata in the place of those that stand there."""
        with storing(self.folder):
            self._connection.execute(
                "UPDATE documents SET source=?, metadata=? WHERE number=?",
                (raw(document.source), metadata_of(document), number),
            )

    def put(
        self, document: Document, digest: bytes, chunks: Sequence[tuple[Segment, bytes]]
    ) -> None:
        """Add a document with its chunks and their keys."""
        texts = map(raw, (document.text, document.title, document.source))
        with storing(self.folder):
            number = self._connection.execute(
                "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?)",
                (raw(document.id), digest, *texts, metadata_of(document)),
            ).lastrowid
            self._connection.executemany(
                "INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?)",
                [(number, s.start, s.end, key) for s, key in chunks],
            )

    def drop(self, number: int) -> None:
        """Remove a document with its chunks."""
        with storing(self.folder):
            self._connection.execute("DELETE FROM chunks WHERE document=?", (number,))
            self._connection.execute("DELETE FROM documents WHERE number=?", (number,))

    def texts(self, titles: bool) -> Iterator[tuple[int, str]]:
        """Numbers of all chunks with their texts as they are searched, in order."""
        chunks = self._connection.execute(
            "SELECT number, document, start, end FROM main.chunks ORDER BY number"
        )
        last, document = -1, Document("", "")
        for number, place, start, end in chunks:
            if place != last:  # a document's chunks follow one another
                row = "SELECT text, title FROM documents WHERE number=?"
                text, title = map(text_of, self._connection.execute(row, (place,)).fetchone())
                last, document = place, Document("", text, title)
            segment = Segment(document, start, end)
            yield number, titled(segment) if titles else segment.text

    def fresh(self) -> list[bytes]:
        """Keys that its chunks have and those of the served state have not, in order."""
        return self._keys("SELECT key FROM main.chunks EXCEPT SELECT key FROM old.chunks")

    def gone(self) -> list[bytes]:
        """Keys that only chunks of the served state have, in order."""
        return self._keys("SELECT key FROM old.chunks EXCEPT SELECT key FROM main.chunks")

    def vectors(self) -> int:
        """How many vectors its chunks need: one for each key."""
        with storing(self.folder):
            count = "SELECT count(DISTINCT key) FROM main.chunks"
            return int(self._connection.execute(count).fetchone()[0])

    def _keys(self, statement: str) -> list[bytes]:
        with storing(self.folder):
            return [key for (key,) in self._connection.execute(statement)]

    def seal(self, settings: Settings) -> None:
        """Write what the index was built with, and close."""
        with storing(self.folder):
            self._connection.execute("DELETE FROM settings")
            self._connection.execute(
                "INSERT INTO settings VALUES (?)", (json.dumps(asdict(settings)),)
            )
            self._connection.execute("COMMIT")
            self._connection.close()

    def discard(self) -> None:
        """Give it up, unless it is served."""
        self._connection.close()
        if current(self.folder) != self.path:
            shutil.rmtree(self.path, ignore_errors=True)


class Pending:
    """What a build has cut and embedded, kept until its state is served, so that it can go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / "pending.sqlite"
        with storing(folder):
            self._connection = sqlite3.connect(self._path)
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")  # no wait for a few vectors
                self._connection.executescript(_PENDING)
            except sqlite3.Error:
                self.close()
                raise

    def _one(self, statement: str, *values: bytes) -> Any:
        """The first value that a statement finds; None where there is none."""
        with storing(self.folder, "read"):
            row = self._connection.execute(statement, values).fetchone()
        return row[0] if row else None

    def settings(self) -> Settings | None:
        """What that build was called with; None where it is a new one."""
        found = self._one("SELECT json FROM settings")
        try:
            return Settings(**json.loads(found)) if found else None
        except (ValueError, TypeError):  # of another version of ragsieve
            return None

    def begin(self, settings: Settings) -> None:
        """Forget everything and begin a build with ``settings``."""
        with storing(self.folder), self._connection:
            for table in ("settings", "spans", "vectors"):
                self._connection.execute(f"DELETE FROM {table}")
            self._connection.execute(
                "INSERT INTO settings VALUES (?)", (json.dumps(asdict(settings)),)
            )

    def spans(self, digest: bytes) -> Spans | None:
        """How a text was cut; None where it was not yet."""
        found = self._one("SELECT spans FROM spans WHERE digest=?", digest)
        return [(start, end) for start, end in json.loads(found)] if found else None

    def keep_spans(self, spans: dict[bytes, Spans]) -> None:
        """Remember how texts were cut."""
        with storing(self.folder), self._connection:
            rows = [(digest, json.dumps(found)) for digest, found in spans.items()]
            self._connection.executemany("INSERT OR REPLACE INTO spans VALUES (?, ?)", rows)

    def has_vector(self, key: bytes) -> bool:
        """Whether there is a vector for this key."""
        return self._one("SELECT 1 FROM vectors WHERE key=?", key) is not None

    def keep_vectors(self, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Remember vectors, ``(len(keys), dim)``."""
        with storing(self.folder), self._connection:
            rows = [(key, vector.tobytes()) for key, vector in zip(keys, vectors, strict=True)]
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def vectors(self, keys: Sequence[bytes]) -> NDArray[np.float32]:
        """Vectors of keys that all have one, ``(len(keys), dim)``."""
        found = [self._one("SELECT vector FROM vectors WHERE key=?", key) for key in keys]
        return np.frombuffer(b"".join(found), np.float32).reshape(len(keys), -1)

    def close(self) -> None:
        """Close it; it stays for a build that goes on, unless the disk has no room for it."""
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.ProgrammingError:  # was closed before
            return
        except sqlite3.Error:  # its log would go on filling the disk
            self.remove()
        else:
            self._connection.close()

    def remove(self) -> None:
        """Close and forget it."""
        self._connection.close()
        with storing(self.folder):
            for path in self.folder.glob(f"{self._path.name}*"):  # with what SQLite left beside it
                path.unlink(missing_ok=True)
