"""Windows of an encoder over a question and one passage, and the base of pruners that read them.

A window is ``[CLS] question [SEP] title : sentence sentence … [SEP]``, of one passage only. A
passage that does not fit goes in several windows of whole sentences, the title in front of each;
from the second on a window begins with the last tokens of the sentences before, as context.
Training and inference share this file, which needs neither torch nor onnxruntime.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tokenizers import Encoding, Tokenizer

from ragsieve.errors import InputError, ModelError
from ragsieve.models.base import Passage, Passages, Pruned, Texts
from ragsieve.models.lru import LRU
from ragsieve.models.query_focus import parts
from ragsieve.models.reopen import Reopened
from ragsieve.models.tokenizer import familiar, read_tokenizer
from ragsieve.models.wrap import check_columns
from ragsieve.schema import Amount, Count, check_options
from ragsieve.text import counted, safe
from ragsieve.timeouts import check_wanted
from ragsieve.trace import Usage, record_usage
from ragsieve.types import Span

_AT_ONCE = 32  # texts: others wait for so many
_LEAST = 16  # tokens of sentences that a window can hold, whatever stands before them
NOTHING = -100.0  # the logit of a passage or sentence without a token
REMEMBERED = 4096  # windows whose logits are kept for the next call, some kilobytes each

Logits = NDArray[np.float32]
"""Two for each token of a window, ``(n_tokens, 2)``: that it is evidence, and, of the first token,
that the question can be answered from the passage."""

_Ids = Sequence[int]


class WindowSpan(NamedTuple):
    """A sentence's place in its passage, and the bounds of its tokens in the window."""

    sentence: int
    start: int
    end: int


@dataclass(frozen=True)
class Window:
    """The input of the encoder in one pass.

    Args:
        ids: Token ids.
        question: Tokens of the question, which begins behind the first token.
        spans: Sentences that are scored here, in order. Two spans of one sentence, here or in two
            windows, are its pieces: the sentence's logit is the highest of theirs.
    """

    ids: list[int]
    question: int
    spans: list[WindowSpan]

    @cached_property
    def key(self) -> tuple[int, bytes]:
        """All that its logits depend on: the question's length, and its token ids."""
        return self.question, np.array(self.ids, np.int32).tobytes()

    @property
    def types(self) -> list[int]:
        """Token types: 0 up to the first ``[SEP]``, which is behind the question, then 1."""
        front = self.question + 2
        return [0] * front + [1] * (len(self.ids) - front)


class Marks(NamedTuple):
    """Token ids of the control tokens and the colon.

    Args:
        cls: Before the question.
        sep: Behind it, and behind the passage.
        colon: Behind a title.
        gap: More control tokens between question and passage, where the tokenizer has them.
    """

    cls: int
    sep: int
    colon: int
    gap: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Sizes of windows and their parts, all in tokens.

    Args:
        size: Of a window, at most; has space for at least 16 tokens of a sentence.
        question: Of a question, at least 1; the rest is cut off.
        title: Of a title, at least 0; the rest is cut off.
        context: Of the text that a window repeats of the one before, at most; at least 0.

    Raises:
        InputError: If a size breaks its rule.
    """

    size: Count = 256
    question: Count = 64
    title: Amount = 24
    context: Amount = 64

    def __post_init__(self) -> None:
        check_options(self)
        least = self.question + self.title + 4 + _LEAST
        if self.size < least:
            raise InputError(f"size must be at least {least} tokens, got {self.size!r}")

    def windows(
        self, question: _Ids, title: _Ids, sentences: Sequence[_Ids], marks: Marks
    ) -> list[Window]:
        """Windows in which every sentence that has tokens is scored, from all token ids."""
        head = [marks.cls, *question[: self.question], marks.sep]
        front = [*head, *marks.gap, *title[: self.title], *([marks.colon] if title else [])]
        space = self.size - len(front) - 1
        text = [token for sentence in sentences for token in sentence]
        units = _units(sentences, space)
        windows: list[Window] = []
        first = 0
        while first < len(units):
            _, begin, end = units[first]
            low = begin - min(self.context, begin, space - (end - begin))
            last = first + 1
            while last < len(units) and units[last].end <= low + space:
                last += 1
            shift = len(front) - low
            spans = [WindowSpan(n, a + shift, b + shift) for n, a, b in units[first:last]]
            ids = [*front, *text[low : units[last - 1].end], marks.sep]
            windows.append(Window(ids, len(head) - 2, spans))
            first = last
        return windows


class QuestionWindows(NamedTuple):
    """Windows of each passage of a question, and a note of what is not read as it stands."""

    windows: list[list[Window]]
    note: str


@dataclass(frozen=True, eq=False)
class WindowTokenizer:
    """Turns texts into windows; a control token in a text is text like any other.

    Args:
        tokenizer: Neither pads nor truncates.
        marks: Its control tokens.
        layout: Sizes of windows.
    """

    tokenizer: Tokenizer
    marks: Marks
    layout: Layout = Layout()

    @classmethod
    def read(cls, file: str | Path, layout: Layout | None = None) -> Self:
        """The tokenizer of a ``tokenizer.json``; any exception where it is none.

        Raises:
            ModelError: If it puts no control tokens around a text.
        """
        state = Path(file).stat()
        tokenizer = _read(str(file), state.st_mtime_ns, state.st_size)
        around = tokenizer.encode("").ids
        colon = tokenizer.encode(":", add_special_tokens=False).ids
        if len(around) != 2 or not colon:
            raise ModelError("the tokenizer must put one control token before a text and one after")
        marks = Marks(around[0], around[1], colon[-1], tuple(tokenizer.encode("", "").ids[2:-1]))
        return cls(tokenizer, marks, layout or Layout())

    def count(self, texts: Texts) -> list[int]:
        """Tokens of each text as generators cut them, nothing added; not too few."""
        parted = [familiar(safe(text)) for text in texts]
        encoded = self._encoded([" ".join(text.split()) for text, _ in parted])
        return [len(one) + more for one, (_, more) in zip(encoded, parted, strict=True)]

    def lay(self, question: str, passages: Passages, *, in_parts: bool = False) -> QuestionWindows:
        """Windows of each passage; none of one without a token in its sentences.

        Args:
            question: Of one that is too long the first tokens are read.
            passages: Each is read by itself.
            in_parts: Read a question that is too long in parts instead, each passage once a part;
                see `ragsieve.models.query_focus`.
        """
        flat = [question, *(text for title, some in passages for text in (title, *some))]
        rows = (encoding.ids for encoding in self._encoded([*map(safe, flat)]))
        ids = next(rows)
        asked = [(0, min(len(ids), self.layout.question))]
        if in_parts and len(ids) > self.layout.question:
            encoding = self.tokenizer.encode(safe(question), add_special_tokens=False)
            asked = parts(question, [end for _, end in encoding.offsets], self.layout.question)
        read = [(next(rows), [*islice(rows, len(some))]) for _, some in passages]
        windows = [
            [self.layout.windows(ids[a:b], *one, self.marks) for a, b in asked] for one in read
        ]
        note = self._note(asked, len(ids), read, windows)
        return QuestionWindows([[*chain(*some)] for some in windows], note)

    def _encoded(self, texts: Texts) -> Iterator[Encoding]:
        """Encodings, some at a time: those of megabytes take memory, and all cores."""
        for first in range(0, len(texts), _AT_ONCE):
            check_wanted()
            some = texts[first : first + _AT_ONCE]
            yield from self.tokenizer.encode_batch_fast(some, add_special_tokens=False)

    def _note(
        self,
        asked: Sequence[Span],
        length: int,
        read: Sequence[tuple[_Ids, Sequence[_Ids]]],
        windows: Sequence[Sequence[list[Window]]],
    ) -> str:
        layout, notes = self.layout, []
        if length > layout.question:
            tokens = len({*chain(*(range(*part) for part in asked))})
            told = f"{tokens} of its {length} are read, in {counted(len(asked), 'part')}"
            told = "only these count" if asked == [(0, layout.question)] else told
            notes.append(f"the question has over {layout.question} tokens: {told}")
        if long := sum(len(title) > layout.title for title, _ in read):
            notes.append(f"titles with over {layout.title} tokens, cut there: {long}")
        spans = (Counter(s.sentence for one in some[0] for s in one.spans) for some in windows)
        if pieces := sum(often > 1 for some in spans for often in some.values()):
            notes.append(f"sentences longer than a window, read in pieces: {pieces}")
        return "; ".join(notes)


@lru_cache(maxsize=4)
def _read(file: str, _changed: int, _size: int) -> Tokenizer:
    """A tokenizer that all who read the same file share: it takes as long as ten passages."""
    tokenizer = read_tokenizer(file)
    tokenizer.encode_special_tokens = True
    return tokenizer


def _units(sentences: Sequence[_Ids], space: int) -> list[WindowSpan]:
    """Sentences in the text of all, those over ``space`` tokens in pieces of nearly one length."""
    units = []
    begin = 0
    for n, sentence in enumerate(sentences):
        length = len(sentence)
        pieces = -(-length // space)
        bounds = [begin + length * k // pieces for k in range(pieces + 1)] if pieces else []
        units += [WindowSpan(n, a, b) for a, b in pairwise(bounds)]
        begin += length
    return units


Reading = list[tuple[Window, Logits]]  # the windows of a passage with their logits


@dataclass(frozen=True)
class WindowPruner(Reopened, ABC):
    """A sentence pruner and a cross-encoder that reads each passage by itself, in windows.

    A passage counts as its best window does. Windows read lately are remembered, so that ranking
    and pruning a passage of one window costs one pass.
    """

    identity: ClassVar[Any]
    _known: LRU[tuple[int, bytes], Logits] = field(
        default_factory=lambda: LRU(REMEMBERED), init=False, repr=False, compare=False
    )

    @abstractmethod
    def _lay(self, question: str, passages: Passages) -> QuestionWindows:
        """Windows of a question's passages."""

    @abstractmethod
    def _run(self, windows: Sequence[Window]) -> Sequence[Logits]:
        """Logits of windows."""

    @abstractmethod
    def _shares(self, passage: Passage, reading: Reading) -> Sequence[float]:
        """The probability of each sentence of a passage."""

    def prune(self, questions: Texts, passages: Sequence[Passages]) -> list[Pruned]:
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

    def readings(self, questions: Texts, passages: Sequence[Passages]) -> list[list[Reading]]:
        """Readings of each item's passages; an item is charged for what it is first to read."""
        layouts = [self._lay(*item) for item in zip(questions, passages, strict=True)]
        windows = {w.key: w for one in layouts for some in one.windows for w in some}
        known = self._known.find(windows)
        unread = [key for key in windows if key not in known]
        if unread:
            known |= zip(unread, self._run([windows[key] for key in unread]), strict=True)
        left, usages = {*unread}, []
        for one in layouts:
            own = {w.key for some in one.windows for w in some}
            fresh = own & left
            left -= fresh
            tokens = sum(len(windows[key].ids) for key in fresh or own)
            cached = bool(own and not fresh)
            usages.append(Usage(self.identity, tokens, cached=cached, note=one.note))
        record_usage(usages)
        self._known.keep(known)
        return [[[(w, known[w.key]) for w in some] for some in one.windows] for one in layouts]


def passage_logit(reading: Reading) -> float:
    """The logit of a passage: of its best window."""
    return max((float(logits[0, 1]) for _, logits in reading), default=NOTHING)


def probabilities(logits: ArrayLike) -> NDArray[np.float64]:
    """The sigmoid of each logit, in [0, 1]; 0 of what has no token."""
    values = np.asarray(logits, np.float64)
    return np.where(values == NOTHING, 0.0, 1 / (1 + np.exp(-np.clip(values, -500, 500))))
