"""Vectors of an index in memory, as bytes; a search compares the question with each of them.

What is near by bytes is compared again by the vectors on disk, so that cosines are exact.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from ragsieve_research.retrieve.index import store
from ragsieve_research.retrieve.index.store import Meta, best

_ROWS = 8192  # of a block
_MORE, _EACH = 64, 4  # chunks that are compared again: so many, and for each that is wanted
_HALF = 63  # of a part of the question: pairs of products fit 16 bits on any processor
_NET = (  # of ONNX: y = MatMulInteger(a, b), of uint8 (n, d) and int8 (d, k)
    b'\x08\x05:b\n\x18\n\x01a\n\x01b\x12\x01y"\rMatMulInteger\x12\x01gZ\x15\n\x01a\x12\x10\n\x0e'
    b"\x08\x02\x12\n\n\x03\x12\x01n\n\x03\x12\x01dZ\x15\n\x01b\x12\x10\n\x0e\x08\x03\x12\n\n\x03"
    b"\x12\x01d\n\x03\x12\x01kb\x15\n\x01y\x12\x10\n\x0e\x08\x06\x12\n\n\x03\x12\x01n\n\x03\x12"
    b"\x01kB\x04\n\x00\x10\n"
)


class _Block(NamedTuple):
    numbers: NDArray[np.int64]  # of chunks, rising
    codes: NDArray[np.uint8]  # (n, dim): 128 is 0
    scales: NDArray[np.float32]  # of a code's step


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
        count = sum(len(block.numbers) for block in blocks)
        if count != meta.chunks:
            raise ValueError(f"{count} of {meta.chunks} vectors: build it again in another folder")
        if not count:
            return {}
        near = ", ".join(map(str, sorted(_near(blocks, vector, _EACH * k + _MORE))))
        found = [*store.chunks(db, f"number IN ({near})")]
        numbers, vectors = _vectors(found)
        return best(numbers, vectors @ vector, k)


def _near(blocks: Sequence[_Block], vector: NDArray[np.float32], k: int) -> list[int]:
    """Numbers of ``k`` chunks whose bytes are nearest to the question's."""
    step = np.abs(vector).max(initial=1e-30) / _HALF
    high = np.rint(vector / step)
    low = np.rint((vector / step - high) * 2 * _HALF)
    parts = np.stack([high, low], axis=1).astype(np.int8)  # (dim, 2)
    zero = 128 * parts.sum(axis=0, dtype=np.int64)
    run = _product().run
    numbers, scores = np.empty(0, np.int64), np.empty(0, np.float32)
    least = np.float32(-np.inf)
    for block in blocks:
        (products,) = run(None, {"a": block.codes, "b": parts})  # (n, 2)
        products -= zero.astype(np.int32)
        own = (products[:, 0] + products[:, 1] / np.float32(2 * _HALF)) * block.scales
        nearer = np.flatnonzero(own > least)  # of equal ones the first stay
        numbers = np.concatenate([numbers, block.numbers[nearer]])
        scores = np.concatenate([scores, own[nearer]])
        if len(scores) > k:
            nearest = np.lexsort((numbers, -scores))[:k]
            numbers, scores = numbers[nearest], scores[nearest]
            least = scores[-1]
    found: list[int] = numbers.tolist()
    return found


@cache
def _product() -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return ort.InferenceSession(_NET, options, providers=["CPUExecutionProvider"])


def _vectors(some: Sequence[store.Chunk]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    vectors = np.frombuffer(b"".join(chunk.vector for chunk in some), "<f4")
    return np.array([chunk.number for chunk in some]), vectors.reshape(len(some), -1)


def _block(some: Sequence[store.Chunk]) -> _Block:
    numbers, vectors = _vectors(some)
    scales = np.abs(vectors).max(axis=1, initial=1e-30) / 127
    codes = np.rint(vectors / scales[:, None]) + 128
    return _Block(numbers, codes.astype(np.uint8), scales)


def _read(db: sqlite3.Connection, before: Iterable[_Block]) -> list[_Block]:
    """All vectors; those of an earlier state, which are in memory, are not read again."""
    rows = db.execute("SELECT number FROM chunks INDEXED BY chunks_by_document")
    served = np.fromiter(chain.from_iterable(rows), np.int64)
    blocks = []
    for block in before:
        kept = np.isin(block.numbers, served)
        numbers, codes, scales = block
        blocks.append(block if kept.all() else _Block(numbers[kept], codes[kept], scales[kept]))
    while blocks and len(blocks[-1].numbers) < _ROWS // 2:  # many small ones would be slow
        blocks.pop()
    last = int(blocks[-1].numbers[-1]) if blocks else 0
    new = store.chunks(db, "number>? ORDER BY number", last)
    while some := [*islice(new, _ROWS)]:
        blocks.append(_block(some))
    return blocks
