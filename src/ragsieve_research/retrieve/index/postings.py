"""BM25 over the postings of an index: a word's chunks lie in blocks, which change one by one.

Source: the formula of Lucene with k1 = 1.5 and b = 0.75, as in `bm25s`.
"""

import math
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ragsieve.text import words
from ragsieve_research.retrieve.index.store import Meta, best, check, checksum, raw

_K1, _B = 1.5, 0.75
_BLOCK = 1 << 14  # chunks
_HELD = 1 << 20  # changes in memory
_POSTING = np.dtype([("place", "<u2"), ("count", "<u2"), ("length", "<u4")])
_COMMON = 256  # words in more than one of so many chunks are common
_Row = tuple[bytes, int]  # a word and a block
_Term = tuple[np.float32, dict[int, NDArray[np.void]]]


class Changes:
    """Postings to be added and removed, written block by block.

    ``chunks`` and ``words`` are how many more there are.

    Args:
        db: In a transaction.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.words = self.chunks = 0
        self._db = db
        self._added: dict[_Row, array[int]] = defaultdict(lambda: array("Q"))
        self._removed: dict[_Row, list[int]] = defaultdict(list)
        self._held = 0

    def change(self, number: int, text: str, *, added: bool) -> None:
        """Add a chunk, or remove one that was added with this text."""
        block, place = divmod(number, _BLOCK)
        counts = Counter(words(text))
        length = counts.total()
        for word, count in counts.items():
            if added:
                self._added[raw(word), block].append(length << 32 | min(count, 65535) << 16 | place)
            else:
                self._removed[raw(word), block].append(place)
        self.chunks += 1 if added else -1
        self.words += length if added else -length
        self._held += len(counts)
        if self._held >= _HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held."""
        for word, block in sorted({*self._added, *self._removed}):
            self._write(word, block)
        self._added.clear()
        self._removed.clear()
        self._held = 0

    def _write(self, word: bytes, block: int) -> None:
        row = self._db.execute(
            "SELECT data, crc FROM postings WHERE word=? AND block=?", (word, block)
        ).fetchone()
        postings = _read(word, block, *row) if row else np.empty(0, _POSTING)
        if removed := self._removed.get((word, block)):
            postings = postings[~np.isin(postings["place"], removed)]
        added = np.array(self._added.get((word, block), ()), "<u8")
        data = postings.tobytes() + added.tobytes()
        self._db.execute("DELETE FROM postings WHERE word=? AND block=?", (word, block))
        if data:
            columns = (word, block, data, checksum(word, block, data))
            self._db.execute("INSERT INTO postings VALUES (?, ?, ?, ?)", columns)


def _read(word: bytes, block: int, data: bytes, crc: int) -> NDArray[np.void]:
    check(crc, "postings are", word, block, data)
    return np.frombuffer(data, _POSTING)


def search(db: sqlite3.Connection, meta: Meta, text: str, k: int) -> dict[int, float]:
    """BM25 of the best ``k`` chunks with a word of ``text``, by number, best first.

    Rare words come first. Once what is left cannot lift a chunk without them among the best, the
    common words count for those alone that it can.

    Source: MaxScore: Turtle and Flood, "Query Evaluation: Strategies and Optimizations" (1995).
    """
    scores: dict[int, NDArray[np.float32]] = defaultdict(lambda: np.zeros(_BLOCK, np.float32))
    terms = sorted(_terms(db, meta, text), key=lambda term: -term[0])
    left = float(sum(most for most, _ in terms))
    near: dict[int, NDArray[np.int64]] = {}
    for most, blocks in terms:
        if _COMMON * sum(map(len, blocks.values())) > meta.chunks:
            near = _near(scores, k, left) or near
        for block, postings in blocks.items():
            if near:
                postings = _only(postings, near.get(block))
            scores[block][postings["place"]] += most * _saturated(postings, meta)
        left -= float(most)
    near = near or {block: np.flatnonzero(some > 0) for block, some in scores.items()}
    if not near:
        return {}
    numbers = np.concatenate([block * _BLOCK + places for block, places in near.items()])
    return best(numbers, np.concatenate([scores[b][places] for b, places in near.items()]), k)


def _terms(db: sqlite3.Connection, meta: Meta, text: str) -> Iterator[_Term]:
    """Of each word what it adds to a score at most, and its postings by block."""
    for word, weight in Counter(words(text)).items():
        rows = db.execute("SELECT * FROM postings WHERE word=?", (raw(word),))
        blocks = {block: _read(word, block, *stored) for word, block, *stored in rows}
        n = sum(map(len, blocks.values()))
        yield np.float32(weight * math.log(1 + (meta.chunks - n + 0.5) / (n + 0.5))), blocks


def _near(
    scores: Mapping[int, NDArray[np.float32]], k: int, left: float
) -> dict[int, NDArray[np.int64]]:
    """Places by block that may be among the best ``k``; none where others may be, too."""
    above = [some[some > left] for some in scores.values()]
    values = np.concatenate(above) if above else np.empty(0, np.float32)
    if len(values) < k or (least := float(np.partition(values, -k)[-k]) - 1e-4) <= left:
        return {}
    return {block: np.flatnonzero(some >= least - left) for block, some in scores.items()}


def _only(postings: NDArray[np.void], places: NDArray[np.int64] | None) -> NDArray[np.void]:
    """The postings of some places; both rise."""
    if places is None or not len(places):
        return postings[:0]
    own = postings["place"].copy()
    at = np.minimum(np.searchsorted(own, places.astype(own.dtype)), len(own) - 1)
    found: NDArray[np.void] = postings[at[own[at] == places]]
    return found


def _saturated(postings: NDArray[np.void], meta: Meta) -> NDArray[np.float32]:
    """The score that each chunk's count of a word adds, below 1."""
    count: NDArray[np.float32] = postings["count"].astype(np.float32)
    per_word = np.float32(_K1 * _B * meta.chunks / meta.words)
    norm: NDArray[np.float32] = per_word * postings["length"].astype(np.float32)
    norm += count + np.float32(_K1 * (1 - _B))
    np.divide(count, norm, out=count)
    return count
