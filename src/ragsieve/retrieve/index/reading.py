"""A state of an index, opened for searching: chunks by BM25, by cosine, as segments."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ragsieve.models.base import Embedder
from ragsieve.retrieve.index import exact
from ragsieve.retrieve.index.bm25 import Words
from ragsieve.retrieve.index.store import State
from ragsieve.types import Segment

if TYPE_CHECKING:
    from ragsieve.retrieve.index.chroma import Vectors


_LEAST = 50  # which of equally near chunks come does not hang on how many are asked for


class Opened(State):
    """A state with what searches it, opened when it is first asked.

    Searching up to `exact.EXACT` vectors, or words, writes nothing. With more, Chroma writes when
    it opens: the disk must be writable and have room.

    Args:
        path: The state's folder.
        url: Where the server with its vectors is now; empty: where it was.
    """

    def __init__(self, path: Path, url: str = "") -> None:
        super().__init__(path)
        self._url = url or self.settings.url
        self._lock = threading.Lock()
        self._words: Words | None = None
        self._vectors: exact.Exact | Vectors | None = None
        self._readers, self._closed = 0, False

    def held(self) -> Opened:
        """Itself, for a block at whose end it is let go of; until then it stays open."""
        with self._lock:
            self._readers += 1
        return self

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._readers -= 1
            self._shut()

    def bm25(self, text: str, n: int) -> dict[int, float]:
        """BM25 scores of the best ``n`` chunks by their numbers, best first."""
        with self._lock:
            if self._words is None:
                self._words = Words(self.path / "bm25")
            found = self._words
        return dict(found.search(text, n))

    def dense(self, embedder: Embedder, text: str, n: int) -> dict[int, float]:
        """Cosines of the nearest ``n`` chunks by their numbers, best first."""
        if not self.count("chunks"):
            return {}
        vectors = self._open()
        asked = embedder.embed([text], query=True)[0]  # (dim,)
        wanted = max(n, _LEAST)
        while True:
            near = vectors.search(asked, wanted)
            chunks = self.with_keys(key for key, _ in near)
            found = {number: cosine for key, cosine in near for number in chunks.get(key, ())}
            if len(found) >= n or len(near) < wanted:
                break
            wanted *= 4  # a server may hold vectors of another state
        best = sorted(found, key=lambda number: (-found[number], number))
        return {number: found[number] for number in best[:n]}

    def _open(self) -> exact.Exact | Vectors:
        with self._lock:
            if self._vectors is None:
                found = self._found()
                found.check(self.vectors())
                self._vectors = found
            return self._vectors

    def _found(self) -> exact.Exact | Vectors:
        if exact.held(self.path):
            return exact.Exact(self.path)
        from ragsieve.retrieve.index.chroma import Vectors  # optional: a small index needs none

        return Vectors(self.path / "chroma", self._url, self.settings.name)

    def segments(self, scored: Mapping[int, Mapping[str, float]]) -> list[Segment]:
        """Chunks by their numbers as segments, in order; documents rank by their best chunk."""
        chunks = self.chunks(scored)
        ranks: dict[int, int] = {}
        for number in scored:
            ranks.setdefault(chunks[number].document, len(ranks))
        documents = self.documents(ranks)
        return [
            Segment(documents[chunk.document], chunk.start, chunk.end, scores)
            for chunk, scores in ((chunks[number], found) for number, found in scored.items())
        ]

    def close(self) -> None:
        """Let go of files and connections, as soon as nobody reads it."""
        with self._lock:
            self._closed = True
            self._shut()

    def _shut(self) -> None:
        if self._closed and not self._readers and self._vectors:
            self._vectors.close()
            self._vectors = None
