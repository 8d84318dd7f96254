"""Windows of a number of tokens, with overlap."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

from ragsieve.errors import InputError
from ragsieve.models.wrap import unwrap
from ragsieve.schema import Amount, Count, check_options
from ragsieve.types import Query, Segment, Span

PIECE = 8  # characters of a piece, where what has no white space is cut
_SPACELESS = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff"
# Scripts without spaces are cut anywhere, but not before their punctuation and vowel signs.
_WORD = re.compile(rf"[{_SPACELESS}]{{1,{PIECE}}}[^\w\s]*|[^\s{_SPACELESS}]+")


class Counter(Protocol):
    """An object that counts tokens: an `LLM`, a `Reader`."""

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text."""


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
            they count behind white space; not negative, below ``max_tokens``.

    Where each count is a request to a server, texts and windows are counted, and words take their
    share of it: windows are then a little shorter than they could be.

    Raises:
        InputError: If an option is out of its range.
        ModelError: If the counter fails.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.2: chunks of 200 tokens, no overlap.
    """

    counter: Counter
    max_tokens: Count = field(default=200, kw_only=True)
    overlap: Amount = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_options(self)
        if self.overlap >= self.max_tokens:
            raise InputError(
                f"overlap must lie in [0, max_tokens={self.max_tokens}), got {self.overlap!r}"
            )

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        texts = dict.fromkeys(text for s in segments if (text := s.text).strip())
        tokens = self._count(text.strip() for text in texts)
        totals = {text: tokens[text.strip()] for text in texts}
        spans = {t: [(len(t) - len(t.lstrip()), len(t.rstrip()))] for t in texts}
        spans |= self._windows({t: n for t, n in totals.items() if n > self.max_tokens})
        return [
            Segment(segment.document, segment.start + start, segment.start + end)
            for segment in segments
            for start, end in spans.get(segment.text, ())
        ]

    def _windows(self, totals: Mapping[str, int]) -> dict[str, list[Span]]:
        """Windows of each text, none over the limit: packed by words, then counted as they are.

        Where words have more tokens together than apart, the text is packed anew, less tightly.
        """
        words = {text: [match.span() for match in _WORD.finditer(text)] for text in totals}
        sizes = self._sizes(words, totals)
        if any(size > self.max_tokens for some in sizes.values() for size in some):
            words = {text: [*self._pieces(some, sizes[text])] for text, some in words.items()}
            sizes = self._sizes(words, totals)
        spans: dict[str, list[Span]] = {}
        limits, step = dict.fromkeys(totals, self.max_tokens), 1
        while limits:
            runs = {t: [*_packed(sizes[t], n, self.overlap)] for t, n in limits.items()}
            tried = {t: [(words[t][a][0], words[t][b][1]) for a, b in runs[t]] for t in runs}
            spans |= tried
            tokens = self._count(text[slice(*span)] for text in tried for span in tried[text])
            most = {
                text: max(  # one word gets no shorter
                    tokens[text[slice(*span)]] if last > first else 0
                    for span, (first, last) in zip(tried[text], runs[text], strict=True)
                )
                for text in tried
            }
            limits = {
                text: min(limits[text] * self.max_tokens // n, limits[text] - step)
                for text, n in most.items()
                if n > self.max_tokens
            }
            step *= 2  # so that a strange tokenizer is soon at one word a window
        return spans

    def _sizes(
        self, words: Mapping[str, Sequence[Span]], totals: Mapping[str, int]
    ) -> dict[str, list[float]]:
        """Tokens of each word of each text, with a white space before it, or their estimates."""
        read = {text: [_behind(text, *span) for span in spans] for text, spans in words.items()}
        if not counts_by_request(self.counter):
            tokens = self._count(word for some in read.values() for word in some)
            return {text: [tokens[word] for word in some] for text, some in read.items()}
        lengths = {
            text: [len(word.encode("utf-8", "surrogatepass")) for word in some]
            for text, some in read.items()
        }
        return {
            text: [totals[text] * length / sum(some) for length in some]
            for text, some in lengths.items()
        }

    def _pieces(self, words: Iterable[Span], sizes: Iterable[float]) -> Iterator[Span]:
        """The words, those over the limit cut; a piece has a token a byte at most."""
        length = max(1, self.max_tokens // 4)
        for (start, end), size in zip(words, sizes, strict=True):
            if size > self.max_tokens:
                yield from ((at, min(at + length, end)) for at in range(start, end, length))
            else:
                yield start, end

    def _count(self, texts: Iterable[str]) -> dict[str, int]:
        """Tokens of each different text, in one call."""
        different = list(dict.fromkeys(texts))
        tokens = self.counter.count(different) if different else []
        return dict(zip(different, tokens, strict=True))


def counts_by_request(counter: Any) -> bool:
    """Whether counting the tokens of a text is a request to a server."""
    return bool(getattr(unwrap(counter), "counts_by_request", False))


def _packed(sizes: Sequence[float], limit: float, overlap: int) -> Iterator[Span]:
    """First and last word of each window: at least one word, else at most ``limit`` tokens."""
    until = [0.0, *accumulate(sizes)]
    first = 0
    while True:
        last = max(first, bisect_right(until, until[first] + limit) - 2)
        yield first, last
        if last + 1 == len(sizes):
            return
        least = max(until[last + 1] - overlap, until[last + 2] - limit)  # room for another word
        first = min(max(first + 1, bisect_left(until, least)), last + 1)


def _behind(text: str, start: int, end: int) -> str:
    """A word with the white space just before it, which is how tokenizers cut."""
    return text[start - text[max(0, start - 1) : start].isspace() : end]
