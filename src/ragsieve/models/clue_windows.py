"""How a clue reader lays a question and its passages out in windows of a model.

A window is ``[CLS] question [SEP] title : sentence … [SEP] title : sentence … [SEP]``: as many
whole passages as fit, in order. A passage that fits no window goes in several, its title in front
of each. There a window begins with the last sentences of the one before, so that a sentence at the
edge has context; it counts in the window in which the shorter of its two sides has more tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tokenizers import Tokenizer

from ragsieve.models.base import Passage

Tokens = Sequence[int]


class Span(NamedTuple):
    """Where a sentence counts: its place among all of the question's, and its tokens' bounds."""

    sentence: int
    start: int
    end: int


@dataclass
class Window:
    """Token ids, tokens of the question behind the first, and the sentences that count here."""

    ids: list[int]
    question: int
    spans: list[Span] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """Sizes of windows and their parts, all in tokens.

    Args:
        size: Of a window; more only where a question and one sentence with its title are longer.
        question: Of a question; the rest is cut off, as below.
        title: Of a title.
        sentence: Of a sentence.
        overlap: Of what two windows of one passage share, at most.
    """

    size: int
    question: int
    title: int
    sentence: int
    overlap: int

    @property
    def longest(self) -> int:
        """Tokens that a window may have."""
        return max(self.size, self.question + self.title + self.sentence + 4)

    def windows(
        self,
        question: Tokens,
        passages: Sequence[tuple[Tokens, Sequence[Tokens]]],
        marks: tuple[int, int, int],
    ) -> list[Window]:
        """Windows in which every sentence counts once.

        Args:
            question: Its token ids.
            passages: Token ids of titles and sentences.
            marks: Token ids of ``[CLS]``, ``[SEP]`` and the colon.
        """
        cls, sep, colon = marks
        head = [cls, *question[: self.question], sep]
        made = [Window(list(head), len(head) - 2)]
        first = 0
        for title, texts in passages:
            sentences = [text[: self.sentence] for text in texts]
            front = [*title[: self.title], colon] if title else []
            lengths = [len(sentence) for sentence in sentences]
            whole = len(front) + sum(lengths) + 1
            fits = len(made[-1].ids) + whole <= self.size
            room = self.size - len(head) - len(front) - 1
            pieces = [range(len(lengths))] if fits else _pieces(lengths, room, self.overlap)
            counting = _counting(pieces, lengths)
            for place, piece in enumerate(pieces if lengths else []):
                if not fits and len(made[-1].ids) > len(head):
                    made.append(Window(list(head), len(head) - 2))
                window = made[-1]
                window.ids += front
                for n in piece:
                    start = len(window.ids)
                    window.ids += sentences[n]
                    if counting[n] == place:
                        window.spans.append(Span(first + n, start, len(window.ids)))
                window.ids.append(sep)
            first += len(lengths)
        return [window for window in made if window.spans]


class Read(NamedTuple):
    """Token ids of a question, and of titles and sentences of its passages."""

    question: Tokens
    passages: Sequence[tuple[Tokens, Sequence[Tokens]]]


@dataclass(frozen=True, eq=False)
class Setter:
    """Sets texts as windows of an encoder.

    Args:
        tokenizer: The encoder's; a control token in a text must be text to it.
        cls: The token in front of a window.
        sep: The token behind question and passages.
        padding: The token that fills windows up.
    """

    tokenizer: Tokenizer
    cls: int
    sep: int
    padding: int

    def read(self, question: str, passages: Sequence[Passage]) -> Read:
        """All token ids, uncut."""
        flat = [question, *(text for title, some in passages for text in (title, *some))]
        asked, *rest = (e.ids for e in self.tokenizer.encode_batch(flat, add_special_tokens=False))
        rows = iter(rest)
        return Read(asked, [(next(rows), [next(rows) for _ in p.sentences]) for p in passages])

    def windows(self, read: Read, layout: Layout) -> list[Window]:
        """Windows in which every sentence counts once."""
        (colon, *_) = self.tokenizer.encode(":", add_special_tokens=False).ids
        return layout.windows(read.question, read.passages, (self.cls, self.sep, colon))


def _pieces(lengths: Sequence[int], room: int, overlap: int) -> list[range]:
    """Runs of sentences of at most ``room`` tokens; a sentence that is longer is one by itself."""
    pieces = []
    start = used = 0
    for n, length in enumerate(lengths):
        if n > start and used + length > room:
            pieces.append(range(start, n))
            back, before, used = n, start, 0
            while back > before + 1 and (more := used + lengths[back - 1]) <= overlap:
                if more + length > room:
                    break
                back, used = back - 1, more
            start = back
        used += length
    return [*pieces, range(start, len(lengths))]


def _counting(pieces: Sequence[range], lengths: Sequence[int]) -> dict[int, int]:
    """For each sentence the piece in which it has most context; the first of equal ones."""
    best: dict[int, tuple[tuple[int, int], int]] = {}
    for place, piece in enumerate(pieces):
        before, total = 0, sum(lengths[piece.start : piece.stop])
        for n in piece:
            after = total - before - lengths[n]
            context = (min(before, after), before + after)
            if n not in best or context > best[n][0]:
                best[n] = (context, place)
            before += lengths[n]
    return {n: place for n, (_, place) in best.items()}
