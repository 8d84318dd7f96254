"""A build of an index: one transaction; what it cuts and embeds is kept aside until it ends."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from filelock import FileLock, Timeout

from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.base import Embedder
from ragsieve.prompts import titled
from ragsieve.system import Stage
from ragsieve.types import Document, Query, Segment
from ragsieve_research.retrieve.index import store
from ragsieve_research.retrieve.index.postings import Changes
from ragsieve_research.retrieve.index.store import (
    FILE,
    LOCK,
    STAGED,
    IndexSettings,
    checksum,
    key_of,
    raw,
    storing,
)

logger = logging.getLogger(__name__)

_DOCUMENTS, _CHARS = 64, 200_000  # cut and embedded at a time: what a killed build can lose
_ANY = Query("any")  # a splitter takes a question and does not read it
_STAGED = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=NORMAL;
CREATE TABLE IF NOT EXISTS staged(key BLOB PRIMARY KEY, data BLOB, crc INTEGER);
"""

_Chunk = tuple[int, int, bytes]  # start, end, vector; empty without an embedder


@dataclass(frozen=True)
class Change:
    """Result of a change of an index.

    Args:
        added: Documents that were not there.
        changed: Documents with another title, text, source or metadata than before.
        unchanged: Documents that were there as they are.
        removed: Documents that are there no more.
        chunks: Chunks that were embedded for it.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0


class Build:
    """The next state of an index; one process at a time has one.

    Args:
        folder: The index.
        settings: What it is built with.
        embedder: Embeds chunks; None for BM25 alone.
        splitter: Documents to chunks; None for whole documents.

    Raises:
        StoreError: If another build is running, or the index cannot be read or written.
    """

    def __init__(
        self,
        folder: Path,
        settings: IndexSettings,
        embedder: Embedder | None,
        splitter: Stage | None,
    ) -> None:
        self.change = Change()
        self._folder, self._embedder, self._splitter = folder, embedder, splitter
        self._settings = json.dumps(asdict(settings))
        self._seen: dict[str, bytes] = {}
        with storing(folder), ExitStack() as stack:
            folder.mkdir(parents=True, exist_ok=True)
            stack.callback(self._locked().release)
            if not (folder / FILE).exists():
                store.create(folder, settings)
            self._db = stack.enter_context(closing(store.connect(folder / FILE)))
            self._db.execute("BEGIN IMMEDIATE")
            meta = store.meta_of(self._db)
            if meta.builds and meta.settings != settings:
                raise StoreError(f"the index {str(folder)!r} was just built anew: open it again")
            self._db.execute("UPDATE meta SET settings=?", (self._settings,))
            self._staged = stack.enter_context(closing(store.connect(folder / STAGED, "rwc")))
            self._staged.executescript(_STAGED)
            self._changes = Changes(self._db)
            self._exit = stack.pop_all()

    def _locked(self) -> FileLock:
        lock = FileLock(self._folder / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            what = f"the index {str(self._folder)!r} is being built by another process"
            raise StoreError(f"{what}: try again when that is done") from error
        return lock

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: object) -> None:
        """Let others build; what was not finished is kept aside for them."""
        self._exit.close()

    def add(self, documents: Sequence[Document]) -> None:
        """Add documents, each in the place of any with its id.

        Raises:
            InputError: If a document cannot be kept, or two of one id differ.
            ModelError: If the embedder fails.
            StoreError: If the disk fails.
        """
        with storing(self._folder):
            new = {d.id: (d, row) for d in documents if (row := self._new_row(d))}
            keys = {
                id_: key_of(f"{self._settings}{row[-2].hex()}") for id_, (_, row) in new.items()
            }
            chunks = {id_: some for id_, key in keys.items() if (some := self._staged_chunks(key))}
        others = self._chunks([d for d, _ in new.values() if d.id not in chunks])
        with storing(self._folder):
            for id_, some in others.items():
                data = msgspec.msgpack.encode(some)
                columns = (keys[id_], data, checksum(keys[id_], data))
                self._staged.execute("REPLACE INTO staged VALUES (?, ?, ?)", columns)
            for id_, (document, row) in new.items():
                self._write(document, row, {**chunks, **others}[id_])

    def _new_row(self, document: Document) -> tuple[Any, ...] | None:
        """A document's row where its chunks are to be written; None where they are there."""
        if document.written_by or not isinstance(document.source, str):
            rule = "have a source that is a string, and be written by no model"
            raise InputError(f"document {document.id!r} must {rule}, to be kept in an index")
        row = store.row_of(document)
        id_, *_, source, metadata, digest, crc = row
        if (seen := self._seen.setdefault(document.id, digest)) is not digest:
            if seen != digest:
                raise InputError(f"documents must have unique ids, got two of {document.id!r}")
            return None
        before = self._db.execute("SELECT digest, crc FROM documents WHERE id=?", (id_,)).fetchone()
        state = "added" if not before else "unchanged" if before == (digest, crc) else "changed"
        self._count(**{state: 1})
        if before and before[0] == digest:
            statement = "UPDATE documents SET source=?, metadata=?, crc=? WHERE id=?"
            self._db.execute(statement, (source, metadata, crc, id_))
            return None
        return row

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self.change, name) + value for name, value in more.items()}
        self.change = replace(self.change, **counts)

    def _staged_chunks(self, key: bytes) -> list[_Chunk] | None:
        """The chunks of a document that a build cut which did not end."""
        row = self._staged.execute("SELECT data, crc FROM staged WHERE key=?", (key,)).fetchone()
        known = row and row[1] == checksum(key, row[0])
        return msgspec.msgpack.decode(row[0], type=list[_Chunk]) if known else None

    def _chunks(self, documents: Sequence[Document]) -> dict[str, list[_Chunk]]:
        """Chunks by document's id, in order; blank ones are none."""
        segments = [Segment.whole(document) for document in documents]
        cut: dict[str, list[Segment]] = {document.id: [] for document in documents}
        whole = {document.id: document for document in documents}
        for segment in self._splitter(_ANY, segments) if self._splitter else segments:
            if segment.document != whole.get(segment.document.id):
                raise InputError(f"a splitter must not change documents, got {segment.key!r:.100}")
            if segment.text.strip():
                cut[segment.document.id].append(segment)
        vectors = self._vectors({titled(s): None for some in cut.values() for s in some})
        return {
            id_: [(s.start, s.end, vectors[titled(s)]) for s in some] for id_, some in cut.items()
        }

    def _vectors(self, texts: Iterable[str]) -> dict[str, bytes]:
        """The vector of each text as it is stored; what is known is not embedded again."""
        if self._embedder is None:
            return dict.fromkeys(texts, b"")
        vectors: dict[str, bytes] = {}
        with storing(self._folder, "read"):
            for text in texts:
                for chunk in store.chunks(self._db, "key=? LIMIT 1", key_of(text)):
                    vectors[text] = chunk.vector
        if new := [text for text in texts if text not in vectors]:
            rows = self._embedder.embed(new)
            if rows.ndim != 2 or len(rows) != len(new) or not np.isfinite(rows).all():
                rule = f"{self._embedder.identity} must give {len(new)} finite vectors"
                raise ModelError(f"{rule}, got {rows!r:.100}")
            self._count(chunks=len(new))
            vectors |= {t: row.astype("<f4").tobytes() for t, row in zip(new, rows, strict=True)}
        return vectors

    def _write(self, document: Document, row: tuple[Any, ...], chunks: Sequence[_Chunk]) -> None:
        self._drop(row[0])
        statement = "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
        number = self._db.execute(statement, row).lastrowid or 0
        statement = "INSERT INTO chunks VALUES (NULL, ?, ?, ?, ?, ?, ?)"
        for start, end, vector in chunks:
            text = titled(Segment(document, start, end))
            covered = (number, start, end, key_of(text), vector)
            chunk = self._db.execute(statement, (*covered, checksum(*covered)))
            self._changes.change(chunk.lastrowid or 0, text, added=True)

    def _drop(self, id_: bytes) -> int:
        """Remove a document where it is there; the number of those removed."""
        documents = store.documents(self._db, "id=?", id_)
        for number, document in documents.items():
            for chunk in store.chunks(self._db, "document=?", number):
                text = titled(Segment(document, chunk.start, chunk.end))
                self._changes.change(chunk.number, text, added=False)
            self._db.execute("DELETE FROM chunks WHERE document=?", (number,))
            self._db.execute("DELETE FROM documents WHERE number=?", (number,))
        return len(documents)

    def remove(self, ids: Iterable[str]) -> None:
        """Remove the documents of these ids, where they are there.

        Raises:
            InputError: If ``ids`` is one string: it would be an id a character.
            StoreError: If the disk fails.
        """
        if isinstance(ids, str):
            raise InputError(f"ids must be a list, got {ids!r:.80}")
        for id_ in ids:
            with storing(self._folder):
                self._count(removed=self._drop(raw(id_)))

    def finish(self) -> Change:
        """Serve the new state.

        Raises:
            StoreError: If the disk fails; the old state is served on.
        """
        with storing(self._folder):
            self._changes.flush()
            statement = "UPDATE meta SET builds=builds+1, chunks=chunks+?, words=words+?"
            self._db.execute(statement, (self._changes.chunks, self._changes.words))
            self._db.execute("COMMIT")
        self._shrink()
        return self.change

    def _shrink(self) -> None:
        """Give free pages back to the disk; what fails here goes another time."""
        try:
            self._db.execute("PRAGMA busy_timeout=1000")  # for those who read just now
            self._db.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after a page
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._staged.execute("PRAGMA synchronous=OFF")  # it is deleted
            self._staged.close()
            for path in self._folder.glob(f"{STAGED}*"):
                path.unlink()
        except (OSError, sqlite3.Error) as error:
            logger.warning("the index %s did not shrink: %s", self._folder, error)


def portions(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists that are cut and embedded together."""
    portion: list[Document] = []
    chars = 0
    for document in documents:
        if not isinstance(document, Document):
            raise InputError(f"documents must be of the class Document, got {document!r:.80}")
        portion.append(document)
        chars += len(document.text)
        if len(portion) >= _DOCUMENTS or chars >= _CHARS:
            yield portion
            portion, chars = [], 0
    if portion:
        yield portion
