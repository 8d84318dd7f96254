"""Windows that were read lately."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ragsieve.models import windows
from ragsieve.models.base import Passage
from ragsieve.models.windows import (
    NOTHING,
    Logits,
    QuestionWindows,
    Reading,
    Window,
    WindowPruner,
    WindowSpan,
    passage_logit,
    probabilities,
)
from ragsieve.trace import Usage, step


class Net(WindowPruner):
    """Gives each token the logits 1 and its id; keeps what it read in ``read``."""

    identity = "m"
    read: list[int]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "read", [])

    def _lay(self, question: str, passages: Any) -> QuestionWindows:
        return passages

    def _run(self, windows: Sequence[Window]) -> list[Logits]:
        self.read.extend(window.ids[0] for window in windows)
        return [np.array([[1, n] for n in window.ids], np.float32) for window in windows]

    def _shares(self, passage: Passage, reading: Reading) -> list[float]:
        return []

    def of(self, *items: Any) -> list[list[Reading]]:
        return self.readings([""] * len(items), items)


def laid(*passages: Sequence[int], note: str = "") -> QuestionWindows:
    """Passages, each given by the first token of its windows of two."""
    spans = [WindowSpan(0, 1, 2)]
    return QuestionWindows([[Window([n, 0], 0, spans) for n in some] for some in passages], note)


def test_a_window_is_read_and_charged_once() -> None:
    """By the item that asks first; the second call reads nothing."""
    net = Net()
    items = [laid([1, 2], [3]), laid([3, 4], note="cut"), laid([1])]
    with step("first") as first:
        found = net.of(*items)
    with step("second") as second:
        again = net.of(items[0])

    assert [1, 2, 3, 4] == net.read
    assert [Usage("m", 6), Usage("m", 2, note="cut"), Usage("m", 2, cached=True)] == first.usages
    assert [Usage("m", 6, cached=True)] == second.usages
    assert [[2, 3], [4], [1]] == [[passage_logit(one) for one in item] for item in found]
    assert [[2, 3]] == [[passage_logit(one) for one in item] for item in again]


def test_what_was_asked_longest_ago_is_forgotten() -> None:
    """A longer question of the same tokens is another window; no token has 0."""
    net = Net()
    both = [Window([1, 0], question, []) for question in (0, 1)]
    net.of(QuestionWindows([both], ""))

    assert [1, 1] == net.read

    net = Net()
    many = range(1, windows.REMEMBERED + 1)
    for some in (many, [1], [0], [1], [2]):  # 0 takes the place of 2, as 1 was asked for since
        net.of(laid(some))

    assert [*many, 0, 2] == net.read

    assert NOTHING == passage_logit([])
    assert [0.0, 0.5, 1.0, pytest.approx(0, abs=1e-9)] == [
        *probabilities([NOTHING, 0, 1e30, -1e30])
    ]
