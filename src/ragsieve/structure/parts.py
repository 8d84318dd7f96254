"""The parts by which a text without a tree is cut: steps, items, lines, sentences."""

import re
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from ragsieve.types import Span

_NUMBER = re.compile(r"[ \t]*\(?\d{1,3}[.)][ \t]")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣◦▪●·–]|\(?(?P<label>\d{1,3}|[A-Za-z]|[ivx]{2,4})[.)]"
    r"|\d{1,2}(?P<more>(?:\.\d{1,2}){1,4})\.?)[ \t]"  # a clause
)
_HEAD = re.compile(
    r" {0,3}#{1,6}[ \t]|\s*(?:\*\*|__).{1,200}(?:\*\*|__):?\s*$|.{1,200}[:：?？]\s*$"
)
_LABEL = re.compile(
    r"[ \t]*(?:\[\^[^\s\]]{1,30}\]:|\*\*[^*\n]{1,80}(?:[.:?!]\*\*|\*\*:))(?=[ \t]+\S)"
)  # of a footnote, of a paragraph
_DEFINES = re.compile(r"[ \t]*:[ \t]")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_LINE = re.compile(r"[^\n]+")
CLAUSE = re.compile(r"[,;:–—][ \n]")
_WORD = re.compile(r"[\u0e00-\u0eff\u3040-\u9fff]+?|[^\s\u0e00-\u0eff\u3040-\u9fff]+")
_STEP = 8  # words of a part of a sentence without clauses
_WIDEST = 200  # characters of a margin that are looked at


class Parts(NamedTuple):
    """The parts of a text, as spans, none of them blank.

    Args:
        head: What each of the others needs: headings, a lead-in, a label, the item or line that
            holds them.
        body: The rest, in order.
        ordered: ``steps`` or ``code`` where one part needs those before it; else empty.
    """

    head: list[Span]
    body: list[Span]
    ordered: str


def parts(text: str, start: int = 0, end: int | None = None) -> Parts:
    """The parts by which what stands there of a text may be cut; at least one is in the body."""
    from ragsieve.text import sentence_spans  # loads splitters of sentences

    end = len(text) if end is None else end
    lines = [*_lines(text, start, end)]
    shown = [text[slice(*line)] for line in lines]
    leads = [bool(_HEAD.match(line) or _DEFINES.match(below)) for line, below in pairwise(shown)]
    heads = [*leads, False].index(False)
    items = _items(text, lines)
    if len(items) < 2:
        begin = lines[heads][0] if lines else end
        label = _LABEL.match(text, begin, end)
        begin = label.end() if label else begin
        sentences = sentence_spans(text[begin:end], max_chars=end - begin + 1)
        if any(map(_FENCE.match, shown)):
            return Parts(lines[:heads], lines[heads:], "code")
        if len(lines) - heads <= 2 or 2 * len(sentences) >= len(lines) - heads:
            head = [*lines[:heads], *([label.span()] if label else [])]
            return Parts(head, [(begin + a, begin + b) for a, b in sentences], "")
        items = _levels(text, lines, heads)
    while _first_holds(items):
        items = items[1:]
        if _deepens(items):  # each is one
            items = [(n, 0) for n, _ in items]
    least = accumulate((margin for _, margin in items), min)
    outer = [n for (n, margin), low in zip(items, least, strict=True) if margin <= low + 1]
    spans = pairwise([*outer, len(lines)])
    steps = all(_NUMBER.match(shown[n]) for n, _ in items)
    body = [(lines[a][0], lines[b - 1][1]) for a, b in spans]
    return Parts(lines[: outer[0]], body, "steps" if steps else "")


def clauses(text: str, start: int, end: int) -> tuple[list[int], list[int]]:
    """Where clauses of a sentence begin, some words of one without; and where its words end."""
    words = [word.span() for word in _WORD.finditer(text, start, end)]
    begins = [start, *(match.end() for match in CLAUSE.finditer(text, start, end))]
    return begins if len(begins) > 1 else [a for a, _ in words[::_STEP]], [b for _, b in words]


def _levels(text: str, lines: Sequence[Span], heads: int) -> list[tuple[int, int]]:
    """Lines that are no sentences as items: deeper ones, and those below a head, lie inside it.

    A line like the last of the first ``heads`` is one of its own.
    """
    first = max(heads - 1, 0)
    mark = text[lines[first][0]]
    levels: list[tuple[int, int]] = []
    for n, (start, end) in enumerate(lines[first:], first):
        alike = (text[start] in "#*_") == (mark in "#*_") and _HEAD.match(text[start:end])
        levels.append((n, _margin(text, start, end) + (0 if n < heads or alike else 2)))
    return levels


def holds(text: str, start: int, end: int) -> bool:
    """Whether what stands there is one item of a list with others inside it."""
    return _first_holds(_items(text, [*_lines(text, start, end)]))


def is_entry(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a line and others, all of them further to the right."""
    return _first_holds([(0, _margin(text, *line)) for line in _lines(text, start, end)])


def _first_holds(items: Sequence[tuple[int, int]]) -> bool:
    return len(items) > 1 and min(margin for _, margin in items[1:]) > items[0][1] + 1


def _deepens(items: Sequence[tuple[int, int]]) -> bool:
    """Whether each lies in the one above: any of them may answer, and needs but the first."""
    return all(inner > margin + 1 for (_, margin), (_, inner) in pairwise(items))


def _items(text: str, lines: Sequence[Span]) -> list[tuple[int, int]]:
    """The items of a list: the place of the first line of each, and its margin in spaces.

    A clause lies inside that with fewer numbers; items of another kind below a colon in its item.
    """
    items: list[tuple[int, int]] = []
    lists: dict[str, int] = {}  # in which an item stands, by kind: how deep they are
    depth = 0
    for n, line in enumerate(lines):
        if item := _ITEM.match(text, *line):
            led = n > 0 and text[lines[n - 1][1] - 1] in ":："
            kind = "." if item["more"] else _kind(item["label"] or "", lists, led)
            depth = lists.get(kind, depth + (led and bool(lists)))
            depth = item["more"].count(".") if item["more"] else depth
            lists = {**{k: d for k, d in lists.items() if d < depth}, kind: depth}
            items.append((n, _margin(text, *line) + 2 * depth))
    return items


def _kind(label: str, lists: Container[str], led: bool) -> str:
    """Bullets, numbers, letters or, in a list of their own, Roman numbers."""
    if not label.isalpha():
        return "1" if label else ""
    return "i" if label.strip("ivx") == "" and (led or "i" in lists) else "a"


def _margin(text: str, start: int, end: int) -> int:
    """Columns before the first character of a line."""
    begin = max(text.rfind("\n", 0, start) + 1, start - _WIDEST)
    line = text[begin:end].expandtabs(4)
    return len(line) - len(line.lstrip())


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Lines that are not blank, without white space behind them."""
    for match in _LINE.finditer(text, start, end):
        if line := match[0].rstrip():
            yield match.start(), match.start() + len(line)
