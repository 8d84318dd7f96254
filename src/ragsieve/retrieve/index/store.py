"""The database of an index: one SQLite file that holds documents, chunks, postings and vectors.

INDEX/
├── index.sqlite    everything; `meta` says which rows are served
└── lock            held by the process that writes

A build stages documents, chunks and vectors in small transactions, under numbers from `meta.staged`
on, which no reader looks at. One last transaction removes what is gone, adds the postings and moves
that bound: a reader has the state before it or the state after it, and so has one after a kill.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, RagsieveError, StoreError
from ragsieve.types import Document, Segment

FORMAT = 3
FILE, LOCK = "index.sqlite", "lock"
_BUSY_S = 30.0
_SCHEMA = """
CREATE TABLE meta(
    settings TEXT NOT NULL, builds INTEGER NOT NULL, staged_documents INTEGER NOT NULL,
    staged_chunks INTEGER NOT NULL, chunks INTEGER NOT NULL, words INTEGER NOT NULL
);
CREATE TABLE documents(
    number INTEGER PRIMARY KEY, id BLOB NOT NULL, text BLOB NOT NULL, title BLOB NOT NULL,
    source BLOB NOT NULL, metadata BLOB NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL
);
CREATE INDEX documents_by_id ON documents(id);
CREATE INDEX documents_by_digest ON documents(digest);
CREATE TABLE chunks(
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL, start INTEGER NOT NULL,
    end INTEGER NOT NULL, key BLOB NOT NULL, embedded INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX chunks_by_document ON chunks(document);
CREATE INDEX chunks_by_key ON chunks(key);
CREATE TABLE postings(
    word BLOB, block INTEGER, data BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (word, block)
) WITHOUT ROWID;
CREATE TABLE vectors(
    block INTEGER PRIMARY KEY, version INTEGER NOT NULL, places BLOB NOT NULL,
    data BLOB NOT NULL, crc INTEGER NOT NULL
);
"""
TABLES = ("documents", "chunks", "postings", "vectors")
_FAILURES = (OSError, sqlite3.Error, ValueError, TypeError, LookupError, OverflowError)


@dataclass(frozen=True)
class IndexSettings:
    """The options an index was built with; identities and representations, not objects."""

    embedder: str
    splitter: str
    options: Mapping[str, Any]
    format: int = FORMAT


class Meta(NamedTuple):
    """The state that is served: rows below the two bounds, and totals for BM25."""

    settings: IndexSettings
    builds: int
    staged_documents: int
    staged_chunks: int
    chunks: int
    words: int


@contextmanager
def storing(folder: Path, action: str = "written") -> Iterator[None]:
    """Turn errors of the disk, of SQLite and of damaged contents into one line."""
    try:
        yield
    except RagsieveError:
        raise
    except _FAILURES as error:
        reason = getattr(error, "strerror", None) or error
        if isinstance(error, (TypeError, LookupError)):  # whose texts say little
            reason = f"it is damaged ({type(error).__name__}: {error})"
        raise StoreError(f"the index {str(folder)!r} could not be {action}: {reason}") from error


def raw(text: str) -> bytes:
    """A text as it is stored: UTF-8, lone surrogates as they are."""
    return text.encode("utf-8", "surrogatepass")


def text_of(stored: bytes) -> str:
    """The inverse of `raw`."""
    return stored.decode("utf-8", "surrogatepass")


def key_of(text: str) -> bytes:
    """16 bytes that stand for a text."""
    return hashlib.sha256(raw(text)).digest()[:16]


def digest_of(document: Document) -> bytes:
    """32 bytes that stand for the title and text of a document."""
    title = raw(document.title)
    return hashlib.sha256(b"%d:%b%b" % (len(title), title, raw(document.text))).digest()


def row_of(document: Document) -> tuple[Any, ...]:
    """A document's columns after its number: id, text, title, source, metadata, digest, checksum.

    Raises:
        InputError: If its metadata is more than JSON can hold.
    """
    try:
        metadata = json.dumps(dict(document.metadata), sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata of document {document.id!r} must be JSON: {error}") from error
    texts = [raw(t) for t in (document.text, document.title, document.source)]
    columns = (raw(document.id), *texts, raw(metadata), digest_of(document))
    return (*columns, checksum(*columns))


def checksum(*parts: bytes | int) -> int:
    """CRC-32 of parts, one after another."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part.to_bytes(8, "little") if isinstance(part, int) else part, crc)
    return crc


def check(crc: int, what: str, *parts: bytes | int) -> None:
    """Raise `ValueError` where the checksum of parts is not ``crc``."""
    if checksum(*parts) != crc:
        raise ValueError(f"{what} damaged (checksum): build it again in another folder")


def chunk(
    document: Document, start: int, end: int, scores: Mapping[str, float] | None = None
) -> Segment:
    """A segment; `ValueError` where its span is damaged."""
    if not 0 <= start <= end <= len(document.text):
        raise ValueError(f"a chunk of document {document.id!r:.80} is damaged (span)")
    return Segment(document, start, end, scores or {})


def best(numbers: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> dict[int, float]:
    """The ``k`` highest scores by number, rounded to five digits; the lower number on ties."""
    if len(scores) > k:
        keep = scores >= np.partition(scores, -k)[-k] - 1e-4  # what may round to the k-th
        numbers, scores = numbers[keep], scores[keep]
    rounded = np.round(scores.astype(np.float64), 5)
    order = np.lexsort((numbers, -rounded))[:k]
    return dict(zip(numbers[order].tolist(), rounded[order].tolist(), strict=True))


def create(folder: Path, settings: IndexSettings) -> None:
    """Make an empty database; one that is there is whole."""
    half = folder / f"{FILE}.new"
    for path in folder.glob(f"{half.name}*"):
        path.unlink()
    with closing(_connect(half, "rwc")) as db:
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(_SCHEMA)
        reset(db, settings)
    half.replace(folder / FILE)


def reset(db: sqlite3.Connection, settings: IndexSettings) -> None:
    """Empty a database in which nothing is served."""
    for table in ("meta", *TABLES):
        db.execute(f"DELETE FROM {table}")
    db.execute("INSERT INTO meta VALUES (?, 0, 1, 1, 0, 0)", (json.dumps(asdict(settings)),))


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )


def open_to_write(folder: Path) -> sqlite3.Connection:
    """A connection outside of any transaction."""
    db = _connect(folder / FILE, "rw")
    db.execute("PRAGMA synchronous=NORMAL")
    return db


@contextmanager
def snapshot(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees one state, whatever is written meanwhile."""
    with closing(_begun(folder / FILE)) as db:
        yield db


def _begun(path: Path) -> sqlite3.Connection:
    """A connection in a read transaction; where the disk cannot be written, past SQLite's log."""
    for mode in ("rw", "ro&immutable=1"):
        db = _connect(path, mode)
        try:
            db.execute("BEGIN")
            db.execute("SELECT 1 FROM meta").fetchone()
            return db
        except sqlite3.OperationalError:
            db.close()
            log = path.with_name(f"{path.name}-wal")
            if mode != "rw" or (log.exists() and log.stat().st_size):
                raise
        except BaseException:
            db.close()
            raise
    raise AssertionError


def meta_of(db: sqlite3.Connection) -> Meta:
    """The state that is served.

    Raises:
        ValueError: If it cannot be read, or is of another format.
    """
    row = db.execute("SELECT * FROM meta").fetchone()
    settings = json.loads(row[0])
    if settings["format"] != FORMAT:
        raise ValueError(f"format {settings['format']!r}, not {FORMAT}: build it again")
    return Meta(IndexSettings(**settings), *row[1:])


def rows_with(
    db: sqlite3.Connection, columns: str, table: str, numbers: Iterable[int]
) -> Iterator[Sequence[Any]]:
    """Columns of the rows of a table with these numbers."""
    among = "(SELECT value FROM json_each(?))"
    statement = f"SELECT {columns} FROM {table} WHERE number IN {among}"
    yield from db.execute(statement, (json.dumps([*numbers]),))
