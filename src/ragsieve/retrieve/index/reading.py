"""One state of an index: chunks by BM25, by cosine, as segments."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.prompts import titled
from ragsieve.retrieve.index import postings, store
from ragsieve.retrieve.index.store import FILE, IndexSettings, key_of, rows_with, storing, text_of
from ragsieve.retrieve.index.vectors import Cache
from ragsieve.types import Document, Segment


class State:
    """What is served, as long as the transaction lasts."""

    def __init__(self, db: sqlite3.Connection, cache: Cache) -> None:
        self.meta = store.meta_of(db)
        self._db, self._cache = db, cache

    def bm25(self, text: str, k: int) -> dict[int, float]:
        """BM25 of the best ``k`` chunks by their numbers, best first."""
        return postings.search(self._db, self.meta, text, k)

    def dense(self, vector: NDArray[np.float32], k: int) -> dict[int, float]:
        """Cosines of the nearest ``k`` chunks by their numbers, best first."""
        return self._cache.search(self._db, self.meta, vector, k)

    def segments(self, scored: Mapping[int, Mapping[str, float]]) -> list[Segment]:
        """Chunks by their numbers as segments, in order; documents rank by their best chunk."""
        columns = "number, document, start, end, key"
        chunks = {number: row for number, *row in rows_with(self._db, columns, "chunks", scored)}
        ranks: dict[int, int] = {}
        for number in scored:
            ranks.setdefault(chunks[number][0], len(ranks))
        documents = self._documents(ranks)
        segments = []
        for number, scores in scored.items():
            document, start, end, key = chunks[number]
            segment = store.chunk(documents[document], start, end, scores)
            if key_of(titled(segment)) != key:
                raise ValueError(f"chunk {number} is damaged (checksum)")
            segments.append(segment)
        return segments

    def _documents(self, ranks: dict[int, int]) -> dict[int, Document]:
        names = "number, crc, id, text, title, source, metadata, digest"
        documents = {}
        for number, crc, *columns in rows_with(self._db, names, "documents", ranks):
            store.check(crc, f"document {number} is", *columns)
            id_, text, title, source, metadata = map(text_of, columns[:-1])
            documents[number] = Document(
                id_, text, title, source, ranks[number], json.loads(metadata)
            )
        return documents

    def count(self) -> int:
        """How many documents there are."""
        return int(self._column("count(*)")[0])

    def ids(self) -> list[str]:
        """Ids of the documents, in the order in which they were added."""
        return [text_of(id_) for id_ in self._column("id")]

    def digests(self) -> set[bytes]:
        """`store.digest_of` each document."""
        return set(self._column("digest"))

    def _column(self, name: str) -> list[Any]:
        statement = f"SELECT {name} FROM documents WHERE number<? ORDER BY number"
        return [value for (value,) in self._db.execute(statement, (self.meta.staged_documents,))]


@contextmanager
def reading(folder: Path, cache: Cache) -> Iterator[State | None]:
    """The state that is served; None where nothing was built to its end.

    Raises:
        StoreError: If it cannot be read, or is damaged.
    """
    with storing(folder, "read"):
        if not (folder / FILE).exists():
            yield None
            return
        with store.snapshot(folder) as db:
            state = State(db, cache)
            yield state if state.meta.builds else None


def settings(folder: Path) -> IndexSettings | None:
    """The options of an index, also of one whose first build did not end; None where is none.

    Raises:
        StoreError: If it cannot be read.
    """
    with storing(folder, "read"):
        if not (folder / FILE).exists():
            return None
        with store.snapshot(folder) as db:
            return store.meta_of(db).settings


def built(folder: Path) -> bool:
    """Whether there is an index whose first build came to its end."""
    with reading(folder, Cache()) as state:
        return state is not None
