"""Windows of a number of tokens, with overlap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import Protocol

from ragsieve.errors import InputError, check_range
from ragsieve.models.wrap import counts_by_request
from ragsieve.types import Query, Segment

PIECE = 8  # characters of a piece, where what has no white space is cut
TOKEN = 8  # characters a token; a text with more of them is not tried as one window
_SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff"
# Scripts without spaces are cut anywhere, but not before their punctuation and vowel signs.
_WORD = re.compile(rf"[{_SPACELESS}]{{1,{PIECE}}}[^\w\s]*|[^\s{_SPACELESS}]+")

Span = tuple[int, int]


class Counter(Protocol):
    """What knows a tokenizer: an `LLM`, a `Reader`."""

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text."""


@dataclass(frozen=True)
class _Words:
    """What is not cut, in order, and what it costs.

    Args:
        spans: Start and end in the text of each word.
        alone: Tokens of each word as the first of a window.
        until: Tokens of all before each word, and of all: ``(n_words + 1,)``; each counts with the
            white space before it, which is how tokenizers cut.
    """

    spans: Sequence[Span]
    alone: Sequence[float]
    until: Sequence[float]

    def windows(self, limit: int, overlap: int) -> Iterator[Span]:
        """First and last word of each window: at least one word, else at most ``limit`` tokens."""
        first = last = 0
        while True:
            budget = limit - self.alone[first] + self.until[first + 1]
            last = max(first, bisect_right(self.until, budget) - 2)
            yield first, last
            if last + 1 == len(self.spans):
                return
            start = last + 1
            while (
                overlap
                and start - 1 > first
                and self._tokens(start - 1, last) <= overlap
                and self._tokens(start - 1, last + 1) <= limit
            ):
                start -= 1
            first = start

    def spanned(self, windows: Iterable[Span]) -> list[Span]:
        """Start and end in the text of each window."""
        return [(self.spans[first][0], self.spans[last][1]) for first, last in windows]

    def _tokens(self, first: int, last: int) -> float:
        return self.alone[first] + self.until[last + 1] - self.until[first + 1]


@dataclass(frozen=True)
class Windows:
    """Split segments into windows of at most ``max_tokens`` tokens, cut at white space.

    Words longer than a window are cut inside, and so are scripts without spaces; only a single
    character of more than ``max_tokens`` tokens is a longer window. Windows neither begin nor end
    with white space, everything else is in at least one. What is only white space yields nothing.

    Args:
        counter: What counts tokens, such as the `LLM` or `Reader` that will read the windows.
        max_tokens: Tokens of a window; at least 1.
        overlap: Tokens at the end of a window with which the next one begins, in whole words as
            they count alone; not negative, below ``max_tokens``.

    Where each count is a request to a server, texts and windows are counted, and words take their
    share of it: windows are then a little shorter than they could be.

    Raises:
        InputError: If an option is out of its range.
        ModelError: If the counter fails.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2: chunks of 200 tokens, no overlap.
    """

    counter: Counter
    max_tokens: int = field(default=200, kw_only=True)
    overlap: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_range(self, max_tokens=(1, None))
        if not 0 <= self.overlap < self.max_tokens:
            raise InputError(
                f"overlap must lie in [0, max_tokens={self.max_tokens}), got {self.overlap!r}"
            )

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        texts = list(dict.fromkeys(text for s in segments if (text := s.text).strip()))
        short = [text for text in texts if len(text) <= TOKEN * self.max_tokens]
        tokens: dict[str, int] = {}
        self._count(tokens, (text.strip() for text in short))
        whole = [text for text in short if tokens[text.strip()] <= self.max_tokens]
        spans = {t: [(len(t) - len(t.lstrip()), len(t.rstrip()))] for t in whole}
        spans |= self._windows([text for text in texts if text not in spans])
        return [
            Segment(segment.document, segment.start + start, segment.start + end)
            for segment in segments
            for start, end in spans.get(segment.text, ())
        ]

    def _windows(self, texts: Sequence[str]) -> dict[str, list[Span]]:
        """Windows of each text, none over the limit: packed by words, then counted as they are.

        Where words have more tokens together than apart, the text is packed anew, less tightly.
        """
        words = self._estimated(texts) if counts_by_request(self.counter) else self._words(texts)
        spans: dict[str, list[Span]] = {}
        limits = dict.fromkeys(texts, self.max_tokens)
        step = 1
        while limits:
            tried = {t: [*words[t].windows(limit, self.overlap)] for t, limit in limits.items()}
            spans |= {t: words[t].spanned(windows) for t, windows in tried.items()}
            tokens: dict[str, int] = {}
            self._count(tokens, (text[slice(*span)] for text in tried for span in spans[text]))
            worst = {
                text: max(
                    tokens[text[slice(*span)]] if last > first else 0  # one word gets no shorter
                    for span, (first, last) in zip(spans[text], windows, strict=True)
                )
                for text, windows in tried.items()
            }
            limits = {
                text: min(limits[text] * self.max_tokens // most, limits[text] - step)
                for text, most in worst.items()
                if most > self.max_tokens
            }
            step *= 2  # so that a strange tokenizer is soon at one word a window
        return spans

    def _words(self, texts: Sequence[str]) -> dict[str, _Words]:
        """Words of at most ``max_tokens`` tokens, or of one character."""
        tokens: dict[str, int] = {}
        spans = {text: [match.span() for match in _WORD.finditer(text)] for text in texts}
        for size in (PIECE, 1):
            self._count(tokens, (t[slice(*span)] for t in texts for span in spans[t]))
            for text, whole in spans.items():
                if any(tokens[text[slice(*span)]] > self.max_tokens for span in whole):
                    spans[text] = [*self._pieces(text, whole, tokens, size)]
        alone = ((t[slice(*span)] for span in spans[t]) for t in texts)
        behind = (_behind(t, spans[t]) for t in texts)
        self._count(tokens, chain.from_iterable(chain(alone, behind)))
        return {
            text: _Words(
                whole,
                [max(1, tokens[text[slice(*span)]]) for span in whole],
                [*accumulate((max(1, tokens[word]) for word in _behind(text, whole)), initial=0)],
            )
            for text, whole in spans.items()
        }

    def _estimated(self, texts: Sequence[str]) -> dict[str, _Words]:
        """Words with their share of their text's tokens, by bytes: one count a text."""
        tokens: dict[str, int] = {}
        self._count(tokens, texts)
        size = max(1, self.max_tokens // 4)  # characters of four bytes, a token each at most
        words = {}
        for text in texts:
            spans = [match.span() for match in _WORD.finditer(text)]
            spans = [
                (at, min(at + size, end)) for start, end in spans for at in range(start, end, size)
            ]
            lengths = [len(w.encode("utf-8", "surrogatepass")) for w in _behind(text, spans)]
            share = tokens[text] / sum(lengths)
            sizes = [share * length for length in lengths]
            words[text] = _Words(spans, sizes, [*accumulate(sizes, initial=0)])
        return words

    def _pieces(
        self, text: str, spans: Iterable[Span], tokens: Mapping[str, int], size: int
    ) -> Iterator[Span]:
        """The spans, those over the limit cut into pieces of ``size`` characters."""
        for start, end in spans:
            if tokens[text[start:end]] > self.max_tokens:
                yield from ((at, min(at + size, end)) for at in range(start, end, size))
            else:
                yield start, end

    def _count(self, tokens: dict[str, int], texts: Iterable[str]) -> None:
        """Adds to ``tokens`` those of ``texts``, each different one counted once, in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in tokens]
        if new:
            tokens |= zip(new, self.counter.count(new), strict=True)


def _behind(text: str, spans: Sequence[Span]) -> Iterator[str]:
    """Each word with the white space before it, but for the first."""
    yield text[slice(*spans[0])]
    yield from (text[before:end] for (_, before), (_, end) in pairwise(spans))
