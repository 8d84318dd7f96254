"""Wraps any model: same input, same output, no second call."""

import hashlib
import json
import logging
import os
import sqlite3
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from filelock import FileLock

from ragsieve.errors import InputError
from ragsieve.models.base import ClassifiedToken, Cut, Nats, Pruned
from ragsieve.models.deferred import identity_of
from ragsieve.models.lru import LRU
from ragsieve.models.wrap import Columns, Model, Wrapper, canonical, check_columns
from ragsieve.schema import Count, T, Wait, check_number
from ragsieve.trace import CUT, Usage, collect_step, note, record_usage

_log = logging.getLogger(__name__)
_VERSION = 4  # of keys and values; another version's entries are never read
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_MAGIC = b"SQLite format 3\0"
_SETUP = (
    "PRAGMA synchronous = OFF",  # a checksum detects what a power cut damages
    "CREATE TABLE IF NOT EXISTS ragsieve_cache (key BLOB PRIMARY KEY, value BLOB, sum BLOB)",
)
_SELECT = "SELECT value, sum FROM ragsieve_cache WHERE key = ?"
_INSERT = "INSERT OR REPLACE INTO ragsieve_cache VALUES (?, ?, ?)"

_unforked = threading.Lock()  # SQLite has locks of its own, which a fork must not leave held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_unforked.acquire,
        after_in_parent=_unforked.release,
        after_in_child=_unforked.release,
    )

_Probabilities = list[Annotated[float, msgspec.Meta(ge=0, le=1)]]
_FORMS: Mapping[str, Any] = {  # of an item's result in JSON, by method
    "complete": str,
    "choose": _Probabilities | None,
    "loglik": list[float],
    "surprisals": list[Nats],
    "embed": bytes,  # little-endian float32
    "embed_spans": list[list[float]],
    "score": float,
    "prune": tuple[_Probabilities, _Probabilities],
    "rank": list[int],
    "classify": list[ClassifiedToken],
}


class _Entry(NamedTuple):
    """A result, and what it cost."""

    value: Any
    tokens_in: int
    tokens_out: int
    note: str


class Cached(Wrapper):
    """A model that answers repeated calls from memory, and from a file.

    Hits are charged as cached. Many threads and processes may share the file, which lies on a local
    disk. A damaged entry is computed again; a damaged file is moved aside to ``*.damaged``; a disk
    that cannot be read or written costs a warning, never an answer.

    Args:
        model: An LLM, an embedder, a cross-encoder, a sentence pruner, a listwise reranker or a
            token classifier.
        path: The SQLite file; created, with its folder, where missing. None: memory alone.
        most: Results that are kept in memory, at least 1; those used longest ago go first.
        timeout_s: Seconds to wait for other processes' writing before going on without.

    Raises:
        InputError: If an option breaks its rule, the file is of another kind, or there is one for a
            function without a name of its own (`ragsieve.models.callables`).
    """

    def __init__(
        self,
        model: Model,
        path: str | Path | None = None,
        *,
        most: int = 8192,
        timeout_s: float = 10.0,
    ) -> None:
        super().__init__(model)
        check_number("most", most, Count)
        check_number("timeout_s", timeout_s, Wait)
        if path is not None and "<" in self.identity:
            rule = f"a model in a cache file must have a name of its own, got {self.identity!r}"
            how = "name it by as_llm, as_embedder or as_cross_encoder(model, name=...)"
            raise InputError(f"{rule}: {how}")
        self._memory: LRU[bytes, bytes] = LRU(most)
        self._file = _CacheFile(Path(path), timeout_s) if path is not None else None

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        check_columns(columns)
        items = list(zip(*columns, strict=True))
        if not items:
            return self._inner(method, columns, options)
        about = _VERSION, identity_of(self), method
        keys = [hashlib.sha256(canonical([*about, one, options])).digest() for one in items]
        bodies = self._known(method, keys)
        missing = {k: item for k, item in zip(keys, items, strict=True) if k not in bodies}
        computed = self._compute(method, missing, options) if missing else {}
        bodies |= {key: body for key, (body, _) in computed.items() if body}
        entries = [_decoded(method, bodies.get(key, b"")) or computed[key][1] for key in keys]
        self._charge_hits(method, keys, {*missing}, entries)
        if method != "complete":
            return [entry.value for entry in entries]
        return [Cut(e.value, e.note) if e.note.startswith(CUT) else e.value for e in entries]

    def _known(self, method: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        bodies = self._memory.find(keys)
        if self._file and (others := [key for key in keys if key not in bodies]):
            stored = self._file.read(others)
            bodies |= {key: body for key, body in stored.items() if _decoded(method, body)}
        self._memory.keep(bodies)
        return bodies

    def _compute(
        self, method: str, missing: Mapping[bytes, Sequence[Any]], options: Mapping[str, Any]
    ) -> dict[bytes, tuple[bytes, _Entry]]:
        """Entries of the model inside, charged as it charges; stored where they have a body."""
        columns = [list(column) for column in zip(*missing.values(), strict=True)]
        try:
            with collect_step() as seen:
                results = self._inner(method, columns, options)
        finally:  # a call that fails has its cost, too
            record_usage(seen.usages)
            for text in seen.notes:
                note(text)
        usages = seen.usages
        if len(usages) != len(results):  # not one an item: who paid what is not known
            usages = [Usage("", 0)] * len(results)
        computed = {}
        for key, value, usage in zip(missing, results, usages, strict=True):
            entry = _Entry(value, usage.tokens_in, usage.tokens_out, usage.note)
            computed[key] = (_encoded(method, entry), entry)
        bodies = {key: body for key, (body, _) in computed.items() if body}
        self._memory.keep(bodies)
        if self._file and bodies:
            self._file.write(bodies)
        return computed

    def _charge_hits(
        self, method: str, keys: Sequence[bytes], paid: set[bytes], entries: Sequence[_Entry]
    ) -> None:
        """Charge what was known, or comes twice, as cached, with the tokens it once cost."""
        usages = []
        for key, (_, tokens_in, tokens_out, text) in zip(keys, entries, strict=True):
            if key in paid:
                paid.remove(key)
            else:
                embedded = method in ("embed", "embed_spans")
                usages.append(Usage(self.identity, tokens_in, tokens_out, True, text, embedded))
        record_usage(usages)


def _encoded(method: str, entry: _Entry) -> bytes:
    """JSON; nothing where the result has not the method's form."""
    try:
        plain = entry.value
        if method == "embed":
            vector = np.asarray(plain, dtype="<f4")
            finite = vector.size and np.isfinite(vector).all()
            plain = b64encode(vector.tobytes()).decode() if finite else None
        elif method == "score":
            plain = float(np.float32(plain))
        text = json.dumps([plain, *entry[1:]], ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        return b""
    body = text.encode("utf-8", "surrogatepass")
    return body if _decoded(method, body) else b""


def _decoded(method: str, body: bytes) -> _Entry | None:
    """A stored value, with lists and arrays of its own; None where it has not the form."""
    try:
        items = json.loads(body.decode("utf-8", "surrogatepass"))
        entry = _Entry(*msgspec.convert(items, tuple[Any, int, int, str]))
        value = msgspec.convert(entry.value, _FORMS[method])
        if method == "embed":
            value = np.frombuffer(value, dtype="<f4").astype(np.float32)
        elif method == "prune":
            value = Pruned(*value)
    except (ValueError, TypeError, RecursionError, msgspec.MsgspecError):
        return None
    return entry._replace(value=value)


def checksum_of(key: bytes, body: bytes) -> bytes:
    return hashlib.sha256(key + body).digest()


class _CacheFile:
    """Bytes by key in a SQLite file, where whatever goes wrong is a miss.

    Each use has a connection of its own, which no fork takes along.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        with suppress(OSError), path.open("rb") as file:  # that may never have been one of SQLite
            if (begin := file.read(len(_MAGIC))) and begin != _MAGIC:
                raise InputError(f"--cache must be a cache or a new file, got {str(path)!r}")
        self.path = path
        self.timeout_s = timeout_s
        self._warned = False

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The bodies of those ``keys`` that are stored and match their checksum."""
        rows = self._use(lambda file: [(k, *r) for k in keys for r in file.execute(_SELECT, (k,))])
        known = [(k, body, checksum) for k, body, checksum in rows or () if type(body) is bytes]
        return {k: body for k, body, checksum in known if checksum == checksum_of(k, body)}

    def write(self, bodies: Mapping[bytes, bytes]) -> None:
        """Store ``bodies``, all or none."""
        rows = [(key, body, checksum_of(key, body)) for key, body in bodies.items()]

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(_INSERT, rows)

        self._use(insert)

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Result of ``work``; None, with one warning, where the file cannot be used."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            inode = self.path.stat().st_ino
            try:
                return self._connected(work)
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
                    raise
                self._move_aside(inode, error)
            return self._connected(work)
        except (OSError, sqlite3.Error) as error:
            if not self._warned:
                _log.warning("going on without the cache %s: %s", self.path, error)
            self._warned = True
            return None

    def _connected(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with _unforked, closing(sqlite3.connect(self.path, timeout=self.timeout_s)) as connection:
            connection.text_factory = bytes  # damaged text need not be UTF-8
            for statement in _SETUP:
                connection.execute(statement)
            return work(connection)

    def _move_aside(self, inode: int, error: sqlite3.Error) -> None:
        with FileLock(f"{self.path}.lock", timeout=self.timeout_s):
            if not self.path.exists() or self.path.stat().st_ino != inode:
                return  # another process was here first
            places = (f"{self.path.name}.damaged{n or ''}" for n in count())
            aside = next(p for p in map(self.path.with_name, places) if not p.exists())
            _log.warning("moving the damaged cache %s to %s: %s", self.path, aside, error)
            self.path.rename(aside)
            for ending in ("-journal", "-wal", "-shm"):  # SQLite would replay them
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
