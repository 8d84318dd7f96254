"""Windows of an encoder over a text whose spans are embedded: whole spans, as many as fit."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from ragsieve.types import Span


class SpanWindow(NamedTuple):
    """Tokens of a text that are read at once.

    Args:
        start: The first of them.
        end: One past the last.
        spans: Bounds of the spans' tokens, counted from ``start``.
    """

    start: int
    end: int
    spans: list[Span]


def windows_of(offsets: Sequence[Span], spans: Sequence[Span], limit: int) -> list[SpanWindow]:
    """Windows of at most ``limit`` tokens in which every span is read once, in the order given.

    The first begins with the text, where the first span then fits, so that a title is read.

    Args:
        offsets: Where each token stands in the text.
        spans: Of the text, by their starts.
        limit: Tokens of a window; at least 1.
    """
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    windows: list[SpanWindow] = []
    for first, last in spans:
        a = bisect_right(ends, first)
        b = max(a, bisect_left(starts, last))
        if windows and b - windows[-1].start <= limit:
            low, high, some = windows.pop()
        else:
            low, high, some = (a if windows or b > limit else 0), a, []
        end = min(max(high, b), low + limit)
        windows.append(SpanWindow(low, end, [*some, (a - low, b - low)]))
    return windows
