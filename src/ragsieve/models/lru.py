"""A dict of bounded size."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """The entries used last, by key.

    Threads may share one. It has no lock that a fork could leave held: each step is one operation
    of a dict, and what another thread took away meanwhile is a miss.

    Args:
        most: Entries that are kept; those used longest ago go first.
        size: How much room an entry takes; none where None.
        room: What all that are kept may take together.
    """

    def __init__(
        self, most: int, size: Callable[[V], int] | None = None, room: float = math.inf
    ) -> None:
        self.most, self._size, self._room = most, size, room
        self._entries: dict[K, V] = {}

    def find(self, keys: Iterable[K]) -> dict[K, V]:
        """The entries of those ``keys`` that are here."""
        return {k: value for k in keys if (value := self._entries.get(k)) is not None}

    def keep(self, entries: Mapping[K, V]) -> None:
        """Add ``entries``, or mark them as used."""
        for key, value in entries.items():
            self._entries.pop(key, None)
            self._entries[key] = value  # at the end
        held = [*self._entries]  # in one step: among pairs that are made, garbage is collected
        values = map(self._entries.get, reversed(held))
        sizes = accumulate(self._size(v) if self._size and v is not None else 0 for v in values)
        stay = min(self.most, sum(total <= self._room for total in sizes))
        for key in held[: len(held) - stay]:
            self._entries.pop(key, None)
