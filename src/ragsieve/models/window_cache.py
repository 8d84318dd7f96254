"""Logits of windows, and the scores and probabilities of passages, for all sentence pruners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragsieve.models.lru import LRU
from ragsieve.models.windows import Laid, Window
from ragsieve.trace import Usage, record_usage

NOTHING = -100.0  # the logit of a passage or sentence without a token
REMEMBERED = 4096  # windows whose logits are kept for the next call, some kilobytes each

Logits = NDArray[np.float32]
"""Two for each token of a window, ``(n_tokens, 2)``: that it is evidence, and, of the first token,
that the question can be answered from the passage."""

Reading = list[tuple[Window, Logits]]
"""The windows of a passage with their logits."""


class _Key(NamedTuple):
    """All that a window's logits depend on."""

    question: int
    ids: bytes


class WindowCache:
    """Windows read lately, so that ranking and pruning a passage costs one pass.

    Those read longest ago are forgotten first. Threads may share one.
    """

    def __init__(self) -> None:
        self._known: LRU[_Key, Logits] = LRU(REMEMBERED)

    def read(
        self,
        laid: Sequence[Laid],
        run: Callable[[Sequence[Window]], Sequence[Logits]],
        identity: str,
    ) -> list[list[Reading]]:
        """Readings of each item's passages; an item is charged for what it is first to read.

        Args:
            laid: The windows of each item.
            run: Gives logits of windows; not called where all are known.
            identity: Of the model that is charged.
        """
        keyed = [[[(_key(w), w) for w in some] for some in one.windows] for one in laid]
        windows = {key: window for item in keyed for some in item for key, window in some}
        known = self._known.find(windows)
        unread = [key for key in windows if key not in known]
        if unread:
            known |= zip(unread, run([windows[key] for key in unread]), strict=True)
        left = {*unread}
        usages = []
        for one, item in zip(laid, keyed, strict=True):
            mine = {key for some in item for key, _ in some}
            fresh = mine & left
            left -= fresh
            tokens = sum(len(windows[key].ids) for key in fresh or mine)
            cached = bool(mine and not fresh)
            usages.append(Usage(identity, tokens, cached=cached, note=one.note))
        record_usage(usages)
        self._known.keep(known)
        return [[[(w, known[key]) for key, w in some] for some in item] for item in keyed]


def passage_logit(reading: Reading) -> float:
    """The logit of a passage: of its best window."""
    return max((float(logits[0, 1]) for _, logits in reading), default=NOTHING)


def probabilities(logits: ArrayLike) -> NDArray[np.float64]:
    """The sigmoid of each logit, in [0, 1]; 0 of what has no token."""
    values = np.asarray(logits, np.float64)
    shares = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return np.where(values == NOTHING, 0.0, shares)


def _key(window: Window) -> _Key:
    return _Key(window.question, np.array(window.ids, np.int32).tobytes())
