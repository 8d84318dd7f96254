"""What a system left out of documents, page by page, for a model that asks for it."""

import hashlib
import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple

from ragsieve.context.limits import ReaderLike
from ragsieve.errors import InputError, one_line
from ragsieve.result import Result, Verdict
from ragsieve.score import BM25
from ragsieve.text import safe
from ragsieve.types import Query

PAGE = 8000
"""Tokens of a page, at most, where nobody says otherwise."""

ROOM = 1 << 23
"""Characters of documents whose results are remembered, at most."""

_NAMED = 20  # documents that an error names
_REASON = 200  # characters
_TOKEN = 16  # characters of a page for each token, at most


@dataclass(frozen=True)
class DroppedRun:
    """Adjacent spans of a document that were all left out, as one: its ``text[start:end]``.

    What a model must not be given is replaced, see `ragsieve.text.safe`. ``reason`` says why the
    best of these ``spans`` was left out.
    """

    document: str
    start: int
    end: int
    text: str
    spans: int
    reason: str


@dataclass(frozen=True)
class DroppedPage:
    """Runs of dropped spans; ``cursor`` asks for the next page, and is empty on the last one."""

    runs: list[DroppedRun]
    cursor: str


class DroppedSpan(NamedTuple):
    """A span that was left out.

    Args:
        run: The number of its run, from 0.
        start: Its first character that no span before it in the run has.
        end: One past its last character.
        verdict: The verdict on it.
    """

    run: int
    start: int
    end: int
    verdict: Verdict


def handle_of(*values: object) -> str:
    """The handle of a result, by all that it is made from: the same again gets the same handle.

    So a conversation that holds it reads the same each time, and whoever could guess a handle knows
    the texts already.
    """
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()[:12]


def room_of(result: Result | None) -> int:
    """Characters of a result's documents, by which results that are remembered are bounded."""
    return sum(len(document.text) for document in result.documents) if result else 0


def shown(
    handle: str,
    result: Result | None,
    reader: ReaderLike,
    max_tokens: int,
    *,
    query: str,
    cursor: str,
    document: str = "",
) -> DroppedPage:
    """A page of what was left out of the result of a handle: see `dropped_page`.

    Raises:
        InputError: As these, or if there is no such result.
    """
    if result is None:
        raise InputError(f"handle must be of a result that is remembered, got {handle!r:.80}")

    def tokens(page: DroppedPage) -> int:
        return reader.count([json.dumps(asdict(page), indent=2, ensure_ascii=False)])[0]

    return dropped_page(dropped_spans(result, document, query), cursor, max_tokens, tokens)


def dropped_spans(result: Result, document: str = "", query: str = "") -> list[DroppedSpan]:
    """The spans that were left out, run after run.

    Args:
        result: What a system made of documents.
        document: Only of the document with this id; of all, in their order, where empty.
        query: Only spans that share a word with it, runs with the best ones by BM25 first; all
            spans where blank.

    Raises:
        InputError: If there is no such document.
    """
    verdicts = _of_document(result, document)
    segments = [v.segment for v in verdicts if v.stage and v.segment.text]
    worth = {s.key: 1.0 for s in segments}
    if query.strip():
        worth = {s.key: s.score for s in BM25(titles=False)(Query(query), segments)}

    def place(verdict: Verdict) -> tuple[str, bool]:
        return verdict.segment.document.id, worth.get(verdict.segment.key, 0.0) > 0

    runs = [[*run] for (_, chosen), run in groupby(verdicts, place) if chosen]
    runs.sort(key=lambda run: -max(worth[v.segment.key] for v in run))
    spans = []
    for number, run in enumerate(runs):
        end = 0
        for verdict in run:
            if verdict.segment.end > end:  # else it lies in one before
                start = max(verdict.segment.start, end)
                end = verdict.segment.end
                spans.append(DroppedSpan(number, start, end, verdict))
    return spans


def dropped_page(
    spans: Sequence[DroppedSpan], cursor: str, max_tokens: int, tokens: Callable[[DroppedPage], int]
) -> DroppedPage:
    """As many of the spans, from a cursor on, as a page has room for.

    It ends within a span only where it has no room for a whole one.

    Args:
        spans: All of them, as `dropped_spans` gives them.
        cursor: That of the page before; empty for the first page.
        max_tokens: What the page has at most.
        tokens: What a page has.

    Raises:
        InputError: If the cursor is of no page of these spans, or there is no room for anything.
    """
    ends = [*accumulate(span.end - span.start for span in spans)]  # by characters of all spans
    if not ends:
        return DroppedPage([], "")
    if not re.fullmatch("[0-9]{0,12}", cursor, re.ASCII) or (at := int(cursor or 0)) >= ends[-1]:
        raise InputError(f"cursor must be that of a page before, got {cursor!r:.80}")
    most = at + _TOKEN * max_tokens
    whole = [end for end in ends if at < end <= most]
    within = range(at + 1, min(ends[bisect_right(ends, at)], most))
    for stops in (whole, within):
        count = bisect_right(stops, max_tokens, key=lambda end: tokens(_page(spans, ends, at, end)))
        if count:
            return _page(spans, ends, at, stops[count - 1])
    least = tokens(_page(spans, ends, at, at + 1))
    raise InputError(f"max_tokens must be at least {least} for this page, got {max_tokens}")


def _of_document(result: Result, document: str) -> list[Verdict]:
    """Verdicts on the spans of a document, or of all, one document after another."""
    verdicts = result.verdicts
    written = [v.segment.document.id for v in verdicts if v.segment.document.written_by]
    places = {name: n for n, name in enumerate([*(d.id for d in result.documents), *written])}
    if document and document not in places:
        more = f" … ({len(places)} in all)" if len(places) > _NAMED else ""
        known = ", ".join([*places][:_NAMED]) + more
        raise InputError(f"document must be one of {known}, got {document!r:.80}")
    chosen = [v for v in verdicts if document in ("", v.segment.document.id)]
    return sorted(chosen, key=lambda v: places.get(v.segment.document.id, len(places)))


def _page(spans: Sequence[DroppedSpan], ends: Sequence[int], at: int, end: int) -> DroppedPage:
    """The page of some of the characters of all spans, which end at ``ends``."""
    first, last = bisect_right(ends, at), bisect_left(ends, end)
    shown = [*spans[first : last + 1]]
    shown[0] = shown[0]._replace(start=shown[0].end - (ends[first] - at))
    shown[-1] = shown[-1]._replace(end=shown[-1].end - (ends[last] - end))
    rows = [_row([*run]) for _, run in groupby(shown, attrgetter("run"))]
    return DroppedPage(rows, str(end) if end < ends[-1] else "")


def _row(spans: Sequence[DroppedSpan]) -> DroppedRun:
    best = max(
        spans, key=lambda s: s.verdict.segment.score if s.verdict.segment.scores else -math.inf
    )
    document = best.verdict.segment.document
    start, end = spans[0].start, spans[-1].end
    text, reason = document.text[start:end], one_line(best.verdict.reason, _REASON)
    return DroppedRun(safe(document.id), start, end, safe(text), len(spans), safe(reason))
