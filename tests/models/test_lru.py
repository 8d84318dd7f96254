"""A dict of bounded size."""

from __future__ import annotations

from ragsieve.models.lru import LRU


def test_what_was_used_longest_ago_goes_first() -> None:
    """Of three kept, using the oldest again makes the second the oldest."""
    lru: LRU[str, int] = LRU(3)
    lru.keep({"a": 1, "b": 2, "c": 3})
    lru.keep(lru.find(["a", "x"]))
    lru.keep({"d": 4})

    assert {"a": 1, "c": 3, "d": 4} == lru.find("abcd")
