"""Vectors of an index in blocks of rows; a search compares the question with each of them."""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ragsieve.retrieve.index.store import Meta, best, check, checksum

_BLOCK = 256  # chunks
_Block = tuple[NDArray[np.int64], NDArray[np.float32]]  # chunks' numbers, vectors (n, dim)


def put(db: sqlite3.Connection, numbers: Sequence[int], vectors: NDArray[np.float32]) -> None:
    """Add vectors, ``(len(numbers), dim)``."""
    rows = sorted(zip(numbers, vectors, strict=True), key=lambda row: row[0])
    for block, some in groupby(rows, key=lambda row: row[0] // _BLOCK):
        new, added = zip(*some, strict=True)
        old, kept = read(db, block) or (np.empty(0, np.int64), np.empty((0, vectors.shape[1])))
        _write(db, block, np.concatenate([old, new]), np.concatenate([kept, np.stack(added)]))


def remove(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Remove the vectors of these chunks, where they have one."""
    for block, some in groupby(sorted(numbers), key=lambda number: number // _BLOCK):
        if stored := read(db, block):
            keep = ~np.isin(stored[0], [*some])
            _write(db, block, stored[0][keep], stored[1][keep])


def read(db: sqlite3.Connection, block: int) -> _Block | None:
    """A block; None where it holds nothing."""
    row = db.execute("SELECT places, data, crc FROM vectors WHERE block=?", (block,)).fetchone()
    if row is None:
        return None
    places, data, crc = row
    check(crc, "vectors are", block, places, data)
    numbers = np.frombuffer(places, "<u2").astype(np.int64) + block * _BLOCK
    return numbers, np.frombuffer(data, "<f4").reshape(len(numbers), -1)


def vector_of(db: sqlite3.Connection, number: int) -> NDArray[np.float32]:
    """The vector of a chunk that has one, ``(dim,)``."""
    stored = read(db, number // _BLOCK)
    if stored is None or number not in stored[0]:
        raise ValueError(f"chunk {number} has no vector: build it again in another folder")
    vector: NDArray[np.float32] = stored[1][stored[0] == number][0]
    return vector


def _write(
    db: sqlite3.Connection, block: int, numbers: NDArray[np.int64], vectors: NDArray[np.float32]
) -> None:
    if not len(numbers):
        db.execute("DELETE FROM vectors WHERE block=?", (block,))
        return
    places = (numbers - block * _BLOCK).astype("<u2").tobytes()
    data = vectors.astype("<f4").tobytes()
    version = secrets.randbits(62)  # never that of an index that lay here before
    row = (block, version, places, data, checksum(block, places, data))
    db.execute("REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", row)


class Cache:
    """Blocks in memory, for any number of threads; those that changed are read again."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}  # by version
        self._lock = threading.Lock()

    def search(
        self, db: sqlite3.Connection, meta: Meta, vector: NDArray[np.float32], k: int
    ) -> dict[int, float]:
        """Cosines of the nearest ``k`` chunks that are served, by number, best first."""
        blocks = self._read(db)
        if not blocks:
            return {}
        numbers = np.concatenate([numbers for numbers, _ in blocks])
        cosines = np.concatenate([vectors @ vector for _, vectors in blocks])
        served = numbers < meta.staged_chunks
        if (count := int(served.sum())) != meta.chunks:
            raise ValueError(f"{count} of {meta.chunks} vectors: build it again in another folder")
        return best(numbers[served], cosines[served], k)

    def _read(self, db: sqlite3.Connection) -> list[_Block]:
        versions = dict(db.execute("SELECT version, block FROM vectors ORDER BY block").fetchall())
        with self._lock:
            for version, block in versions.items():
                if version not in self._blocks and (stored := read(db, block)):
                    self._blocks[version] = stored
            self._blocks = {version: self._blocks[version] for version in versions}
            return [*self._blocks.values()]

    def clear(self) -> None:
        """Let go of the memory."""
        with self._lock:
            self._blocks = {}
