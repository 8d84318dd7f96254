"""An index of documents on disk, built once and searched many times: BM25, dense, hybrid."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args
from urllib.parse import urlsplit

from ragsieve.errors import InputError, StoreError
from ragsieve.fusion import check_weights, fuse
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Stage
from ragsieve.retrieve.index.build import Build, Change, portions
from ragsieve.retrieve.index.reading import Opened
from ragsieve.retrieve.index.store import Settings, current
from ragsieve.types import Document, Query, Segment

__all__ = ["DEPTH", "About", "By", "Change", "Corpus", "Search"]

T = TypeVar("T")
By = Literal["hybrid", "dense", "bm25"]
DEPTH = 50
"""So many chunks at least of each list are fused, however few are asked for."""

_RETRIES = 5  # states that may be switched while one search is on its way


@dataclass(frozen=True)
class About:
    """What an index holds.

    Args:
        documents: How many documents.
        chunks: How many chunks of them; what is blank is none.
        embedder: Identity of the embedder; empty for BM25 alone.
        splitter: What cuts documents to chunks, as it shows itself; empty for whole documents.
        titles: Whether chunks are searched behind their documents' titles.
        url: Of the Chroma server with the vectors; empty where they lie in the folder.
        label: A name for people.
        bytes: Size on disk, without vectors on a server.
    """

    documents: int
    chunks: int
    embedder: str
    splitter: str
    titles: bool
    url: str
    label: str
    bytes: int


class Corpus:
    """An index of documents in a folder, to be searched from any number of threads and processes.

    A state of it is served whole: what is added is found once all of it is there, and a build that
    was killed, or that failed on a full disk, changes nothing. Called again it goes on, or begins
    anew where the disk had no room for what was embedded. Searching writes nothing, unless there
    are more than 5,000 vectors: then Chroma is opened, which needs a writable disk with room.

    Args:
        path: The folder; `add` makes it.
        embedder: Embeds chunks and questions; None for BM25 alone.
        splitter: Documents to chunks, for `add`; None for whole documents.
        url: Of a Chroma server that keeps the vectors; empty: they lie in the folder.
        titles: Whether a chunk is searched behind its document's title.
        label: A name for people.

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
        url: str = "",
        titles: bool = True,
        label: str = "",
    ) -> None:
        self.path = Path(path)
        self._embedder, self._splitter = embedder, splitter
        self._url, self._titles, self._label = url.rstrip("/"), titles, label
        self._opened: Opened | None = None
        self._lock = threading.Lock()
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"path must be a folder, got {str(self.path)!r}")
        if url:
            _check_url(url)
        self._use(lambda _: None)

    def __repr__(self) -> str:
        return f"Corpus({str(self.path)!r})"

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(
        self,
        documents: Iterable[Document],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> Change:
        """Add documents, each in the place of any with its id; what has not changed stays.

        Documents are taken as they come, not all into memory.

        Args:
            documents: Retrieved ones; metadata that JSON can hold. Identical ones count once.
            progress: Told, after every few documents, how many are done and how many chunks were
                embedded.

        Raises:
            InputError: If two documents of one id differ, a document cannot be kept, or the index
                was built with other options.
            MissingExtra: If there is an embedder and no Chroma.
            ModelError: If the embedder fails.
            StoreError: If another build is running, or the disk or the server fails.
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
            InputError: If the index was built with another embedder, where there is one.
            StoreError: If another build is running, or the disk or the server fails.
        """
        if current(self.path) is None:
            return Change()
        with self._build(adding=False) as build:
            build.remove(ids)
            return build.finish()

    def _settings(self) -> Settings:
        """What a new index would be built with."""
        identity = self._embedder.identity if self._embedder else ""
        splitter = repr(self._splitter) if self._splitter else ""
        if self._embedder:  # whose repr says more than what vectors depend on, as its device
            splitter = splitter.replace(repr(self._embedder), identity)
        name = f"ragsieve-{secrets.token_hex(8)}"
        return Settings(identity, splitter, self._titles, self._url, name, self._label)

    def _build(self, *, adding: bool) -> Build:
        served = self._use(lambda state: state.settings)
        if served:
            self._check(served, adding=adding)
        settings = replace(served, url=self._url or served.url) if served else self._settings()
        return Build(self.path, settings, self._embedder, self._splitter)

    def _check(self, built: Settings, *, adding: bool = False) -> None:
        """Raise `InputError` where the index was built with other options than these."""
        new = self._settings()
        given: dict[str, tuple[object, object]] = {}
        if self._embedder or adding:
            given["embedder"] = (built.embedder, new.embedder)
        if adding:
            given["splitter"] = (built.splitter, new.splitter)
            given["titles"] = (built.titles, new.titles)
        if self._url and not built.url:
            given["url"] = (built.url, self._url)
        for name, (old, now) in given.items():
            if old != now:
                raise InputError(
                    f"{name} must be what the index {str(self.path)!r} was built with, "
                    f"{_shown(old)}, got {_shown(now)}"
                )

    def search(
        self,
        query: Query,
        /,
        *,
        k: int = 20,
        by: By = "hybrid",
        weights: tuple[float, float] = (0.5, 0.5),
    ) -> list[Segment]:
        """The best ``k`` chunks, best first; nothing where the index is empty.

        Scores are ``bm25`` and ``cosine``, where that list held the chunk, and ``fused`` for
        ``hybrid``; the one that ranks stands last. A document's rank is that of its best chunk
        among the documents.

        Args:
            query: The question.
            k: How many; at least 1.
            by: BM25, cosine of embeddings, or both by weighted reciprocal rank fusion.
            weights: Of the dense list and of BM25's, for ``hybrid``; not negative, not both 0.

        Raises:
            InputError: If an option breaks its rule, or there is no embedder to search by.
            MissingExtra: If vectors of a server, or more than 5,000, are searched and Chroma is
                not installed.
            ModelError: If the embedder fails.
            StoreError: If the index, or the server with its vectors, cannot be read; with more than
                5,000 vectors also if the disk cannot be written.
        """
        check_search(k, by, weights)
        if by != "bm25" and self._embedder is None:
            raise InputError(f"by must be 'bm25' where there is no embedder, got {by!r}")
        found = self._use(lambda state: self._found(state, query, k, by, weights))
        return found or []

    def _use(self, use: Callable[[Opened], T]) -> T | None:
        """What ``use`` makes of the state that is served; None where nothing was built yet.

        A state may be switched, and removed, while it is used: then the new one is.
        """
        for _ in range(_RETRIES):
            path = current(self.path)
            if path is None:
                return None
            try:
                with self._open(path) as state:
                    self._check(state.settings)
                    found = use(state)
            except StoreError:
                if current(self.path) == path:
                    raise
                continue
            if not state.settings.url or current(self.path) == path:  # a server has one for all
                return found
        raise StoreError(f"the index {str(self.path)!r} changes faster than it can be read")

    def _found(
        self, state: Opened, query: Query, k: int, by: By, weights: tuple[float, float]
    ) -> list[Segment]:
        depth = max(k, DEPTH) if by == "hybrid" else k
        lists: dict[str, dict[int, float]] = {"cosine": {}, "bm25": {}}
        if self._embedder and by != "bm25" and (by == "dense" or weights[0]):
            lists["cosine"] = state.dense(self._embedder, query.text, depth)
        if by == "bm25" or (by == "hybrid" and weights[1]):
            lists["bm25"] = state.bm25(query.text, depth)
        if by == "hybrid":
            fused = fuse([[*found] for found in lists.values()], weights)
            lists = {**lists, "fused": fused}
        ranking = lists[{"hybrid": "fused", "dense": "cosine", "bm25": "bm25"}[by]]
        order = ("bm25", "cosine", "fused")
        scored = {
            number: {name: lists[name][number] for name in order if number in lists.get(name, ())}
            for number in [*ranking][:k]
        }
        return state.segments(scored)

    def _open(self, path: Path) -> Opened:
        """The state at ``path``, held for the caller; an older one does not displace a newer."""
        with self._lock:
            if self._opened and self._opened.path != path:
                if current(self.path) != path:
                    raise StoreError(f"the state {str(path)!r} is served no more")
                self._opened.close()
                self._opened = None
            if not self._opened:
                self._opened = Opened(path, self._url)
            return self._opened.held()

    def ids(self) -> list[str]:
        """Ids of the documents, in the order in which they were added."""
        return self._use(Opened.ids) or []

    def digests(self) -> set[bytes]:
        """`ragsieve.retrieve.index.store.digest_of` each document: of its title and text."""
        return self._use(Opened.digests) or set()

    def about(self) -> About:
        """What the index holds, and what it was built with."""
        new = self._settings()
        return self._use(self._about) or About(
            0, 0, new.embedder, new.splitter, new.titles, new.url, new.label, 0
        )

    def _about(self, state: Opened) -> About:
        built = state.settings
        return About(
            state.count("documents"),
            state.count("chunks"),
            built.embedder,
            built.splitter,
            built.titles,
            self._url or built.url,
            built.label,
            sum(path.stat().st_size for path in state.path.rglob("*") if path.is_file()),
        )

    def close(self) -> None:
        """Let go of files and connections; the next search opens them again."""
        with self._lock:
            if self._opened:
                self._opened.close()
                self._opened = None


@dataclass(frozen=True)
class Search:
    """A source: the best chunks of an index for a question.

    Args:
        corpus: The index.
        k: How many chunks; at least 1.
        by: BM25, cosine of embeddings, or both by weighted reciprocal rank fusion.
        weights: Of the dense list and of BM25's, for ``hybrid``; not negative, not both 0.

    Raises:
        InputError: If an option breaks its rule.

    Source: ChunkRAG (arXiv 2410.19572), "Hybrid Retrieval"; fused by rank as usual.
    """

    corpus: Corpus
    k: int = 20
    by: By = "hybrid"
    weights: tuple[float, float] = (0.5, 0.5)

    def __post_init__(self) -> None:
        check_search(self.k, self.by, self.weights)

    def __call__(self, query: Query, /) -> list[Segment]:
        return self.corpus.search(query, k=self.k, by=self.by, weights=self.weights)


def _shown(option: object) -> str:
    return "none" if option == "" else repr(option)


def check_search(k: int, by: str, weights: tuple[float, float]) -> None:
    """Raise `InputError` where an option of a search breaks its rule."""
    if k < 1:
        raise InputError(f"k must be at least 1, got {k!r}")
    if by not in get_args(By):
        raise InputError(f"by must be one of {', '.join(get_args(By))}, got {by!r}")
    if len(weights) != 2:
        raise InputError(f"weights must be two, of dense and of BM25, got {weights!r}")
    check_weights(weights)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        good = False
    if not good:
        raise InputError(f"url must be http://HOST:PORT of a Chroma server, got {url!r}")
