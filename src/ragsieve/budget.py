"""What a budget of tokens keeps: the best segments that fit, the best of all cut where it must be.

A table is cut into rows, which need its header; steps from the last one; lists, records and prose
into items, lines and sentences that share most with the question.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from ragsieve.trace import note, record_drop, warn
from ragsieve.types import Answer, Query, Segment, rounded

_TRIED = 3  # segments that do not fit which may be cut
_LEAST = 4  # words of the beginning of a sentence that is cut
_ALSO = 0.5  # share of the nearest part's value from which others are taken before other segments
_ROW = re.compile(r"\s*\|.*\|\s*$|[^|\n]+ \| [^|\n]+ \| |[^\t\n]*\t")
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*$")
_STEP = re.compile(r"[ \t]*\(?\d{1,3}[.)][ \t]")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪●·–]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]")
_HEAD = re.compile(r" {0,3}#{1,6}[ \t]|\s*(?:\*\*|__).{1,200}(?:\*\*|__):?\s*$|.{1,200}[:：]\s*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_WORDS = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]+?|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_CLAUSE = re.compile(r"[,;:–—][ \n]")

Span = tuple[int, int]
Key = tuple[str, int, int]


class ReaderLike(Protocol):
    """Answers a question from kept segments, and knows what they cost it."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        """The answer from ``segments``, which may be none."""

    def context(self, segments: Sequence[Segment], /) -> str:
        """The text in which this reader reads ``segments``; empty for none."""

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the reader's own tokenizer."""


def best_first(segments: Sequence[Segment]) -> list[Segment]:
    """Segments by falling `rounded` score, equal ones as given; unscored ones behind the scored."""
    return sorted(segments, key=lambda s: -rounded(s.score) if s.scores else math.inf)


class _Layout:
    """Segments best first, and the lengths of some of them in a reader's context."""

    def __init__(self, segments: Sequence[Segment], max_tokens: int, reader: ReaderLike) -> None:
        self.max_tokens, self.reader = max_tokens, reader
        self.ranked = list({s.key: s for s in best_first(segments)}.values())
        self.place = {s.key: (n, 0) for n, s in enumerate(segments)}

    def add(self, segment: Segment, parts: Sequence[Segment]) -> None:
        """Let parts of a segment stand where it stands."""
        place, _ = self.place[segment.key]
        self.place |= {part.key: (place, n) for n, part in enumerate(parts, 1)}

    def length(self, some: Iterable[Segment]) -> int:
        """Tokens of the context of some of them."""
        ordered = sorted(some, key=lambda s: self.place[s.key])
        return self.reader.count([self.reader.context(ordered)])[0] if ordered else 0

    def fits(self, some: Iterable[Segment]) -> bool:
        """Whether that is at most ``max_tokens``."""
        return self.length(some) <= self.max_tokens

    def best(self, own: Mapping[Key, int]) -> int:
        """How many of the best fit together, by their own lengths and in few trials."""
        sums = accumulate(own[s.key] for s in self.ranked)
        sizes = range(1, 1 + sum(total <= self.max_tokens for total in sums))
        return bisect_right(sizes, self.max_tokens, key=lambda n: self.length(self.ranked[:n]))


def fit(segments: Sequence[Segment], max_tokens: int, reader: ReaderLike) -> list[Segment]:
    """The best segments whose context, as ``reader`` reads it, is at most ``max_tokens`` long.

    Best first, each that still fits is kept; the order of ``segments`` stays. A warning in the
    trace says where the best one of all is not among them.
    """
    return fit_parts(segments, max_tokens, reader)[1]


def fit_parts(
    segments: Sequence[Segment], max_tokens: int, reader: ReaderLike, query: Query | None = None
) -> tuple[list[Segment], list[Segment]]:
    """`fit`; with a question the best segment that does not fit is cut by its parts.

    Returns:
        The segments, one of them in parts where it was cut, and those of them that are kept.
    """
    if not segments or reader.count([reader.context(segments)])[0] <= max_tokens:
        return list(segments), list(segments)
    segments = list({s.key: s for s in segments}.values())  # a span given twice counts once
    layout = _Layout(segments, max_tokens, reader)
    counts = reader.count([s.text for s in segments])
    own = {s.key: n for s, n in zip(segments, counts, strict=True)}
    fitting = layout.best(own)
    kept = {s.key: s for s in layout.ranked[:fitting]}  # as trying one by one would
    finer, ranked = segments, layout.ranked[fitting:]
    for segment in ranked[: _TRIED if max_tokens else 0]:
        if query is None:
            break
        parts, chosen = _cut(query, segment, layout, [*kept.values()])
        if chosen:
            finer = [t for s in segments for t in (parts if s is segment else [s])]
            ranked = [s for s in ranked if s is not segment]
            kept |= {s.key: s for s in chosen}
            note(f"{segment.key} does not fit: {len(chosen)} of its {len(parts)} parts are kept")
            break
    used = layout.length(kept.values())
    for segment in ranked:
        if used + own[segment.key] <= max_tokens:  # else do not even try it
            trial = layout.length([*kept.values(), segment])
            if trial <= max_tokens:
                kept[segment.key] = segment
                used = trial
    for segment in finer:
        if segment.key not in kept:
            size = own.get(segment.key)
            reason = f"{size} tokens more than {used}" if size else "parts of what is too long"
            record_drop(segment, f"{reason} pass max_tokens={max_tokens}")
    best = layout.ranked[0]
    if max_tokens and best in finer and best.key not in kept:
        warn(f"the best segment, of {own[best.key]} tokens, is left out: {max_tokens} are too few")
    return finer, [s for s in finer if s.key in kept]


class Parts(NamedTuple):
    """The parts of a text, as spans, none of them blank.

    Args:
        head: What each of the others needs: headings, a lead-in, a table's header.
        body: The rest, in order.
        ordered: Whether one part needs those before it, as steps and code do.
    """

    head: list[Span]
    body: list[Span]
    ordered: bool


def parts(text: str) -> Parts:
    """The parts by which a long text may be cut; at least one is in the body."""
    from ragsieve.text import sentence_spans  # loads splitters of sentences

    lines = [*_lines(text)]
    shown = [text[slice(*line)] for line in lines]
    heads = 0
    while heads < len(lines) - 1 and _HEAD.match(shown[heads]):
        heads += 1
    rows = next((n for n in range(len(lines) - 1) if all(map(_ROW.match, shown[n : n + 2]))), -1)
    if rows >= 0:
        ruled = rows + 2 < len(lines) and bool(_RULE.match(shown[rows + 1]))
        after = min(rows + 1 + ruled, len(lines) - 1)
        return Parts(lines[:after], lines[after:], False)
    items = [n for n, line in enumerate(shown) if _ITEM.match(line)]
    if len(items) > 1:
        begins = [*items, len(lines)]
        body = [(lines[a][0], lines[b - 1][1]) for a, b in pairwise(begins)]
        return Parts(lines[: items[0]], body, all(_STEP.match(shown[n]) for n in items))
    code = any(map(_FENCE.match, shown))
    begin = lines[heads][0] if lines else 0
    sentences = sentence_spans(text[begin:], max_chars=len(text) + 1)
    if code or (len(lines) - heads > 2 and len(sentences) < (len(lines) - heads) / 2):
        return Parts(lines[:heads], lines[heads:], code)
    return Parts(lines[:heads], [(begin + a, begin + b) for a, b in sentences], False)


def _lines(text: str) -> Iterator[Span]:
    """Lines that are not blank, without white space behind them."""
    for match in re.finditer(r"[^\n]*\S", text):
        yield match.span()


def _cut(
    query: Query, segment: Segment, layout: _Layout, kept: list[Segment]
) -> tuple[list[Segment], list[Segment]]:
    """All parts of a segment in order, and those that fit beside others; none where none does."""
    head, body, ordered = parts(segment.text)
    heads, bodies = _inside(segment, head), _inside(segment, body)
    ranked = bodies if ordered else _nearest(query, bodies)
    layout.add(segment, [*heads, *bodies])
    for needed in (heads, [s for s in heads if not _RULE.match(s.text)]):
        chosen = list(needed)
        for one in ranked:
            if layout.fits([*kept, *chosen, one]):
                chosen.append(one)
            elif ordered:
                break
        if len(chosen) > len(needed):
            return [*heads, *bodies], chosen
    if kept or any(_ROW.match(s.text) for s in heads):  # a row says nothing without its header
        return [], []
    if not heads and len(bodies) < 2:
        return _shortened(segment, layout)
    inner, chosen = _cut(query, ranked[0], layout, kept)  # else it is cut itself
    return [t for s in (*heads, *bodies) for t in (inner if s is ranked[0] else [s])], chosen


def _inside(segment: Segment, spans: Iterable[Span]) -> list[Segment]:
    start = segment.start
    return [Segment(segment.document, start + a, start + b, segment.scores) for a, b in spans]


def _nearest(query: Query, some: Sequence[Segment]) -> list[Segment]:
    """The parts that share most with the question, best first; all in order where none shares."""
    from ragsieve.text import stemmed, words  # as above

    shared = [{*words(stemmed(s.text))} & {*words(stemmed(query.text))} for s in some]
    often = Counter(word for each in shared for word in each)
    values = [sum(math.log(1 + len(some) / often[word]) for word in each) for each in shared]
    least = _ALSO * max(values, default=0.0)
    ranked = sorted(zip(values, some, strict=True), key=lambda one: -one[0])
    return [one for value, one in ranked if value >= least]


def _shortened(segment: Segment, layout: _Layout) -> tuple[list[Segment], list[Segment]]:
    """The first words that fit, up to the end of a clause where half of them are before it."""
    ends = [match.end() for match in _WORDS.finditer(segment.text)]

    def begun(end: int) -> list[Segment]:
        text = segment.text
        first, rest = len(text[:end].rstrip()), end + len(text[end:]) - len(text[end:].lstrip())
        some = _inside(segment, [(0, first), (rest, len(text))])
        layout.add(segment, some)
        return some

    fitting = bisect_right(ends, layout.max_tokens, key=lambda end: layout.length(begun(end)[:1]))
    if fitting < _LEAST:
        return [], []
    end = ends[fitting - 1]
    clauses = [m.start() for m in _CLAUSE.finditer(segment.text, end // 2, end + 1)]
    some = begun(clauses[-1] if clauses and fitting < len(ends) else end)
    return some, some[:1]
