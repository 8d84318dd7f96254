"""Vectors of an index in memory; a search compares the question with each of them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from ragsieve_research.retrieve.index import store
from ragsieve_research.retrieve.index.store import Meta, best

_ROWS = 8192  # of a block
_Block = tuple[NDArray[np.int64], NDArray[np.float32]]  # chunks' numbers, vectors (n, dim)


class Cache:
    """Vectors of the state that was searched last, for any number of threads.

    A search of another state reads the vectors that are new in it; a chunk's never changes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Let go of the memory."""
        with self._lock:
            self._state = (0, 0)
            self._blocks: list[_Block] = []

    def search(
        self, db: sqlite3.Connection, meta: Meta, vector: NDArray[np.float32], k: int
    ) -> dict[int, float]:
        """Cosines of the nearest ``k`` chunks that are served, by number, best first."""
        with self._lock:
            born, builds = self._state
            if meta.born != born or meta.builds < builds:
                self._blocks = []
            if (meta.born, meta.builds) != self._state:
                self._blocks = _read(db, self._blocks)
                self._state = (meta.born, meta.builds)
            blocks = self._blocks
        count = sum(len(numbers) for numbers, _ in blocks)
        if count != meta.chunks:
            raise ValueError(f"{count} of {meta.chunks} vectors: build it again in another folder")
        if not count:
            return {}
        cosines = np.concatenate([vectors @ vector for _, vectors in blocks])
        return best(np.concatenate([numbers for numbers, _ in blocks]), cosines, k)


def _read(db: sqlite3.Connection, before: Sequence[_Block]) -> list[_Block]:
    """All vectors; those of an earlier state, which are in memory, are not read again."""
    numbers = db.execute("SELECT number FROM chunks INDEXED BY chunks_by_document")
    served = np.fromiter(chain.from_iterable(numbers), np.int64)
    blocks = []
    for block in before:
        kept = np.isin(block[0], served)
        blocks.append(block if kept.all() else (block[0][kept], block[1][kept]))
    while blocks and len(blocks[-1][0]) < _ROWS // 2:  # many small ones would be slow
        blocks.pop()
    last = int(blocks[-1][0][-1]) if blocks else 0
    new = store.chunks(db, "number>? ORDER BY number", last)
    while some := [*islice(new, _ROWS)]:
        vectors = np.frombuffer(b"".join(chunk.vector for chunk in some), "<f4")
        blocks.append((np.array([c.number for c in some]), vectors.reshape(len(some), -1)))
    return blocks
