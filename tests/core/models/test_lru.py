"""A dict of bounded size."""

import gc

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
def test_what_was_used_last_stays_within_number_and_room(most, room, left):
    """An entry that takes more room than there is does not stay either."""
    entries = LRU(most, len, room)
    for text in ("aa", "bbb", "c"):
        entries.keep({text: text})

    assert left == [*entries.find(["aa", "bbb", "c"])]


def test_another_thread_adds_while_garbage_is_collected():
    """Which may be amid a step that makes objects: none of them iterates the entries meanwhile."""
    entries = LRU(99_999)
    entries.keep({n: n for n in range(5000)})
    before = gc.get_threshold()
    gc.callbacks.append(adds := lambda *_: entries.keep({object(): 1}))
    gc.set_threshold(10)
    try:
        entries.keep({"a": 1})
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(adds)

    assert {"a": 1, 0: 0} == entries.find(["a", 0])
