"""Vectors of the chunks of an index in Chroma, in a folder or on a server: ids and vectors only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import MissingExtra, StoreError
from ragsieve.retrieve.index.exact import EXACT, nearest
from ragsieve.retrieve.index.store import batched

try:
    import chromadb
    import httpx
    from chromadb.config import Settings
except ModuleNotFoundError as error:
    raise MissingExtra("chromadb", extra="index") from error

_BATCH = 1000
_NEEDS = f"it needs a writable disk with room, also to search more than {EXACT:,} vectors"
_HNSW = {  # finds at least 0.99 of the 20 nearest of 20,000 texts by hashed words
    "space": "cosine",
    "max_neighbors": 32,
    "ef_construction": 200,
    "ef_search": 400,
}
T = TypeVar("T")


class Vectors:
    """Vectors by key, searched by cosine.

    Args:
        folder: Where they lie; the server's ``url`` counts where there is one.
        url: Of a Chroma server; empty where they lie in ``folder``.
        name: Of the collection.
        create: Whether it is made where it is not there.
        exact: Up to so many vectors each is compared; beyond, Chroma's graph is searched.
        timeout_s: How long a server may take to answer, in seconds.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        name: str,
        *,
        create: bool = False,
        exact: int = EXACT,
        timeout_s: float = 30.0,
    ) -> None:
        self._exact = exact
        self._lock = threading.Lock()
        self._all: tuple[list[bytes], NDArray[np.float32]] | None = None
        self.where = f"the Chroma server {url}" if url else f"vectors in {str(folder)!r}"
        self._needs = "" if url else f"; {_NEEDS}"
        with self._translated():
            self._client = _connect(url, timeout_s) if url else _open(folder)
            if create:
                self._collection = self._client.get_or_create_collection(
                    name, embedding_function=None, configuration={"hnsw": _HNSW}
                )
            else:
                self._collection = self._client.get_collection(name, embedding_function=None)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # Chroma raises plain Exception for what a server replies
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise StoreError(f"{self.where} failed: {reason:.300}{self._needs}") from error

    def count(self) -> int:
        """How many there are."""
        with self._translated():
            return int(self._collection.count())

    def search(self, vector: NDArray[np.float32], n: int) -> list[tuple[bytes, float]]:
        """Keys of the ``n`` vectors nearest to ``vector`` with their cosines, best first."""
        held = self.count()
        if not held:
            return []
        n = min(n, held)
        if held > self._exact:
            found = self._near(vector, n)
            if len(found) == n:  # a graph of near-equal vectors may fall apart
                return found
        return self._nearest(vector, n)

    def _near(self, vector: NDArray[np.float32], n: int) -> list[tuple[bytes, float]]:
        with self._translated():
            found = self._collection.query(
                query_embeddings=[vector], n_results=n, include=["distances"]
            )
            distances = (found["distances"] or [[]])[0]
            keys = map(bytes.fromhex, found["ids"][0])
            cosines = 1 - np.array(distances, np.float32)  # a server rounds them in writing
            return list(zip(keys, cosines.tolist(), strict=True))

    def _nearest(self, vector: NDArray[np.float32], n: int) -> list[tuple[bytes, float]]:
        with self._lock:
            self._all = self._all or self.read()
            keys, vectors = self._all
        return nearest(keys, vectors, vector, n)

    def read(self) -> tuple[list[bytes], NDArray[np.float32]]:
        """All keys in order with their vectors, ``(n_vectors, dim)``."""
        rows: list[tuple[str, NDArray[np.float32]]] = []
        with self._translated():
            while True:
                page = self._collection.get(include=["embeddings"], limit=_BATCH, offset=len(rows))
                if not page["ids"]:
                    break
                rows += zip(page["ids"], page["embeddings"], strict=True)
        rows.sort(key=lambda row: row[0])
        return [bytes.fromhex(id_) for id_, _ in rows], np.array([v for _, v in rows], np.float32)

    def put(
        self, keys: Sequence[bytes], vectors: Callable[[Sequence[bytes]], NDArray[np.float32]]
    ) -> None:
        """Put the vectors that ``vectors`` gives for some keys, in the place of any there."""
        for some in batched(keys, _BATCH):
            found = vectors(some)
            with self._translated():
                self._collection.upsert(ids=[key.hex() for key in some], embeddings=found)

    def drop(self, keys: Sequence[bytes]) -> None:
        """Remove the vectors of some keys."""
        for some in batched(keys, _BATCH):
            with self._translated():
                self._collection.delete(ids=[key.hex() for key in some])

    def check(self, needed: int) -> None:
        """Raise `StoreError` where there are fewer than ``needed`` vectors."""
        if (held := self.count()) < needed:
            raise StoreError(f"{self.where} held {held} of {needed} vectors: build the index anew")

    def close(self) -> None:
        """Let go of files and connections."""
        with self._translated():
            self._client.close()


def _settings() -> Settings:
    return Settings(anonymized_telemetry=False, _env_file=None)  # type: ignore[call-arg]


def _open(folder: Path) -> Any:
    return chromadb.PersistentClient(str(folder), _settings())


def _connect(url: str, timeout_s: float) -> Any:
    """A client whose every call ends: Chroma's own waits for ever."""
    parts = urlsplit(url)
    httpx.get(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=timeout_s).raise_for_status()
    client = chromadb.HttpClient(
        parts.hostname or "",
        parts.port or (443 if parts.scheme == "https" else 80),
        ssl=parts.scheme == "https",
        settings=_settings(),
    )
    client._server._session.timeout = httpx.Timeout(timeout_s)  # type: ignore[attr-defined]
    return client
