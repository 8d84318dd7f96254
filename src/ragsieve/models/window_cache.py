"""What all sentence pruners do with windows: remember their logits, score and prune passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragsieve.models.base import Passage, Pruned
from ragsieve.models.lru import LRU
from ragsieve.models.reopen import Reopened
from ragsieve.models.windows import Laid, Window
from ragsieve.models.wrap import check_columns
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


@dataclass(frozen=True)
class WindowPruner(Reopened, ABC):
    """A sentence pruner and a cross-encoder that reads each passage by itself, in windows.

    A passage counts as its best window does. Windows read lately are remembered, so that ranking
    and pruning a passage of one window costs one pass.
    """

    identity: ClassVar[Any]
    _cache: WindowCache = field(default_factory=WindowCache, init=False, repr=False, compare=False)

    @abstractmethod
    def _lay(self, question: str, passages: Sequence[Passage]) -> Laid:
        """Windows of a question's passages."""

    @abstractmethod
    def _run(self, windows: Sequence[Window]) -> Sequence[Logits]:
        """Logits of windows."""

    @abstractmethod
    def _shares(self, passage: Passage, reading: Reading) -> Sequence[float]:
        """The probability of each sentence of a passage."""

    def prune(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[Pruned]:
        """See `ragsieve.models.base.SentencePruner.prune`; a sentence without a token has 0."""
        check_columns([questions, passages])
        results = []
        for group, readings in zip(passages, self._readings(questions, passages), strict=True):
            shares = [s for one in zip(group, readings, strict=True) for s in self._shares(*one)]
            answers = probabilities([passage_logit(reading) for reading in readings])
            results.append(Pruned(shares, answers.tolist()))
        return results

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """How well the question, first, can be answered from the text; logits, ``(len(pairs),)``.

        A text is a passage of one sentence.
        """
        passages = [[Passage("", [text])] for _, text in pairs]
        readings = self._readings([question for question, _ in pairs], passages)
        return np.array([passage_logit(reading) for (reading,) in readings], np.float32)

    def _readings(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[Reading]]:
        laid = [self._lay(*item) for item in zip(questions, passages, strict=True)]
        return self._cache.read(laid, self._run, self.identity)


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
