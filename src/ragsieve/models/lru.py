"""A dict of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """The entries used last, by key.

    Threads may share one. It has no lock that a fork could leave held: each step is one operation
    of a dict, and what another thread took away meanwhile is a miss.

    Args:
        most: Entries that are kept; those used longest ago go first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: dict[K, V] = {}

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """The entries of those ``keys`` that are here."""
        entries = ((key, self._entries.get(key)) for key in keys)
        return {key: value for key, value in entries if value is not None}

    def keep(self, entries: Mapping[K, V]) -> None:
        """Add ``entries``, or mark them as used."""
        for key, value in entries.items():
            self._entries.pop(key, None)
            self._entries[key] = value  # at the end
        for key in [*self._entries][: max(0, len(self._entries) - self.most)]:
            self._entries.pop(key, None)
