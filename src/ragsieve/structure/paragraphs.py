"""What is said below who said it: its paragraphs, and the quotes in them."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ragsieve.structure.parts import parts
from ragsieve.structure.printed import OPTIONS, laid_out
from ragsieve.structure.tree import Node, leaf, line_spans, over, stripped

WHOLE = 300  # characters of a turn or a paragraph that is not cut
BLANK = re.compile(r"\n(?:[ \t\r]*\n)+")
_QUOTED = re.compile(r"^[ \t]*>", re.MULTILINE)
_QUOTES = re.compile(r"[ \t]*>[> \t]*")
_DEEPEST = 8  # quotes in each other that are told apart


def said(text: str, start: int, head: int, end: int, roots: Sequence[Node]) -> Node:
    """A turn or a field: what is said, by paragraphs where it is long, below who said it."""
    _, end = stripped(text, start, end)
    node = Node(start, min(head, end), end, end, mark="…", each=True)
    if end - start > WHOLE:
        inner = filled(text, node.head, end, roots)
        bare = len(inner) == 1 and inner[0].head == inner[0].start
        node.children = (bare and inner[0].children) or inner
        node.kind = inner[0].kind if inner else node.kind
        node.whole = WHOLE
    return node


def filled(text: str, start: int, end: int, roots: Sequence[Node]) -> list[Node]:
    """Paragraphs, and the regions among them."""
    found: list[Node] = []
    for at in range(bisect_left(roots, start, key=lambda root: root.start), len(roots)):
        if (root := roots[at]).end > end:
            break
        found += [*_paragraphs(text, start, root.start), root]
        start = root.end
    return [*found, *_paragraphs(text, start, end)]


def _paragraphs(text: str, start: int, end: int) -> Iterator[Node]:
    """Paragraphs by their sentences or lines; one that leads to the next goes with it."""
    if laid := laid_out(text, start, end):
        yield from laid
        return
    first = start
    for stop, begins in [*(blank.span() for blank in BLANK.finditer(text, start, end)), (end, end)]:
        piece = text[first:stop].rstrip()
        if piece.endswith((":", "：")) and stop - first <= WHOLE and begins < end:
            continue
        if piece:
            yield _paragraph(text, *stripped(text, first, stop))
        first = begins


def _paragraph(text: str, start: int, end: int) -> Node:
    if _QUOTED.search(text, start, end) and (quotes := _quoted(text, start, end)):
        return quotes[0] if len(quotes) == 1 else over(quotes, **OPTIONS)
    node = Node(start, start, end, end, **OPTIONS)
    head, body, _ = parts(text, start, end)
    if len(body) > 1:
        node.head = head[-1][1] if head else start
        node.children = [leaf(*span) for span in body]
        lines = "\n" in text[body[0][1] : body[1][0]]
        node.kind, node.whole = ("lines", WHOLE) if lines else ("inline", 0)
    return node


def _quoted(text: str, start: int, end: int) -> list[Node]:
    """Paragraphs of one depth of quotes, each with its mark, the deeper ones below who wrote them.

    Who did stands directly above them, on a line, with those that begin it, that ends with a colon.
    """
    found: list[Node] = []
    heads: list[tuple[int, Node]] = []  # of the line at hand, with their depths
    last, line, joins = 0, start, False
    for a, b in line_spans(text, start, end):
        quotes = _QUOTES.match(text, a, b)
        first = quotes.end() if quotes else a
        if not text[first:b].strip():
            joins = False
            continue
        depth = min(text.count(">", a, first), _DEEPEST)
        beside = heads[-1][1].children if heads else found
        if beside and depth > last and text[line : beside[-1].end].endswith((":", "：")):
            written = Node(line, beside[-1].end, b, b, **OPTIONS)
            whole = beside.pop()
            if whole.start < line:
                end = stripped(text, whole.start, line)[1]
                beside.append(Node(whole.start, whole.head, end, end))
            beside.append(written)
            heads.append((last, written))
        while heads and heads[-1][0] >= depth:
            heads.pop()
        beside = heads[-1][1].children if heads else found
        goes_on = joins and depth == last and beside
        if not goes_on:
            beside.append(Node(a, first, b, b, **OPTIONS))
        for one in (beside[-1], *(head for _, head in heads)):
            one.tail = one.end = b
        line = line if goes_on and text[first].islower() else a
        last, joins = depth, True
    return found
