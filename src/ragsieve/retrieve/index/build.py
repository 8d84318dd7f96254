"""A build of an index: stage what is new, then serve all of it in one transaction."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Stage
from ragsieve.prompts import titled
from ragsieve.retrieve.index import store, vectors
from ragsieve.retrieve.index.postings import Changes
from ragsieve.retrieve.index.store import FILE, LOCK, IndexSettings, key_of, raw, storing, text_of
from ragsieve.types import Document, Query, Segment

logger = logging.getLogger(__name__)

_DOCUMENTS, _CHARS = 64, 200_000  # cut at a time
_EMBEDDED = 256  # what a killed build can lose
_ANY = Query("any")  # a splitter takes a question and does not read it
_RUN = """
CREATE TEMP TABLE kept(number INTEGER PRIMARY KEY);
CREATE TEMP TABLE gone(number INTEGER PRIMARY KEY);
CREATE TEMP TABLE described(number INTEGER PRIMARY KEY, source BLOB, metadata TEXT, crc INTEGER);
"""
_OF = "SELECT number FROM main.chunks WHERE document IN (SELECT number FROM gone)"


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
        self._seen: dict[str, bytes] = {}
        self._lock = FileLock(folder / LOCK, timeout=0)
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout as error:
                raise StoreError(
                    f"the index {str(folder)!r} is being built by another process: "
                    "try again when that is done"
                ) from error
        try:
            self._open(settings)
        except BaseException:
            self._lock.release()
            raise

    def _open(self, settings: IndexSettings) -> None:
        with storing(self._folder):
            if not (self._folder / FILE).exists():
                store.create(self._folder, settings)
            self._db = store.open_to_write(self._folder)
        try:
            with self._writing():
                self._meta = store.meta_of(self._db)
                built = self._meta.settings
                if self._meta.builds and built != settings:
                    raise StoreError(
                        f"the index {str(self._folder)!r} was just built anew: open it again"
                    )
                if not self._meta.builds and built != settings:  # a killed build with others
                    store.reset(self._db, settings)
                    self._meta = store.meta_of(self._db)
            self._db.executescript(_RUN)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction: all of it, or nothing."""
        with storing(self._folder):
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def add(self, documents: Sequence[Document]) -> None:
        """Stage documents, each in the place of any with its id.

        Raises:
            InputError: If a document cannot be kept, or two of one id differ.
            ModelError: If the embedder fails.
            StoreError: If the disk fails.
        """
        with self._writing():
            new = [document for document in documents if self._is_new(document)]
        staged = self._stage(new)
        if self._embedder is not None:
            self._embed(self._embedder, staged)

    def _is_new(self, document: Document) -> bool:
        """Whether a document is to be staged; notes what becomes of the one in its place."""
        if document.written_by or not isinstance(document.source, str):
            rule = "have a source that is a string, and be written by no model"
            raise InputError(f"document {document.id!r} must {rule}, to be kept in an index")
        id_, *_, source, metadata, digest, crc = store.row_of(document)
        if (seen := self._seen.setdefault(document.id, digest)) is not digest:
            if seen != digest:
                raise InputError(f"documents must have unique ids, got two of {document.id!r}")
            return False
        served = self._served(id_)
        if served is None:
            self._count(added=1)
        elif served[1:] == (digest, crc):
            self._count(unchanged=1)
            return False
        else:
            self._count(changed=1)
            if served[1] == digest:
                row = (served[0], source, metadata, crc)
                self._db.execute("REPLACE INTO described VALUES (?, ?, ?, ?)", row)
                return False
            self._db.execute("INSERT OR IGNORE INTO gone VALUES (?)", served[:1])
        return True

    def _served(self, id_: bytes) -> tuple[int, bytes, int] | None:
        """Number, digest and checksum of the document that is served under an id."""
        statement = "SELECT number, digest, crc FROM documents WHERE id=? AND number<?"
        row: tuple[int, bytes, int] | None = self._db.execute(
            statement, (id_, self._meta.staged_documents)
        ).fetchone()
        return row

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self.change, name) + value for name, value in more.items()}
        self.change = replace(self.change, **counts)

    def _stage(self, documents: Sequence[Document]) -> list[int]:
        """Write documents with their chunks, unless a killed build did; their numbers."""
        rows = [store.row_of(document) for document in documents]
        staged = [self._staged(row[0], row[-1]) for row in rows]
        chunks = self._cut([d for d, number in zip(documents, staged, strict=True) if not number])
        with self._writing():
            for place, (document, row) in enumerate(zip(documents, rows, strict=True)):
                staged[place] = staged[place] or self._write(row, chunks[document.id])
            self._db.executemany("INSERT OR IGNORE INTO kept VALUES (?)", [(n,) for n in staged])
        return [number for number in staged if number]

    def _staged(self, id_: bytes, crc: int) -> int | None:
        statement = "SELECT number FROM documents WHERE id=? AND crc=? AND number>=?"
        with storing(self._folder, "read"):
            row = self._db.execute(statement, (id_, crc, self._meta.staged_documents)).fetchone()
        return row[0] if row else None

    def _write(self, row: tuple[Any, ...], chunks: Sequence[Segment]) -> int:
        place = "INSERT INTO documents VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)"
        number = self._db.execute(place, row).lastrowid or 0
        rows = [(number, s.start, s.end, key_of(titled(s))) for s in chunks]
        columns = "chunks(document, start, end, key)"
        self._db.executemany(f"INSERT INTO {columns} VALUES (?, ?, ?, ?)", rows)
        return number

    def _cut(self, documents: Sequence[Document]) -> dict[str, list[Segment]]:
        """Chunks by document's id, in order; blank ones are none."""
        segments = [Segment.whole(document) for document in documents]
        cut: dict[str, list[Segment]] = {document.id: [] for document in documents}
        whole = {document.id: document for document in documents}
        for segment in self._splitter(_ANY, segments) if self._splitter else segments:
            if segment.document != whole.get(segment.document.id):
                raise InputError(f"a splitter must not change documents, got {segment.key!r:.100}")
            if segment.text.strip():
                cut[segment.document.id].append(segment)
        return cut

    def _embed(self, embedder: Embedder, documents: Sequence[int]) -> None:
        """Give each chunk of some documents a vector; one text is embedded once."""
        numbers: dict[bytes, list[int]] = {}
        texts: dict[bytes, str] = {}
        with storing(self._folder, "read"):
            for document in documents:
                for number, key, embedded, text in self._chunks(document):
                    if not embedded:
                        numbers.setdefault(key, []).append(number)
                        texts.setdefault(key, text)
        with self._writing():
            known = {key: self._vector(key) for key in numbers}
            self._put(numbers, {k: v for k, v in known.items() if v is not None})
        new = [key for key in numbers if known[key] is None]
        for at in range(0, len(new), _EMBEDDED):
            keys = new[at : at + _EMBEDDED]
            rows = _checked(embedder, embedder.embed([texts[key] for key in keys]), len(keys))
            with self._writing():
                self._put(numbers, dict(zip(keys, rows, strict=True)))
            self._count(chunks=len(keys))

    def _chunks(self, document: int) -> Iterator[tuple[int, bytes, bool, str]]:
        """Number, key, whether it has a vector, and text of each chunk of a document."""
        texts = "SELECT text, title FROM documents WHERE number=?"
        text, title = map(text_of, self._db.execute(texts, (document,)).fetchone())
        whole = Document("", text, title)
        spans = "SELECT number, key, embedded, start, end FROM chunks WHERE document=?"
        for number, key, embedded, *span in self._db.execute(spans, (document,)):
            yield number, key, bool(embedded), titled(store.chunk(whole, *span))

    def _vector(self, key: bytes) -> NDArray[np.float32] | None:
        row = self._db.execute(
            "SELECT number FROM chunks WHERE key=? AND embedded LIMIT 1", (key,)
        ).fetchone()
        return vectors.vector_of(self._db, row[0]) if row else None

    def _put(
        self, numbers: dict[bytes, list[int]], by_key: dict[bytes, NDArray[np.float32]]
    ) -> None:
        rows = [(number, vector) for key, vector in by_key.items() for number in numbers[key]]
        if rows:
            places, embedded = zip(*rows, strict=True)
            vectors.put(self._db, places, np.stack(embedded))
            self._db.executemany(
                "UPDATE chunks SET embedded=1 WHERE number=?", [(place,) for place in places]
            )

    def remove(self, ids: Iterable[str]) -> None:
        """Note that the documents of these ids are to go, where they are there."""
        stored = [raw(id_) for id_ in ids]
        with self._writing():
            for id_ in stored:
                if served := self._served(id_):
                    gone = self._db.execute("INSERT OR IGNORE INTO gone VALUES (?)", served[:1])
                    self._count(removed=gone.rowcount)

    def finish(self) -> Change:
        """Serve the new state.

        Raises:
            StoreError: If the disk fails; the old state is served on.
        """
        self._db.execute("PRAGMA synchronous=FULL")
        with self._writing():
            changes = Changes(self._db)
            for number, text in self._texts("gone", "<"):
                changes.remove(number, text)
            for number, text in self._texts("kept", ">="):
                changes.add(number, text)
            changes.flush()
            self._drop()
            self._serve(changes)
        self._shrink()
        return self.change

    def _texts(self, table: str, bound: str) -> Iterator[tuple[int, str]]:
        """Chunks of the documents in a table, on one side of the bound, with their texts."""
        statement = f"SELECT number FROM {table} WHERE number{bound}?"
        for (document,) in self._db.execute(statement, (self._meta.staged_documents,)):
            for number, _, _, text in self._chunks(document):
                yield number, text

    def _drop(self) -> None:
        """Remove what is gone, and what killed builds staged and this one does not keep."""
        staged = (self._meta.staged_documents,)
        left = "SELECT number FROM documents WHERE number>=? AND number NOT IN (SELECT * FROM kept)"
        self._db.execute(f"INSERT OR IGNORE INTO gone {left}", staged)
        vectors.remove(self._db, [number for (number,) in self._db.execute(f"{_OF} AND embedded")])
        self._db.execute(f"DELETE FROM chunks WHERE number IN ({_OF})")
        self._db.execute("DELETE FROM documents WHERE number IN (SELECT number FROM gone)")

    def _serve(self, changes: Changes) -> None:
        described = self._db.execute("SELECT source, metadata, crc, number FROM described")
        self._db.executemany(
            "UPDATE documents SET source=?, metadata=?, crc=? WHERE number=?", described.fetchall()
        )
        bounds = [f"(SELECT ifnull(max(number), 0) + 1 FROM {t})" for t in store.TABLES[:2]]
        self._db.execute(
            f"UPDATE meta SET builds=builds+1, staged_documents={bounds[0]}, "
            f"staged_chunks={bounds[1]}, chunks=chunks+?, words=words+?",
            (changes.chunks, changes.words),
        )

    def _shrink(self) -> None:
        """Give free pages back to the disk; what fails here goes another time."""
        try:
            self._db.execute("PRAGMA busy_timeout=1000")  # for those who read just now
            self._db.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after a page
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            logger.warning("the index %s did not shrink: %s", self._folder, error)

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what is staged for the next build, and let others build."""
        try:
            self._db.close()
        finally:
            self._lock.release()


def portions(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists that are cut and embedded together."""
    portion: list[Document] = []
    chars = 0
    for document in documents:
        portion.append(document)
        chars += len(document.text)
        if len(portion) >= _DOCUMENTS or chars >= _CHARS:
            yield portion
            portion, chars = [], 0
    if portion:
        yield portion


def _checked(embedder: Embedder, vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    if vectors.ndim != 2 or len(vectors) != n or not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.identity} must give {n} finite vectors, got {vectors!r:.100}")
    return np.asarray(vectors, np.float32)
