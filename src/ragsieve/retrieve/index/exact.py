"""Vectors of a small index in two plain files, memory-mapped: each is compared with a question."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import StoreError
from ragsieve.retrieve.index.store import DAMAGED, storing

EXACT = 5000
"""Up to so many vectors a search compares each: as quick as a graph, and it misses none."""

_KEYS, _VECTORS = "keys.npy", "vectors.npy"


def nearest(
    keys: Sequence[bytes], vectors: NDArray[np.float32], asked: NDArray[np.float32], n: int
) -> list[tuple[bytes, float]]:
    """Keys of the ``n`` vectors nearest to ``asked`` with their cosines, best first."""
    cosines = vectors @ asked  # (n_vectors,)
    places = np.argsort(-cosines.round(5), kind="stable")[:n]  # as `types.rounded`
    return [(keys[place], float(cosines[place])) for place in places]


def write(folder: Path, keys: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
    """Write vectors, ``(len(keys), dim)``, beside the rest of a state."""
    with storing(folder.parent):
        packed = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)
        np.save(folder / _KEYS, packed, allow_pickle=False)
        np.save(folder / _VECTORS, np.asarray(vectors, np.float32), allow_pickle=False)


def held(folder: Path) -> bool:
    """Whether the vectors of a state lie in files; else they lie in Chroma alone."""
    return (folder / _VECTORS).exists()


class Exact:
    """The same, to be searched by any number of threads; nothing is written."""

    def __init__(self, folder: Path) -> None:
        self._where = str(folder / _VECTORS)
        try:
            with storing(folder.parent, "read"):
                packed = np.load(folder / _KEYS, allow_pickle=False)
                self._vectors = np.load(folder / _VECTORS, mmap_mode="r", allow_pickle=False)
            self._keys = [row.tobytes() for row in packed]
            good = self._vectors.dtype == np.float32 and self._vectors.ndim == 2
        except DAMAGED as error:
            raise StoreError(f"{self._where!r} holds no vectors that can be read") from error
        if not good or len(self._keys) != len(self._vectors):
            raise StoreError(f"{self._where!r} holds no vectors that can be read")

    def check(self, needed: int) -> None:
        """Raise `StoreError` where there are fewer than ``needed`` vectors."""
        if (there := len(self._keys)) < needed:
            raise StoreError(
                f"{self._where!r} held {there} of {needed} vectors: build the index anew"
            )

    def search(self, vector: NDArray[np.float32], n: int) -> list[tuple[bytes, float]]:
        """Keys of the ``n`` vectors nearest to ``vector`` with their cosines, best first."""
        return nearest(self._keys, self._vectors, vector, n)

    def close(self) -> None:
        """Let go of the files."""
        del self._vectors
