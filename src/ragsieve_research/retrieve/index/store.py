"""The database of an index: one SQLite file that holds documents, chunks, postings and vectors.

INDEX/
├── index.sqlite          everything that is served
├── index.sqlite.staged   what a build cut and embedded, until it ends
└── lock                  held by the process that writes

A build writes in one transaction: a reader has the state before it or the state after it, and so
has one after a kill.
"""

import hashlib
import json
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, RagsieveError, StoreError
from ragsieve.types import Document

FORMAT = 4
FILE, STAGED, LOCK = "index.sqlite", "index.sqlite.staged", "lock"
_BUSY_S = 30.0
_SCHEMA = """
CREATE TABLE meta(
    settings TEXT NOT NULL, born INTEGER NOT NULL, builds INTEGER NOT NULL,
    chunks INTEGER NOT NULL, words INTEGER NOT NULL
);
CREATE TABLE documents(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, text BLOB NOT NULL,
    title BLOB NOT NULL, source BLOB NOT NULL, metadata BLOB NOT NULL, digest BLOB NOT NULL,
    crc INTEGER NOT NULL
);
CREATE TABLE chunks(
    number INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL, start INTEGER NOT NULL,
    end INTEGER NOT NULL, key BLOB NOT NULL, vector BLOB NOT NULL, crc INTEGER NOT NULL
);
CREATE INDEX chunks_by_document ON chunks(document);
CREATE INDEX chunks_by_key ON chunks(key);
CREATE TABLE postings(
    word BLOB, block INTEGER, data BLOB NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY (word, block)
) WITHOUT ROWID;
"""
_FAILURES = (
    OSError,
    sqlite3.Error,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class IndexSettings:
    """The options an index was built with; identities and representations, not objects."""

    embedder: str
    splitter: str
    options: Mapping[str, Any]
    format: int = FORMAT


class Meta(NamedTuple):
    """The state that is served: the index's random number, its builds, and totals for BM25."""

    settings: IndexSettings
    born: int
    builds: int
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
        if isinstance(error, (TypeError, LookupError, RecursionError)):  # whose texts say little
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


class Chunk(NamedTuple):
    """A chunk: its document's number and its span there; its vector, empty without an embedder."""

    number: int
    document: int
    start: int
    end: int
    vector: bytes


def chunks(db: sqlite3.Connection, condition: str, *values: Any) -> Iterator[Chunk]:
    """The chunks that meet a condition; `ValueError` where one is damaged."""
    columns = "number, document, start, end, key, vector, crc"
    for number, *covered, crc in db.execute(
        f"SELECT {columns} FROM chunks WHERE {condition}", values
    ):
        check(crc, "a chunk is", *covered)
        document, start, end, _, vector = covered
        yield Chunk(number, document, start, end, vector)


def documents(db: sqlite3.Connection, condition: str, *values: Any) -> dict[int, Document]:
    """The documents that meet a condition, by number; `ValueError` where one is damaged."""
    by_number = {}
    for number, *covered, crc in db.execute(f"SELECT * FROM documents WHERE {condition}", values):
        check(crc, f"document {number} is", *covered)
        id_, text, title, source, metadata = map(text_of, covered[:-1])
        by_number[number] = Document(id_, text, title, source, metadata=json.loads(metadata))
    return by_number


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
    with closing(connect(half, "rwc")) as db:
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL"):
            db.execute(f"PRAGMA {pragma}")
        db.executescript(_SCHEMA)
        row = (json.dumps(asdict(settings)), secrets.randbits(62))
        db.execute("INSERT INTO meta VALUES (?, ?, 0, 0, 0)", row)
        # last: closing keeps quiet where the disk is too full to take over what is in the log
        db.execute("PRAGMA journal_mode=WAL")
    half.replace(folder / FILE)


def connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    """A connection outside of any transaction."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )


@contextmanager
def snapshot(folder: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection that sees one state, whatever is written meanwhile; None where is no index."""
    if not (folder / FILE).exists():
        yield None
        return
    with closing(_begun(folder / FILE)) as db:
        yield db


def _begun(path: Path) -> sqlite3.Connection:
    """A connection in a read transaction; where the disk cannot be written, past SQLite's log."""
    for mode in ("rw", "ro&immutable=1"):
        db = connect(path, mode)
        try:
            db.execute("BEGIN")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
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
        ValueError: If it cannot be read, is of another format, or computes what it should hold.
    """
    if db.execute("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone():
        raise ValueError("it has views or triggers, which may never end: build it again")
    row = db.execute("SELECT * FROM meta").fetchone()
    settings = json.loads(row[0])
    if settings["format"] != FORMAT:
        raise ValueError(f"format {settings['format']!r}, not {FORMAT}: build it again")
    return Meta(IndexSettings(**settings), *row[1:])


def meta(folder: Path) -> Meta | None:
    """The state of an index, also of one whose first build did not end; None where is none.

    Raises:
        StoreError: If it cannot be read.
    """
    with storing(folder, "read"), snapshot(folder) as db:
        return meta_of(db) if db else None
