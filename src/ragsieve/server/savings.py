"""Tokens before and after the filter by day, route and tool, in an SQLite file."""

import logging
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

from ragsieve.errors import InputError, one_line, translated
from ragsieve.result import Tokens

logger = logging.getLogger(__name__)

_CREATE = """CREATE TABLE IF NOT EXISTS ragsieve_savings (day TEXT, route TEXT, tool TEXT,
    requests INTEGER, before INTEGER, after INTEGER, PRIMARY KEY (day, route, tool))"""
_ADD = """INSERT INTO ragsieve_savings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
    requests = requests + excluded.requests, before = before + excluded.before,
    after = after + excluded.after"""
_ALL = "SELECT * FROM ragsieve_savings ORDER BY day DESC, route, tool"
_FIELDS = ("day", "route", "tool", "requests", "tokens_before", "tokens_after")
_NAME = 100  # characters of a tool's name
_WAIT_S = 0.5  # for another process that writes


class Savings:
    """Counts in a file that several servers may share; what cannot be written now, is later.

    Args:
        path: The file; made where it is missing.

    Raises:
        InputError: If it cannot be made, or is no SQLite file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._left: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        rule = f"savings must be an SQLite file, got {str(path)!r}"
        with translated(InputError, rule, sqlite3.Error), closing(self._open()) as file, file:
            file.execute(_CREATE)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_WAIT_S)

    def add(self, route: str, tokens: Iterable[tuple[str, Tokens]]) -> None:
        """Count a request: tokens of each tool, by its name, and of documents, by an empty one."""
        day = date.today().isoformat()
        with self._lock:
            seen = set()
            for tool, one in tokens:
                row = (day, route, tool[:_NAME])
                added = (row not in seen, one.before, one.after)
                self._left[row] = [*map(sum, zip(self._left[row], added, strict=True))]
                seen.add(row)
            self._write()

    def _write(self) -> None:
        values = [(*row, *sums) for row, sums in self._left.items()]
        try:
            with closing(self._open()) as file, file:
                file.executemany(_ADD, values)
            self._left.clear()
        except sqlite3.Error as error:
            logger.warning("savings are written later: %s: %s", self._path, one_line(error))

    def stats(self, price: float | None = None) -> dict[str, Any]:
        """All rows, the latest day first, with their sums; with a price also what was saved.

        Args:
            price: Of a million input tokens.
        """
        with closing(self._open()) as file:
            rows = [dict(zip(_FIELDS, row, strict=True)) for row in file.execute(_ALL)]
        before, after = (sum(row[name] for row in rows) for name in _FIELDS[4:])
        found = {"rows": rows, "tokens_before": before, "tokens_after": after}
        return found if price is None else {**found, "saved": (before - after) * price / 1e6}
