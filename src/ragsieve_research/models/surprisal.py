"""Surprisals of texts: windows for tokens that exceed a context, and each token's place."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

from tokenizers import Encoding, Tokenizer

from ragsieve.models.base import Nats
from ragsieve.text import safe

Row = Sequence[int]


class ReadTexts(NamedTuple):
    """Texts as `LLM.surprisals` gives them, and the tokens of each with its prefix."""

    surprisals: list[list[Nats]]
    sizes: list[int]


def read_surprisals(
    tokenizer: Tokenizer,
    start: Row,
    prefixes: Sequence[Sequence[str]],
    texts: Sequence[str],
    context: int,
    read: Callable[[list[tuple[Row, Row]]], Sequence[Sequence[float]]],
) -> ReadTexts:
    """Surprisals of texts behind their prefixes.

    Args:
        tokenizer: Control tokens in a text are text like any other to it.
        start: What every prefix begins with.
        prefixes: See `LLM.surprisals`.
        texts: The same.
        context: Tokens that can be read at once.
        read: Log-probabilities of the second row of each pair behind the first, a number a token.
    """

    def encoded(some: Sequence[str]) -> list[Encoding]:
        return tokenizer.encode_batch([safe(text) for text in some], add_special_tokens=False)

    rows = [[*start, *chain(*(e.ids for e in encoded(pieces)))] for pieces in prefixes]
    wanted = encoded(texts)
    windows = [windowed(row, e.ids, context) for row, e in zip(rows, wanted, strict=True)]
    flat = [window for group in windows for window in group]
    parts = iter(read(flat) if flat else [])
    return ReadTexts(
        [
            spanned(encoding.offsets, [v for _ in group for v in next(parts)], len(text))
            for encoding, group, text in zip(wanted, windows, texts, strict=True)
        ],
        [len(row) + len(e.ids) for row, e in zip(rows, wanted, strict=True)],
    )


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
