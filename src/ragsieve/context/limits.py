"""Limits of a text in tokens and characters, and what of a context fits into them."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

from ragsieve.context.choose import ranked_segments
from ragsieve.structure.notes import behind, companions
from ragsieve.types import Answer, Query, Segment, best_first

UNITS = ("tokens", "characters")
_TIMES = re.compile(r"^(?:\d+[ \r]*\n)?[\d:.,]+[ ]*-->[^\n]*\n?", re.MULTILINE)  # of a cue
_SIGNS = re.compile(r"""<[^<>]*>|[-=─]{3,}|[\s"'{}\[\],:+|│]+""")  # of JSON, pages and tables

Size = tuple[int, int]


class ReaderLike(Protocol):
    """Answers a question from kept segments, and knows what they cost it."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        """The answer from ``segments``, which may be none."""

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which this reader reads ``segments``; empty for none."""

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the reader's own tokenizer."""


class Limits(NamedTuple):
    """Limits of one text in tokens and characters, and the end of their names."""

    tokens: int | None
    chars: int | None = None
    suffix: str = ""

    @property
    def room(self) -> bool:
        """Whether anything can fit."""
        return self.tokens != 0 and self.chars != 0

    def sizes(self, texts: Sequence[str], reader: ReaderLike) -> list[Size]:
        """Tokens, 0 where they do not count, and characters of each text."""
        counts = [0] * len(texts) if self.tokens is None else reader.count(texts)
        return [*zip(counts, map(len, texts), strict=True)]

    def over(self, text: str, reader: ReaderLike) -> bool:
        """Whether a text is longer than one of them."""
        return self.broken(self.sizes([text], reader)[0]) is not None

    def broken(self, size: Size) -> int | None:
        """The place of the first limit that a size passes."""
        limits = zip(size, (self.tokens, self.chars), strict=True)
        return next((n for n, (a, b) in enumerate(limits) if b is not None and a > b), None)

    def named(self, place: int | None) -> tuple[int, str]:
        """The limit at a place, the first one where None: its place, and in words."""
        unit = place if place is not None else int(self.tokens is None)
        return unit, f"max_{('tokens', 'chars')[unit]}{self.suffix}={self[unit]}"


class Fitting:
    """Segments best first, and the lengths of some of them in a reader's context."""

    def __init__(
        self, segments: Sequence[Segment], limits: Limits, reader: ReaderLike, question: str
    ) -> None:
        self.limits, self.reader, self.question = limits, reader, question
        self.ranked = ranked_segments(question, best_first(segments))
        self.place = {s.key: (n, 0) for n, s in enumerate(segments)}
        sizes = limits.sizes([_least_of(s) for s in segments], reader)
        self.own = {s.key: size for s, size in zip(segments, sizes, strict=True)}

    def add(self, segment: Segment, parts: Sequence[Segment]) -> None:
        """Let parts of a segment stand where it stands."""
        place, _ = self.place[segment.key]
        self.place |= {part.key: (place, part.start) for part in parts}

    def with_notes(
        self, segment: Segment, ranked: Sequence[Segment], parts: Sequence[Segment]
    ) -> list[Segment]:
        """Ranked parts of a segment, each with the notes on it right behind it."""
        own, keys = segment.document.id, {part.key for part in ranked}
        beside = [s for s in self.ranked if s.document.id == own and s.key != segment.key]
        others = [*(part for part in parts if part.key not in keys), *beside]
        notes = companions(keys, [*ranked, *others])
        return behind([*ranked, *(s for s in others if s.key in notes)])

    def size(self, some: Iterable[Segment]) -> Size:
        """Tokens and characters of the context of some of them."""
        ordered = sorted(some, key=lambda s: self.place[s.key])
        text = self.reader.context(ordered) if ordered else ""
        return self.limits.sizes([text], self.reader)[0] if text else (0, 0)

    def fits(self, some: Iterable[Segment]) -> bool:
        """Whether that passes no limit."""
        return self.limits.broken(self.size(some)) is None

    def best(self) -> int:
        """How many of the best fit together, by their own lengths and in few trials."""
        sums = accumulate((self.own[s.key] for s in self.ranked), sum_of)
        return self.fitting(self.ranked[: sum(self.limits.broken(one) is None for one in sums)])

    def fitting(self, some: Sequence[Segment], beside: Sequence[Segment] = ()) -> int:
        """How many of the first of some fit together, beside others."""
        numbers = range(1, 1 + len(some))
        return bisect_left(numbers, True, key=lambda n: not self.fits([*beside, *some[:n]]))


def _least_of(segment: Segment) -> str:
    """What is shown of a segment at least: without what goes in a shorter layout."""
    layout = segment.document.layout
    text = _TIMES.sub("", segment.text) if layout.is_short else segment.text
    return _SIGNS.sub(" ", text) if layout.json_as == "paths" else text


def sum_of(one: Size, other: Size) -> Size:
    """Tokens and characters of two texts together."""
    return one[0] + other[0], one[1] + other[1]
