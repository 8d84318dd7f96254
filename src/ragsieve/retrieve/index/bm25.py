"""BM25 of the chunks of an index, on disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import StoreError
from ragsieve.retrieve.index.store import DAMAGED, storing
from ragsieve.text import words

_CHUNKS = "chunks.npy"


def write(folder: Path, chunks: Iterable[tuple[int, str]]) -> None:
    """Index chunks, numbers with texts in rising order, in a new folder; no pickle."""
    vocabulary: dict[str, int] = {}
    numbers = array("q")
    ids: list[array[int]] = []
    for number, text in chunks:
        numbers.append(number)
        ids.append(array("i", [vocabulary.setdefault(w, len(vocabulary)) for w in words(text)]))
    with storing(folder.parents[1]):
        folder.mkdir()
        np.save(folder / _CHUNKS, np.array(numbers, np.int64), allow_pickle=False)
        if vocabulary:
            index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
            index.index((ids, vocabulary), create_empty_token=False, show_progress=False)
            index.save(folder, allow_pickle=False, show_progress=False)


class Words:
    """The same, memory-mapped, to be searched by any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with storing(folder.parents[1], "read"), self._readable():
            self._numbers = np.load(folder / _CHUNKS, mmap_mode="r", allow_pickle=False)
            self._index = None
            if any(path.name != _CHUNKS for path in folder.iterdir()):  # else no chunk has a word
                self._index = bm25s.BM25.load(
                    folder, mmap=True, allow_pickle=False, show_progress=False
                )

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except DAMAGED as error:
            raise StoreError(f"{str(self._folder)!r} holds no BM25 that can be read") from error

    def search(self, text: str, k: int) -> list[tuple[int, float]]:
        """The best ``k`` chunks with a word of ``text``: number and score, above 0."""
        if self._index is None:
            return []
        with self._readable():
            asked = [word for word in words(text) if word in self._index.vocab_dict]
            if not asked:
                return []
            scores = np.asarray(self._index.get_scores(asked), np.float32)  # (n_chunks,)
            places = _best(scores, k)
            return [(int(self._numbers[place]), float(scores[place])) for place in places]


def _best(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Places of the ``k`` highest scores above 0, the earlier one on ties, best first."""
    places = np.flatnonzero(scores > 0)
    if len(places) > k:
        cut = np.partition(scores[places], -k)[-k]
        above = places[scores[places] > cut]
        level = places[scores[places] == cut][: k - len(above)]
        places = np.sort(np.concatenate([above, level]))
    return places[np.argsort(-scores[places], kind="stable")]
