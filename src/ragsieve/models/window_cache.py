"""Base of sentence pruners that read windows: cached logits, scores and pruned passages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ragsieve.models.base import Passage, Pruned
from ragsieve.models.lru import LRU
from ragsieve.models.reopen import Reopened
from ragsieve.models.windows import QuestionWindows, Window
from ragsieve.models.wrap import check_columns
from ragsieve.trace import Usage, record_usage

NOTHING = -100.0  # the logit of a passage or sentence without a token
REMEMBERED = 4096  # windows whose logits are kept for the next call, some kilobytes each

Logits = NDArray[np.float32]
"""Two for each token of a window, ``(n_tokens, 2)``: that it is evidence, and, of the first token,
that the question can be answered from the passage."""

_Key = tuple[int, bytes]
"""All that a window's logits depend on: the question's length, and its token ids."""

Reading = list[tuple[Window, Logits]]
"""The windows of a passage with their logits."""


@dataclass(frozen=True)
class WindowPruner(Reopened, ABC):
    """A sentence pruner and a cross-encoder that reads each passage by itself, in windows.

    A passage counts as its best window does. Windows read lately are remembered, so that ranking
    and pruning a passage of one window costs one pass.
    """

    identity: ClassVar[Any]
    _known: LRU[_Key, Logits] = field(
        default_factory=lambda: LRU(REMEMBERED), init=False, repr=False, compare=False
    )

    @abstractmethod
    def _lay(self, question: str, passages: Sequence[Passage]) -> QuestionWindows:
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
        for group, readings in zip(passages, self.readings(questions, passages), strict=True):
            shares = [s for one in zip(group, readings, strict=True) for s in self._shares(*one)]
            answers = probabilities([passage_logit(reading) for reading in readings])
            results.append(Pruned(shares, answers.tolist()))
        return results

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Logits that the text, second, answers the question, ``(len(pairs),)``.

        A text is a passage of one sentence.
        """
        passages = [[Passage("", [text])] for _, text in pairs]
        readings = self.readings([question for question, _ in pairs], passages)
        return np.array([passage_logit(reading) for (reading,) in readings], np.float32)

    def readings(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[Reading]]:
        """Readings of each item's passages; an item is charged for what it is first to read."""
        layouts = [self._lay(*item) for item in zip(questions, passages, strict=True)]
        keyed = [[[(_key(w), w) for w in some] for some in one.windows] for one in layouts]
        windows = {key: window for item in keyed for some in item for key, window in some}
        known = self._known.find(windows)
        unread = [key for key in windows if key not in known]
        if unread:
            known |= zip(unread, self._run([windows[key] for key in unread]), strict=True)
        left, usages = {*unread}, []
        for one, item in zip(layouts, keyed, strict=True):
            own = {key for some in item for key, _ in some}
            fresh = own & left
            left -= fresh
            tokens = sum(len(windows[key].ids) for key in fresh or own)
            cached = bool(own and not fresh)
            usages.append(Usage(self.identity, tokens, cached=cached, note=one.note))
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
    return window.question, np.array(window.ids, np.int32).tobytes()
