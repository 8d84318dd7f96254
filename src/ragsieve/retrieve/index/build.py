"""How an index comes to its next state: cut and embed what is new, then serve all of it at once."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, StoreError
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Stage
from ragsieve.prompts import titled
from ragsieve.retrieve.index import bm25, exact
from ragsieve.retrieve.index.draft import Draft, Pending, Spans
from ragsieve.retrieve.index.store import (
    LOCK,
    Settings,
    State,
    batched,
    current,
    digest_of,
    key_of,
    metadata_of,
    raw,
    storing,
    sweep,
    switch,
)
from ragsieve.types import Document, Query, Segment

if TYPE_CHECKING:
    from ragsieve.retrieve.index.chroma import Vectors

logger = logging.getLogger(__name__)

_DOCUMENTS, _CHARS = 64, 200_000  # what is cut at a time
_EMBEDDED = 256  # what a killed build can lose
_ANY = Query("any")  # a splitter takes a question and does not read it


@dataclass(frozen=True)
class Change:
    """What became of the documents of an index.

    Args:
        added: Documents that were not there.
        changed: Documents with another title, text, source or metadata than before.
        unchanged: Documents that were there as they are.
        removed: Documents that are there no more.
        chunks: Chunks that were embedded for it.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0


class Build:
    """The next state of an index, in the making; held by one process at a time.

    Args:
        folder: The index.
        settings: What it is built with.
        embedder: Embeds chunks; None for BM25 alone.
        splitter: Documents to chunks; None for whole documents.

    Raises:
        StoreError: If another build is running, or the disk fails.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        embedder: Embedder | None,
        splitter: Stage | None,
    ) -> None:
        self.change = Change()
        self._folder, self._embedder, self._splitter = folder, embedder, splitter
        self._seen: dict[str, bytes] = {}
        self._lock = FileLock(folder / LOCK, timeout=0)
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire()
            except Timeout as error:
                raise StoreError(
                    f"the index {str(folder)!r} is being built by another process: "
                    "try again when that is done"
                ) from error
        try:
            self._begin(settings)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, settings: Settings) -> None:
        path = current(self._folder)
        self._served = State(path) if path else None
        if self._served and replace(self._served.settings, url=settings.url) != settings:
            raise StoreError(f"the index {str(self._folder)!r} was just built anew: open it again")
        sweep(self._folder, path)
        self._pending = Pending(self._folder)
        try:
            begun = self._pending.settings()
            if begun and replace(settings, name=begun.name, label=begun.label) == begun:
                settings = replace(begun, label=settings.label)
            else:
                self._pending.begin(settings)
            self._settings = settings
            if settings.embedder:
                self._check_vectors()
            self._draft = Draft(self._folder, self._served)
        except BaseException:
            self._pending.close()
            raise

    def _vectors(self, folder: Path) -> Vectors:
        from ragsieve.retrieve.index.chroma import Vectors  # optional: BM25 alone needs none

        return Vectors(folder, self._settings.url, self._settings.name, create=True)

    def _check_vectors(self) -> None:
        """Raise what will keep vectors from being written, before hours of embedding."""
        import_module("ragsieve.retrieve.index.chroma")
        if self._settings.url:
            with closing(self._vectors(self._folder)) as vectors:
                vectors.check(self._served.vectors() if self._served else 0)

    def add(self, documents: Sequence[Document]) -> None:
        """Add documents, each in the place of any with its id.

        Raises:
            InputError: If a document cannot be kept, or two of one id differ.
            ModelError: If the embedder fails.
            StoreError: If the disk fails.
        """
        new = [document for document in documents if self._is_new(document)]
        chunks = self._cut(new)
        keyed = {id_: [(s, key_of(self._shown(s))) for s in found] for id_, found in chunks.items()}
        if self._embedder is not None:
            texts = {key: self._shown(s) for found in keyed.values() for s, key in found}
            self._embed(self._embedder, texts)
        for document in new:
            self._draft.put(document, digest_of(document), keyed[document.id])

    def _shown(self, segment: Segment) -> str:
        return titled(segment) if self._settings.titles else segment.text

    def _is_new(self, document: Document) -> bool:
        """Whether it is to be cut and embedded; what stands in its place then is gone."""
        if document.written_by or not isinstance(document.source, str):
            rule = "have a source that is a string, and be written by no model"
            raise InputError(f"document {document.id!r} must {rule}, to be kept in an index")
        digest, metadata = digest_of(document), metadata_of(document)
        if (seen := self._seen.setdefault(document.id, digest)) is not digest:
            if seen != digest:
                raise InputError(f"documents must have unique ids, got two of {document.id!r}")
            return False
        known = self._draft.known(document.id)
        if known is None:
            self._count(added=1)
        elif known.digest != digest:
            self._draft.drop(known.number)
            self._count(changed=1)
        elif (known.source, known.metadata) != (raw(document.source), metadata):
            self._draft.describe(known.number, document)
            self._count(changed=1)
            return False
        else:
            self._count(unchanged=1)
            return False
        return True

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self.change, name) + value for name, value in more.items()}
        self.change = replace(self.change, **counts)

    def _cut(self, documents: Sequence[Document]) -> dict[str, list[Segment]]:
        """Chunks by document's id, in order; blank ones are none."""
        digests = {document.id: digest_of(document) for document in documents}
        spans = {id_: self._pending.spans(digest) for id_, digest in digests.items()}
        missing = {d.id: d for d in documents if spans[d.id] is None}
        cut: dict[str, Spans] = {id_: [] for id_ in missing}
        segments = [Segment.whole(document) for document in missing.values()]
        for segment in self._splitter(_ANY, segments) if self._splitter else segments:
            if segment.document != missing.get(segment.document.id):
                raise InputError(f"a splitter must not change documents, got {segment.key!r:.100}")
            if segment.text.strip():
                cut[segment.document.id].append((segment.start, segment.end))
        if self._splitter:
            self._pending.keep_spans({digests[id_]: found for id_, found in cut.items()})
        return {
            d.id: [Segment(d, *span) for span in spans[d.id] or cut.get(d.id, [])]
            for d in documents
        }

    def _embed(self, embedder: Embedder, texts: dict[bytes, str]) -> None:
        known = (self._draft.has_vector, self._pending.has_vector)
        missing = [key for key in texts if not any(has(key) for has in known)]
        for keys in batched(missing, _EMBEDDED):
            vectors = _checked(embedder, embedder.embed([texts[key] for key in keys]), len(keys))
            self._pending.keep_vectors(keys, vectors)
            self._count(chunks=len(keys))

    def remove(self, ids: Iterable[str]) -> None:
        """Remove the documents of these ids, where they are there."""
        for id_ in ids:
            if known := self._draft.known(id_):
                self._draft.drop(known.number)
                self._count(removed=1)

    def finish(self) -> Change:
        """Serve the new state.

        Raises:
            StoreError: If the disk or the server of vectors fails; the old state is served on.
        """
        if self._served is None or replace(self.change, unchanged=0) != Change():
            bm25.write(self._draft.path / "bm25", self._draft.texts(self._settings.titles))
            gone = self._write_vectors() if self._settings.embedder else []
            self._draft.seal(self._settings)
            switch(self._folder, self._draft.path)
            sweep(self._folder, self._draft.path)
            if gone:
                self._tidy(gone)
        self._pending.remove()
        return self.change

    def _write_vectors(self) -> list[bytes]:
        """Vectors of the new state; keys that are to go once it is served, which a server keeps."""
        folder, url = self._draft.path / "chroma", self._settings.url
        if self._served and not url:
            with storing(self._folder):
                shutil.copytree(self._served.path / "chroma", folder)
        gone = self._draft.gone()
        with closing(self._vectors(folder)) as vectors:
            vectors.put(self._draft.fresh(), self._pending.vectors)
            if not url:
                vectors.drop(gone)
            needed = self._draft.vectors()
            vectors.check(needed)
            if not url and 0 < needed <= exact.EXACT:
                exact.write(self._draft.path, *vectors.read())
        return gone if url else []

    def _tidy(self, gone: Sequence[bytes]) -> None:
        """Remove vectors from a server that no chunk has; what fails here goes another time."""
        try:
            with closing(self._vectors(self._folder)) as vectors:
                vectors.drop(gone)
        except StoreError as error:
            logger.warning("vectors that nothing uses stay: %s", error)

    def __enter__(self) -> Build:
        return self

    def __exit__(self, *_: object) -> None:
        """Give up what is not served, keep what is embedded, and let others build."""
        try:
            self._draft.discard()
            self._pending.close()
        finally:
            self._lock.release()


def portions(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists that are cut and embedded together."""
    portion: list[Document] = []
    chars = 0
    for document in documents:
        portion.append(document)
        chars += len(document.text)
        if len(portion) >= _DOCUMENTS or chars >= _CHARS:
            yield portion
            portion, chars = [], 0
    if portion:
        yield portion


def _checked(embedder: Embedder, vectors: NDArray[np.float32], n: int) -> NDArray[np.float32]:
    if vectors.ndim != 2 or len(vectors) != n or not np.isfinite(vectors).all():
        raise ModelError(f"{embedder.identity} must give {n} finite vectors, got {vectors!r:.100}")
    return np.asarray(vectors, np.float32)
