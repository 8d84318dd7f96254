"""What is left of spans without others."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from ragsieve.types import PLACE, Segment, Span, of_documents

_START, _END = itemgetter(0), itemgetter(1)


def gaps(start: int, end: int, spans: Iterable[Span]) -> Iterator[Span]:
    """What is left of a span without others, which are in order."""
    for first, last in (*spans, (end, end)):
        if start < min(first, end):
            yield start, min(first, end)
        start = max(start, last)


def left_out(
    before: Sequence[Segment], after: Sequence[Segment]
) -> Iterator[tuple[Segment, Segment]]:
    """Segments that went in, each with a part of it that is in none that came out.

    Of documents of which something came out, blank parts are no loss.
    """
    kept = {s.key for s in after}
    others = {} if kept <= {s.key for s in before} else of_documents(after)  # as of a splitter
    free: dict[str, list[Span]] = {}
    for name, some in others.items():
        free[name] = [*gaps(0, len(some[0].document.text), sorted(map(PLACE, some)))]
    for one in before:
        text, name = one.document.text, one.document.id
        if one.key not in kept and name not in others:
            yield one, one
        elif one.key not in kept and others[name][0].document.text == text:
            first = bisect_right(free[name], one.start, key=_END)
            last = bisect_left(free[name], one.end, key=_START)
            for start, end in free[name][first:last]:
                part = replace(one, start=max(start, one.start), end=min(end, one.end))
                if part.text.strip():
                    yield one, part
