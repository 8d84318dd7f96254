"""An index of documents on disk: BM25, dense and hybrid search."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ragsieve.errors import InputError
from ragsieve.models.base import Embedder
from ragsieve.models.deferred import identity_of
from ragsieve.schema import Count, Options
from ragsieve.system import Stage
from ragsieve.types import Document, Query, Segment
from ragsieve_research.fusion import fuse
from ragsieve_research.retrieve.index import postings, store
from ragsieve_research.retrieve.index.build import Build, Change, portions
from ragsieve_research.retrieve.index.store import IndexSettings, Meta
from ragsieve_research.retrieve.index.vectors import Cache

__all__ = ["DEPTH", "About", "By", "Change", "Corpus", "Search"]

T = TypeVar("T")
By = Literal["hybrid", "dense", "bm25"]
DEPTH = 50
"""Number of chunks of each list that are fused at least, however few are wanted."""


@dataclass(frozen=True)
class About:
    """Contents of an index.

    Args:
        documents: How many documents.
        chunks: How many chunks of them; what is blank is none.
        embedder: Identity of the embedder; empty for BM25 alone.
        splitter: What cuts documents to chunks, as it shows itself; empty for whole documents.
        bytes: Size on disk.
    """

    documents: int
    chunks: int
    embedder: str
    splitter: str
    bytes: int


class Corpus:
    """An index of documents in a folder, to be searched from any number of threads and processes.

    A chunk is searched behind its document's title. Each search sees one whole state: what is added
    is found once all of it is there, and a build that was killed, or that failed on a full disk,
    changes nothing; called again it goes on. A change costs by what changed. One process at a time
    may write. Searching needs no writable disk. Vectors are held in memory once they are searched,
    and each is compared with the question.

    Args:
        path: The folder; `add` makes it.
        embedder: Embeds chunks and questions; None for BM25 alone.
        splitter: Documents to chunks, for `add`; None for whole documents.
        options: Kept with a new index, for who opens it by its folder alone; values of JSON.

    Raises:
        InputError: If the index was built with another embedder, or an option breaks its rule.
        StoreError: If the folder holds an index that cannot be read.
    """

    def __init__(
        self,
        path: Path | str,
        embedder: Embedder | None = None,
        *,
        splitter: Stage | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self._embedder, self._splitter, self._options = embedder, splitter, options or {}
        self._cache = Cache()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"path must be a folder, got {str(self.path)!r}")
        self._use(lambda *_: None)

    def __repr__(self) -> str:
        return f"Corpus({str(self.path)!r})"

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self, documents: Iterable[Document], *, progress: Callable[[int, int], None] | None = None
    ) -> Change:
        """Add documents, each in the place of any with its id; what has not changed stays.

        Documents are taken as they come, not all into memory.

        Args:
            documents: Retrieved ones; metadata that JSON can hold. Identical ones count once.
            progress: Called, after every few documents, with the numbers of documents done and
                of chunks embedded.

        Raises:
            InputError: If two documents of one id differ, a document cannot be kept, or the index
                was built with other options.
            ModelError: If the embedder fails.
            StoreError: If another build is running, or the index cannot be read or written.
        """
        done = 0
        with self._build(adding=True) as build:
            for portion in portions(documents):
                build.add(portion)
                done += len(portion)
                if progress:
                    progress(done, build.change.chunks)
            return build.finish()

    def remove(self, ids: Iterable[str]) -> Change:
        """Remove the documents of these ids; one that is not there is passed over.

        What embeds and cuts is not needed for it.

        Raises:
            InputError: If the index was built with another embedder, where there is one, or ``ids``
                is one string.
            StoreError: If another build is running, or the index cannot be read or written.
        """
        if self._use(lambda _, meta: meta) is None:
            return Change()
        with self._build(adding=False) as build:
            build.remove(ids)
            return build.finish()

    def _settings(self) -> IndexSettings:
        """Settings of a new index."""
        identity = identity_of(self._embedder) if self._embedder else ""
        splitter = repr(self._splitter) if self._splitter else ""
        if self._embedder:  # whose repr says more than what vectors depend on, as its device
            splitter = splitter.replace(repr(self._embedder), identity)
        return IndexSettings(identity, splitter, self._options)

    def _build(self, *, adding: bool) -> Build:
        served = self._use(lambda _, meta: meta.settings)
        if served and adding:
            new = self._settings()
            self._check("embedder", served.embedder, new.embedder)
            self._check("splitter", served.splitter, new.splitter)
        return Build(self.path, served or self._settings(), self._embedder, self._splitter)

    def _check(self, name: str, old: str, new: str) -> None:
        if old != new:
            raise InputError(
                f"{name} must be what the index {str(self.path)!r} was built with, "
                f"{repr(old) if old else 'none'}, got {repr(new) if new else 'none'}"
            )

    def search(self, query: Query, /, *, k: int = 20, by: By = "hybrid") -> list[Segment]:
        """The best ``k`` chunks, best first; nothing where the index is empty.

        Scores are ``bm25`` and ``cosine``, where that list held the chunk, and ``fused`` for
        ``hybrid``; the one that ranks stands last. A document's rank is that of its best chunk
        among the documents.

        Args:
            query: The question.
            k: How many; at least 1.
            by: BM25, cosine of embeddings, or both by reciprocal rank fusion in equal weights.

        Raises:
            InputError: If an option breaks its rule, or there is no embedder to search by.
            ModelError: If the embedder fails.
            StoreError: If the index cannot be read.
        """
        Search(self, k, by)  # checks them
        if by != "bm25" and self._embedder is None:
            raise InputError(f"by must be 'bm25' where there is no embedder, got {by!r}")
        vector = None
        if self._embedder and by != "bm25":
            vector = self._embedder.embed([query.text], query=True)[0]  # (dim,)
        depth = max(k, DEPTH) if by == "hybrid" else k

        def search(db: sqlite3.Connection, meta: Meta) -> list[Segment]:
            lists: dict[str, dict[int, float]] = {}  # by score; the last one ranks
            if by != "dense":
                lists["bm25"] = postings.search(db, meta, query.text, depth)
            if vector is not None:
                lists["cosine"] = self._cache.search(db, meta, vector, depth)
            if by == "hybrid":
                lists["fused"] = fuse([[*lists["cosine"]], [*lists["bm25"]]], (0.5, 0.5))
            *_, ranking = lists.values()
            return _segments(
                db,
                {
                    number: {name: of[number] for name, of in lists.items() if number in of}
                    for number in [*ranking][:k]
                },
            )

        return self._use(search) or []

    def _use(self, use: Callable[[sqlite3.Connection, Meta], T]) -> T | None:
        """Result of ``use`` on the state that is served; None where nothing was built yet."""
        with store.storing(self.path, "read"), store.snapshot(self.path) as db:
            meta = store.meta_of(db) if db else None
            if db is None or meta is None or not meta.builds:
                return None
            if self._embedder:
                self._check("embedder", meta.settings.embedder, identity_of(self._embedder))
            return use(db, meta)

    def _column(self, name: str) -> list[Any]:
        statement = f"SELECT {name} FROM documents ORDER BY number"
        return self._use(lambda db, _: [value for (value,) in db.execute(statement)]) or []

    def ids(self) -> list[str]:
        """Ids of the documents, in the order in which they were added."""
        return [store.text_of(id_) for id_ in self._column("id")]

    def digests(self) -> dict[bytes, str]:
        """Ids by digest of the documents, `ragsieve_research.retrieve.index.store.digest_of`."""
        return dict(zip(self._column("digest"), self.ids(), strict=True))

    def about(self) -> About:
        """Contents of the index, and the options it was built with."""
        meta = self._use(lambda _, meta: meta)
        settings = meta.settings if meta else self._settings()
        (documents,) = self._column("count(*)") or (0,)
        size = sum(path.stat().st_size for path in self.path.glob("index.sqlite*"))
        chunks = meta.chunks if meta else 0
        return About(documents, chunks, settings.embedder, settings.splitter, size)

    def close(self) -> None:
        """Let go of the vectors in memory; the next search reads them again."""
        self._cache.clear()


@dataclass(frozen=True)
class Search(Options):
    """A source: the best chunks of an index for a question.

    Args:
        corpus: The index.
        k: How many chunks; at least 1.
        by: BM25, cosine of embeddings, or both by reciprocal rank fusion in equal weights.

    Raises:
        InputError: If an option breaks its rule.

    Source: ChunkRAG (arXiv 2410.19572), "Hybrid Retrieval"; fused by rank as usual.
    """

    corpus: Corpus
    k: Count = 20
    by: By = "hybrid"

    def __call__(self, query: Query, /) -> list[Segment]:
        return self.corpus.search(query, k=self.k, by=self.by)


def _segments(db: sqlite3.Connection, scored: Mapping[int, Mapping[str, float]]) -> list[Segment]:
    """Chunks by their numbers as segments, in order; documents rank by their best chunk."""
    documents: dict[int, Document] = {}
    segments = []
    for number, scores in scored.items():
        (chunk,) = store.chunks(db, "number=?", number)
        if chunk.document not in documents:
            document = store.documents(db, "number=?", chunk.document)[chunk.document]
            documents[chunk.document] = replace(document, rank=len(documents))
        segments.append(Segment(documents[chunk.document], chunk.start, chunk.end, scores))
    return segments
