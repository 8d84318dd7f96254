"""Wraps any model: same input, same output, no second call."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import sqlite3
import threading
import weakref
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import Pruned
from ragsieve.models.wrap import Columns, Model, Wrapper, canonical, check_columns
from ragsieve.trace import Usage, note, overheard, record_usage

_log = logging.getLogger(__name__)
_VERSION = 3  # of keys and values; another version's entries are never read
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_CREATE = "CREATE TABLE IF NOT EXISTS ragsieve_cache (key BLOB PRIMARY KEY, value BLOB, sum BLOB)"
_SELECT = "SELECT value, sum FROM ragsieve_cache WHERE key = ?"
_INSERT = "INSERT OR REPLACE INTO ragsieve_cache VALUES (?, ?, ?)"

T = TypeVar("T")


class Cached(Wrapper):
    """A model that answers from a file what it was asked before; hits are charged as cached.

    Many threads and processes may share the file, which lies on a local disk, a ``.lock`` file
    beside it. A damaged entry is asked again; a damaged file is moved aside to ``*.damaged``; a
    disk that cannot be read or written costs a warning, never an answer.

    Args:
        model: An LLM, an embedder, a cross-encoder or a sentence pruner.
        path: The SQLite file; made, with its folder, where there is none.
        timeout_s: Seconds to wait for other processes' writing before going on without.

    Raises:
        InputError: If ``timeout_s`` is negative or not finite.
    """

    def __init__(self, model: Model, path: str | Path, *, timeout_s: float = 10.0) -> None:
        if not 0 <= timeout_s < math.inf:
            raise InputError(f"timeout_s must be finite and not negative, got {timeout_s!r}")
        super().__init__(model)
        self.path = Path(path)
        self.timeout_s = timeout_s
        self._store = _Store(self.path, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        self._store.close()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """The vectors that the embedder inside gives, ``(len(texts), dim)``."""
        rows = self._call("embed", [texts], {"query": query})
        if len({len(row) for row in rows}) > 1:  # stored ones are not of the model's length
            rows = self._call("embed", [texts], {"query": query}, known=False)
        return np.asarray(rows, dtype=np.float32)

    def _call(
        self, method: str, columns: Columns, options: Mapping[str, Any], *, known: bool = True
    ) -> Sequence[Any]:
        check_columns(columns)
        items = list(zip(*columns, strict=True))
        if not items:
            return self._inner(method, columns, options)
        keys = [self._key(method, item, options) for item in items]
        by_key = dict(zip(keys, items, strict=True))
        values = self._known(method, by_key) if known else {}
        missing = {key: item for key, item in by_key.items() if key not in values}
        if missing:
            asked = [list(column) for column in zip(*missing.values(), strict=True)]
            fresh, costs = self._paid(method, asked, options)
            packed = {
                key: _pack(method, value, cost)
                for key, value, cost in zip(missing, fresh, costs, strict=True)
            }
            found = {key: _unpack(method, body) for key, body in packed.items()}
            good = [k for k, (value, _) in found.items() if _is_sound(method, by_key[k], value)]
            self._store.write({key: packed[key] for key in good})
            values |= found
        self._spend_known(keys, set(missing), values)
        return [_own(values[key][0]) for key in keys]

    def _paid(
        self, method: str, columns: Columns, options: Mapping[str, Any]
    ) -> tuple[Sequence[Any], list[_Cost]]:
        """What the model inside gives, charged as it charges, and the cost of each."""
        try:
            with overheard() as seen:
                fresh = self._inner(method, columns, options)
        finally:  # a call that fails has its cost, too
            record_usage(seen.usages)
            for text in seen.notes:
                note(text)
        if len(seen.usages) != len(fresh):  # not one an item: who paid what is not known
            return fresh, [(0, 0, "")] * len(fresh)
        return fresh, [(usage.tokens_in, usage.tokens_out, usage.note) for usage in seen.usages]

    def _spend_known(
        self, keys: Sequence[bytes], missing: set[bytes], values: Mapping[bytes, _Entry]
    ) -> None:
        """Charge what was known, or is asked for twice, as cached, with the tokens it once cost."""
        free = []
        for key in keys:
            if key in missing:
                missing.remove(key)  # paid once
            else:
                tokens_in, tokens_out, text = values[key][1]
                free.append(Usage(self.identity, tokens_in, tokens_out, cached=True, note=text))
        record_usage(free)

    def _key(self, method: str, item: Sequence[Any], options: Mapping[str, Any]) -> bytes:
        asked = [_VERSION, self.identity, method, item, options]
        return hashlib.sha256(canonical(asked)).digest()

    def _known(self, method: str, by_key: Mapping[bytes, Sequence[Any]]) -> dict[bytes, _Entry]:
        """The sound entries among ``by_key``."""
        values: dict[bytes, _Entry] = {}
        for key, body in self._store.read(by_key).items():
            try:
                entry = _unpack(method, body)
            except (ValueError, TypeError):  # not JSON, or not of the method's form
                continue
            if _is_sound(method, by_key[key], entry[0]):
                values[key] = entry
        return values


_Cost = tuple[int, int, str]  # tokens in and out, and the note
_Entry = tuple[Any, _Cost]  # a result, and what it cost


def _pack(method: str, value: Any, cost: _Cost) -> bytes:
    """A result and its cost as JSON; vectors as the base64 of little-endian float32."""
    plain: Any = value
    if method == "embed":
        plain = b64encode(np.asarray(value, dtype="<f4").tobytes()).decode()
    elif method == "score":
        plain = float(np.float32(value))
    elif method in ("choose", "loglik"):
        plain = [float(number) for number in value]
    elif method == "prune":
        plain = [[float(number) for number in numbers] for numbers in value]
    elif method == "surprisals":
        plain = [[int(start), int(end), float(nats)] for start, end, nats in value]
    return canonical([plain, *cost])


def _unpack(method: str, body: bytes) -> _Entry:
    plain, tokens_in, tokens_out, text = json.loads(body.decode("utf-8", "surrogatepass"))
    if method == "embed":
        plain = np.frombuffer(b64decode(plain, validate=True), dtype="<f4").astype(np.float32)
    elif method == "prune":
        plain = Pruned(*plain)
    elif method == "surprisals":
        plain = [(int(start), int(end), float(nats)) for start, end, nats in plain]
    return plain, (int(tokens_in), int(tokens_out), str(text))


def _is_sound(method: str, item: Sequence[Any], value: Any) -> bool:
    """Whether ``value`` is what ``method`` can give for ``item``."""
    if method == "complete":
        return isinstance(value, str)
    if method == "score":
        return isinstance(value, float) and math.isfinite(value)
    if method == "embed":
        return value.size > 0 and bool(np.isfinite(value).all())
    if method == "surprisals":
        bounds = [0, *(end for _, end, _ in value)]
        follows = all(a == start < b for a, (start, b, _) in zip(bounds, value, strict=False))
        finite = all(0 <= nats < math.inf for *_, nats in value)
        return follows and finite and bounds[-1] == len(item[1])
    if method == "rank":
        whole = isinstance(value, list) and all(type(place) is int for place in value)
        return whole and sorted(value) == [*range(len(item[1]))]
    if method == "prune":
        sizes = [sum(len(texts) for _, texts in item[1]), len(item[1])]
        pairs = zip(value, sizes, strict=True)
        return all(_are_probabilities(numbers, size) for numbers, size in pairs)
    if not isinstance(value, list) or not all(isinstance(number, float) for number in value):
        return False
    length = len(item[1]) if method == "choose" else len(value)
    return len(value) == length and all(math.isfinite(number) for number in value)


def _are_probabilities(value: Any, size: int) -> bool:
    """Whether ``value`` is a list of ``size`` floats in [0, 1]."""
    if not isinstance(value, list) or len(value) != size:
        return False
    return all(isinstance(number, float) and 0 <= number <= 1 for number in value)


def _own(value: Any) -> Any:
    """``value`` with lists of its own, so that no caller changes another's."""
    if isinstance(value, Pruned):
        return Pruned(*(numbers.copy() for numbers in value))
    return value.copy() if isinstance(value, list) else value


def _checksum(key: bytes, body: bytes) -> bytes:
    return hashlib.sha256(key + body).digest()


class _Store:
    """Bytes by key in a SQLite file, where whatever goes wrong is a miss.

    One connection a process, used by one thread at a time and closed before a fork: SQLite loses
    its locks where a process is forked with a connection open.
    """

    def __init__(self, path: Path, timeout_s: float) -> None:
        self.path = path
        self.timeout_s = timeout_s
        self.lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file = 0  # inode of what the connection has open
        self._warned = False
        _watch_forks()
        _stores.add(self)

    def read(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """The bodies of those ``keys`` that are stored and match their checksum."""

        def work(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            found = {}
            for key in keys:
                for body, checksum in connection.execute(_SELECT, (key,)):
                    if isinstance(body, bytes) and checksum == _checksum(key, body):
                        found[key] = body
            return found

        nothing: dict[bytes, bytes] = {}
        return self._use(work, nothing)

    def write(self, bodies: Mapping[bytes, bytes]) -> None:
        """Store ``bodies``, all or none."""
        rows = [(key, body, _checksum(key, body)) for key, body in bodies.items()]

        def work(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(_INSERT, rows)

        self._use(work, None)

    def close(self) -> None:
        """Close the connection, if one is open."""
        with self.lock:
            self.disconnect()

    def disconnect(self) -> None:
        """What `close` does, for who holds the lock."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _use(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        with self.lock:
            try:
                try:
                    return work(self._connect())
                except sqlite3.DatabaseError as error:
                    if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
                        raise
                    self._move_aside(error)
                return work(self._connect())
            except (OSError, sqlite3.Error) as error:
                self.disconnect()
                if not self._warned:
                    _log.warning("going on without the cache %s: %s", self.path, error)
                self._warned = True
                return otherwise

    def _connect(self) -> sqlite3.Connection:
        if self._connection:
            return self._connection
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._turn():
            connection = sqlite3.connect(self.path, timeout=self.timeout_s, check_same_thread=False)
            self._connection = connection
            self._file = self.path.stat().st_ino
            connection.text_factory = bytes  # damaged text need not be UTF-8
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(_CREATE)
        return connection

    def _move_aside(self, error: sqlite3.Error) -> None:
        self.disconnect()
        with self._turn():
            if not self.path.exists() or self.path.stat().st_ino != self._file:
                return  # another process was here first
            aside = self.path.with_name(self.path.name + ".damaged")
            _log.warning("moving the damaged cache %s to %s: %s", self.path, aside, error)
            self.path.replace(aside)
            for ending in ("-wal", "-shm"):  # SQLite would replay them into the fresh file
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)

    def _turn(self) -> FileLock:
        """Held while the file is opened or replaced, by one process at a time."""
        return FileLock(f"{self.path}.lock", timeout=self.timeout_s)


_stores: weakref.WeakSet[_Store] = weakref.WeakSet()
_held: list[_Store] = []


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
        )


def _before_fork() -> None:
    for store in list(_stores):
        store.lock.acquire()
        store.disconnect()
        _held.append(store)


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
