"""Windows for tokens that exceed a context, and the place of each token in its text."""

from __future__ import annotations

from collections.abc import Sequence

from ragsieve.models.base import Nats

Row = Sequence[int]


def windowed(prefix: Row, row: Row, context: int) -> list[tuple[Row, Row]]:
    """The tokens of ``row`` in parts, each with those before it that it is read behind.

    All in one part where it fits the context. Else a part has at most half a context, and the other
    half, at least, is what stands before it, as far as there is something.
    """
    if not row:
        return []
    if len(prefix) + len(row) <= context:
        return [(prefix, row)]
    tape = [*prefix[-context:], *row]
    half = max(1, context // 2)
    parts: list[tuple[Row, Row]] = []
    start = len(tape) - len(row)
    while start < len(tape):
        end = min(max(start + half, context), len(tape))
        parts.append((tape[max(0, end - context) : start], tape[start:end]))
        start = end
    return parts


def spanned(offsets: Sequence[tuple[int, int]], logs: Sequence[float], length: int) -> list[Nats]:
    """Tokens that follow one another and cover a text, with minus their log-probabilities.

    Args:
        offsets: Where each token lies, as a tokenizer says; white space between may be nobody's.
        logs: Their log-probabilities.
        length: Characters of the text.
    """
    spans: list[Nats] = []
    last = 0
    for (_, end), log in zip(offsets, logs, strict=True):
        nats = max(0.0, -log)
        if spans and end <= last:  # one more piece of a character
            start, _, before = spans[-1]
            spans[-1] = (start, last, before + nats)
        else:
            spans.append((last, max(end, last), nats))
            last = max(end, last)
    if spans and last < length:
        spans[-1] = (spans[-1][0], length, spans[-1][2])
    return spans
