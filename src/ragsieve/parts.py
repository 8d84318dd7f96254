"""The parts by which a text without a tree is cut: steps, items, lines, sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

ROW = re.compile(r"\s*\|.*\|\s*$|[^|\n]+ \| [^|\n]+ \| |[^\t\n]*\t")
RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*$")
_STEP = re.compile(r"[ \t]*\(?\d{1,3}[.)][ \t]")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪●·–]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]")
_HEAD = re.compile(r" {0,3}#{1,6}[ \t]|\s*(?:\*\*|__).{1,200}(?:\*\*|__):?\s*$|.{1,200}[:：]\s*$")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")

Span = tuple[int, int]


class Parts(NamedTuple):
    """The parts of a text, as spans, none of them blank.

    Args:
        head: What each of the others needs: headings, a lead-in.
        body: The rest, in order.
        ordered: ``steps`` or ``code`` where one part needs those before it; else empty.
    """

    head: list[Span]
    body: list[Span]
    ordered: str


def parts(text: str) -> Parts:
    """The parts by which a long text may be cut; at least one is in the body."""
    from ragsieve.text import sentence_spans  # loads splitters of sentences

    lines = [*_lines(text)]
    shown = [text[slice(*line)] for line in lines]
    heads = 0
    while heads < len(lines) - 1 and _HEAD.match(shown[heads]):
        heads += 1
    items = [n for n, line in enumerate(shown) if _ITEM.match(line)]
    if len(items) > 1:
        begins = [*items, len(lines)]
        body = [(lines[a][0], lines[b - 1][1]) for a, b in pairwise(begins)]
        steps = all(_STEP.match(shown[n]) for n in items)
        return Parts(lines[: items[0]], body, "steps" if steps else "")
    code = any(map(_FENCE.match, shown))
    begin = lines[heads][0] if lines else 0
    sentences = sentence_spans(text[begin:], max_chars=len(text) + 1)
    if code or (len(lines) - heads > 2 and len(sentences) < (len(lines) - heads) / 2):
        return Parts(lines[:heads], lines[heads:], "code" if code else "")
    return Parts(lines[:heads], [(begin + a, begin + b) for a, b in sentences], "")


def _lines(text: str) -> Iterator[Span]:
    """Lines that are not blank, without white space behind them."""
    for match in re.finditer(r"[^\n]+", text):
        if line := match[0].rstrip():
            yield match.start(), match.start() + len(line)
