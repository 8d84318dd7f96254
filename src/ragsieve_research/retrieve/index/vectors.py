"""Vectors of an index in memory; a search compares the question with each of them.

Signs are compared first, a bit a number, then bytes of those that are near, and of the nearest the
vectors on disk, so that cosines are exact.

Source: signs before bytes as in "Binary and Scalar Embedding Quantization" (Hugging Face, 2024);
their distance estimates the angle as in Charikar (STOC 2002), section 3.
Differs: Signs are those of differences from the mean, which serves where all numbers are positive.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve_research.retrieve.index import store
from ragsieve_research.retrieve.index.store import Meta, best

_ROWS = 8192  # of a block
_MORE, _EACH = 64, 4  # chunks that are compared on disk: so many, and for each that is wanted
_BYTES_EACH, _ONE_IN = 16, 256  # those compared by bytes: for each of these, and so many of all
_SAMPLE = 1 << 16  # distances that tell where the nearest end
_NO_MEAN = np.empty(0, np.float32)


class _Block(NamedTuple):
    numbers: NDArray[np.int64]  # of chunks, rising
    signs: NDArray[np.uint64]  # (dim / 64, n)
    codes: NDArray[np.int8]  # (n, dim)
    scales: NDArray[np.float32]  # of a code's step

    def only(self, kept: NDArray[np.bool_]) -> _Block:
        """The block of some of its chunks."""
        numbers, signs, codes, scales = self
        return _Block(numbers[kept], signs[:, kept], codes[kept], scales[kept])


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
            self._mean = _NO_MEAN

    def search(
        self, db: sqlite3.Connection, meta: Meta, vector: NDArray[np.float32], k: int
    ) -> dict[int, float]:
        """Cosines of the nearest ``k`` chunks that are served, by number, best first."""
        with self._lock:
            born, builds = self._state
            if meta.born != born or meta.builds < builds:
                self._blocks = []
            if (meta.born, meta.builds) != self._state:
                served = _served(db)
                if not self._blocks:
                    self._mean = _mean(db, served)
                self._blocks = _read(db, served, self._blocks, self._mean)
                self._state = (meta.born, meta.builds)
            blocks, mean = self._blocks, self._mean
        count = sum(len(block.numbers) for block in blocks)
        if count != meta.chunks:
            raise ValueError(f"{count} of {meta.chunks} vectors: build it again in another folder")
        if not count:
            return {}
        near = ", ".join(map(str, sorted(_near(blocks, vector, mean, _EACH * k + _MORE))))
        found = [*store.chunks(db, f"number IN ({near})")]
        numbers, vectors = _vectors(found)
        return best(numbers, vectors @ vector, k)


def _near(
    blocks: Sequence[_Block], vector: NDArray[np.float32], mean: NDArray[np.float32], k: int
) -> list[int]:
    """Numbers of ``k`` chunks whose bytes are nearest, among those whose signs are near."""
    distances = _distances(blocks, _signs(vector[None], mean))
    sample = distances[:: -(-len(distances) // _SAMPLE)]
    most = _BYTES_EACH * k + len(distances) // _ONE_IN
    share = min(1.0, most / len(distances))
    last = np.searchsorted(np.bincount(sample).cumsum(), share * len(sample))
    near = np.flatnonzero(distances <= last)
    near = np.sort(near[np.argsort(distances[near], kind="stable")[:most]])
    numbers, scores = [], []
    start = 0
    for block in blocks:
        end = start + len(block.numbers)
        rows = near[slice(*np.searchsorted(near, (start, end)))] - start
        numbers.append(block.numbers[rows])
        scores.append(block.codes[rows].astype(np.float32) @ vector * block.scales[rows])
        start = end
    found = np.concatenate(numbers)
    nearest: list[int] = found[np.argsort(-np.concatenate(scores), kind="stable")[:k]].tolist()
    return nearest


def _distances(blocks: Sequence[_Block], signs: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Signs in which each chunk differs from the question, ``(n,)``."""
    distances = np.empty(sum(len(block.numbers) for block in blocks), np.uint16)
    differing = np.empty((len(signs), _ROWS), np.uint64)
    counts = np.empty(differing.shape, np.uint8)
    start = 0
    for block in blocks:
        n = len(block.numbers)
        np.bitwise_xor(block.signs, signs, out=differing[:, :n])
        np.bitwise_count(differing[:, :n], out=counts[:, :n])
        own = distances[start : start + n]
        np.add.reduce(counts[:, :n], axis=0, dtype=np.uint16, out=own)
        start += n
    return distances


def _signs(vectors: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.uint64]:
    """A bit a number, ``(dim / 64, n)``: whether it is above the mean."""
    bits = np.packbits(vectors > mean, axis=1)
    bits = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(bits.view(np.uint64).T)


def _vectors(some: Sequence[store.Chunk]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    vectors = np.frombuffer(b"".join(chunk.vector for chunk in some), "<f4")
    return np.array([chunk.number for chunk in some]), vectors.reshape(len(some), -1)


def _block(some: Sequence[store.Chunk], mean: NDArray[np.float32]) -> _Block:
    numbers, vectors = _vectors(some)
    scales = np.abs(vectors).max(axis=1, initial=1e-30) / 127
    codes = np.rint(vectors / scales[:, None]).astype(np.int8)
    return _Block(numbers, _signs(vectors, mean), codes, scales)


def _served(db: sqlite3.Connection) -> NDArray[np.int64]:
    rows = db.execute("SELECT number FROM chunks INDEXED BY chunks_by_document")
    return np.fromiter(chain.from_iterable(rows), np.int64)


def _mean(db: sqlite3.Connection, served: NDArray[np.int64]) -> NDArray[np.float32]:
    """The mean of about a thousand vectors, evenly spread."""
    some = ", ".join(map(str, served[:: -(-len(served) // 1000) or 1].tolist()))
    found = [*store.chunks(db, f"number IN ({some})")]
    return np.mean(_vectors(found)[1], axis=0, dtype=np.float32) if found else _NO_MEAN


def _read(
    db: sqlite3.Connection,
    served: NDArray[np.int64],
    before: Iterable[_Block],
    mean: NDArray[np.float32],
) -> list[_Block]:
    """All vectors; those of an earlier state, which are in memory, are not read again."""
    blocks = []
    for block in before:
        kept = np.isin(block.numbers, served)
        blocks.append(block if kept.all() else block.only(kept))
    while blocks and len(blocks[-1].numbers) < _ROWS // 2:  # many small ones would be slow
        blocks.pop()
    last = int(blocks[-1].numbers[-1]) if blocks else 0
    new = store.chunks(db, "number>? ORDER BY number", last)
    while some := [*islice(new, _ROWS)]:
        blocks.append(_block(some, mean))
    return blocks
