"""A dict of bounded size."""

from __future__ import annotations

import pytest

from ragsieve.models.lru import LRU


@pytest.mark.parametrize(
    ("most", "room", "left"),
    [
        (9, 99, ["aa", "bbb", "c"]),
        (2, 99, ["bbb", "c"]),
        (9, 4, ["bbb", "c"]),
        (9, 3, ["c"]),
        (9, 0, []),
    ],
)
def test_what_was_used_last_stays_within_number_and_room(
    most: int, room: int, left: list[str]
) -> None:
    """An entry that takes more room than there is does not stay either."""
    entries: LRU[str, str] = LRU(most, len, room)
    for text in ("aa", "bbb", "c"):
        entries.keep({text: text})

    assert left == [*entries.find(["aa", "bbb", "c"])]
