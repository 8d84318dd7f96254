"""Local pruners: one pass of a cross-encoder scores a passage and labels each of its tokens.

One is a folder, or a repository of the hub, with ``config.json``, a tokenizer and
``model.safetensors``: the encoder's tensors below its usual name (``bert.``, ``deberta.``), and
two heads, ``pooler.dense`` with ``classifier`` on the first token for the passage, and
``token_classifier`` on every token: drop or keep.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import Passage
from ragsieve.models.clue_windows import Layout, Read, Window
from ragsieve.models.loading import (
    DTYPES,
    compute,
    fetched,
    found_device,
    loaded,
    marked,
    once,
    precision,
)
from ragsieve.models.provence_net import (
    WEIGHTS,
    PassageSetter,
    TwoHeads,
    layout_for,
    passage_setter,
    words,
)
from ragsieve.models.wrap import check_columns
from ragsieve.text import safe
from ragsieve.trace import Usage, spend

NOTHING = -100.0  # the score of a passage without a word
REMEMBERED = 1_000_000  # tokens of passages whose labels are kept for the next call
_FILES = ("config.json", WEIGHTS, "*.json", "*.model", "*.txt")


class Reading(NamedTuple):
    """One pass over a passage: its score, any finite number, and what it says of each token.

    Args:
        score: Of the passage for the question, a logit.
        keep: Probability that a token is kept, in [0, 1], ``(n_tokens,)``.
        words: Where each word begins in ``keep``, and where the last one ends, ``(n_words + 1,)``.
        tokens: That the pass read, the question's and twice read ones included.
        cut: Whether the question was too long to be read whole.
    """

    score: float
    keep: NDArray[np.float32]
    words: NDArray[np.int64]
    tokens: int
    cut: bool = False


class _Key(NamedTuple):
    """What a reading depends on."""

    question: str
    text: str  # words with single spaces between


@dataclass(frozen=True)
class Provence:
    """A pruner: `ragsieve.models.base.ClueReader` for sentences, `PairScorer` for passages.

    A sentence has the mean keep-probability of its tokens, in [0, 1]; one without a word has 0. A
    passage, which is its title and its sentences or the same text as a whole, is read by itself and
    once: what was read lately is remembered, so that both calls cost one pass. A passage longer
    than the encoder reads goes in windows; its score is then its best window's. Weights are
    safetensors; no code is run.

    Args:
        model: A folder that `ragsieve.train.provence` wrote, or a hub id.
        vote: From which keep-probability a token votes to keep, in [0, 1]: a sentence then has the
            share of its tokens that do. None: the mean of their probabilities.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.

    Source: Provence (arXiv 2501.16214), section 3; the heads are those of its code
        (naver/bergen, scripts/provence).
    Differs: Each passage is read whole, up to the encoder's 512 tokens, but words are tokenized one
        by one, each behind a space, and a question is read as it was typed.
        ``naver/provence-reranker-debertav3-v1`` has these tensors by its code; its figures were not
        reproduced here.
    """

    model: str
    vote: float | None = field(default=None, kw_only=True)
    dtype: str = field(default="auto", kw_only=True)
    device: str | None = field(default=None, kw_only=True)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _known: OrderedDict[_Key, Reading] = field(
        default_factory=OrderedDict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {self.dtype!r}")
        if self.vote is not None and not 0 <= self.vote <= 1:
            raise InputError(f"vote must lie in [0, 1], got {self.vote!r}")

    @once
    def identity(self) -> str:
        """Model, weights, precision and vote: what numbers depend on."""
        vote = "" if self.vote is None else f":vote={self.vote}"
        return f"provence:{marked(self.model)}:{self._dtype}{vote}"

    def clues(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[list[float]]:
        """See `ragsieve.models.base.ClueReader.clues`; passages do not depend on one another."""
        check_columns([questions, passages])
        parts = [[_parts(passage) for passage in given] for given in passages]
        items = [
            [_Key(safe(question), " ".join(chain(*part))) for part in some]
            for question, some in zip(questions, parts, strict=True)
        ]
        found = []
        for some, readings in zip(parts, self._read(items), strict=True):
            shares: list[float] = []
            for part, reading in zip(some, readings, strict=True):
                ends = np.cumsum([len(text) for text in part])  # the first are the title's
                places = [reading.words[end] for end in ends]
                shares += (self._share(reading.keep[a:b]) for a, b in pairwise(places))
            found.append(shares)
        return found

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """How well each passage answers the question, ``(len(pairs),)``; logits."""
        items = [[_Key(safe(question), " ".join(words(text)))] for question, text in pairs]
        return np.array([reading.score for (reading,) in self._read(items)], np.float32)

    def _read(self, items: Sequence[Sequence[_Key]]) -> list[list[Reading]]:
        """Readings of the passages of each item, which is charged for those that it reads first."""
        keys = dict.fromkeys(key for item in items for key in item)
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        unread = [key for key in keys if key not in known]
        known |= zip(unread, self._made(unread), strict=True)
        left = {*unread}
        spend([self._usage(item, known, left) for item in items])
        with self._lock:
            self._known.update(known)
            for key in keys:
                self._known.move_to_end(key)
            held = sum(reading.tokens for reading in self._known.values())
            while held > REMEMBERED:
                held -= self._known.popitem(last=False)[1].tokens
        return [[known[key] for key in item] for item in items]

    def _usage(
        self, item: Sequence[_Key], known: Mapping[_Key, Reading], unread: set[_Key]
    ) -> Usage:
        """What an item cost; what it reads first is ``unread`` no more."""
        limit = self._layout.question
        cut = any(known[key].cut for key in item)
        text = f"the question has over {limit} tokens: only these count" if cut else ""
        fresh = unread.intersection(item)
        unread -= fresh
        size = sum(known[key].tokens for key in fresh or {*item})
        return Usage(self.identity, size, cached=bool(item and not fresh), note=text)

    def _made(self, keys: Sequence[_Key]) -> list[Reading]:
        """Readings of what was not read lately, all in one call of the net."""
        windows, cut = [], []
        for question, group in groupby(keys, key=lambda key: key.question):
            texts = [key.text.split() for key in group]
            read = self._setter.read(question, [Passage("", text) for text in texts])
            for _, rows in read.passages:
                own = Read(read.question, [([], rows)])
                windows.append(self._setter.windows(own, self._layout))
                cut.append(len(read.question) > self._layout.question)
        flat = [window for some in windows for window in some]
        outs = iter(compute(self._net.run, flat, self._setter.padding) if flat else [])
        found = [_joined(some, outs) for some in windows]
        return [reading._replace(cut=own) for reading, own in zip(found, cut, strict=True)]

    def _share(self, keep: NDArray[np.float32]) -> float:
        if not len(keep):
            return 0.0
        return float(np.mean(keep if self.vote is None else keep >= self.vote))

    @property
    def _dtype(self) -> str:
        return precision(self.dtype, self._device)

    @property
    def _device(self) -> str:
        return self.device or found_device()

    @once
    def _folder(self) -> Path:
        return fetched(self.model, _FILES)

    @once
    def _setter(self) -> PassageSetter:
        return passage_setter(self.model, self._folder)

    @once
    def _layout(self) -> Layout:
        return layout_for(self._net.encoder.config)

    @once
    def _net(self) -> TwoHeads:
        net: TwoHeads = compute(loaded, self.model, TwoHeads.load, self._folder)
        return net.ready(self._dtype, self._device)


def _parts(passage: Passage) -> list[list[str]]:
    """Words of the title, as it stands before its passage, and of each sentence."""
    title = words(f"{passage.title}:") if passage.title else []
    return [title, *map(words, passage.sentences)]


def _joined(
    windows: Sequence[Window], outs: Iterator[tuple[float, NDArray[np.float32]]]
) -> Reading:
    """One reading of a passage's windows; each word counts in one of them."""
    parts: dict[int, NDArray[np.float32]] = {}
    scores = []
    for window in windows:
        score, keep = next(outs)
        scores.append(score)
        parts.update((n, keep[start:end]) for n, start, end in window.spans)
    rows = [np.zeros(0, np.float32), *(parts[n] for n in sorted(parts))]
    tokens = sum(len(window.ids) for window in windows)
    ends = np.cumsum([len(row) for row in rows])
    return Reading(max(scores, default=NOTHING), np.concatenate(rows), ends, tokens)
