"""HTML and XML as a tree of elements: blocks, rows below their header, items below their lead-in.

What is shown of it has its tags opened and closed as in the source; elements that only divide a
page (``div``, ``body``) are left out with what is cut.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ragsieve.structure.elements import BLOCKS, DIVIDES, GROUPS, RAW, TAG, VOID, Element, Reader
from ragsieve.structure.tree import ALWAYS, ROWSPAN, Node, leaf, sections, stripped
from ragsieve.types import Span

SMALLEST = 300  # characters of a text with tags that is cut
_MARK = "<!-- … -->"
_SMALL = 160  # characters of neighbouring blocks that make one unit
_PARAGRAPH = 300  # characters of a paragraph that is not cut
_LIST = 1000  # characters of a list that is not cut
_ROW = 600  # characters of a row, or a record of XML, that is not cut
_BEGINS = re.compile(
    r"<(?:!doctype html|html|head|body|div|main|section|article|header|footer|nav|aside|table|ul|ol"
    r"|dl|h[1-6]|p|form|blockquote|pre|center)\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_XML = re.compile(
    r"\s*(?:<\?xml\b[^<>]*>\s*)?(?:<!(?!doctype html)[^<>]*>\s*)*<[A-Za-z]", re.IGNORECASE
)
_PLAIN = re.compile(
    r"(?:\s+(?:class|id|style|role|lang|dir|align|x?mlns|width|bgcolor|text|link|vlink|alink)"
    r"\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'>]+))*\s*/?"
)
_UNREAD = re.compile(r"(?:\s++|<!--.*?-->|<[!?][^-<>][^<>]*>)*", re.DOTALL)  # before a run
_TOLD = re.compile(r"\b(?:alt|content|value|title)\s*=\s*[\"']?[^\s\"'>]", re.IGNORECASE)
_LEVELS = 3  # of rows that one cell reaches into
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """What of a text is HTML, or all of it where it is XML; adds what is unread."""
    if "</" not in text and "/>" not in text:
        return
    if _XML.match(text) and not _BEGINS.match(text.lstrip()):
        reader = Reader(text, 0)
        if reader.stop == len(text.rstrip()) and reader.is_xml():
            yield from _nodes(text, reader)
            return
    fences = [match.start() for match in _FENCE.finditer(text)]
    pattern, at = _BEGINS, 0
    while match := pattern.search(text, at):
        start, at = match.start(), match.end()
        inside = bisect_left(fences, start) % 2
        if inside or text[start - 1 : start] == "`" or not TAG.match(text, start):
            continue
        reader = Reader(text, start)
        if reader.unclosed and not reader.is_page():
            pattern = _TABLE  # of what does not end; it is read once
            continue
        if reader.unclosed:
            what = "a table of HTML" if _TABLE.match(text, start) else "HTML"
            faults.append(f"{what} does not end: it is read to the end of the text")
        at = reader.stop
        if reader.has_some():
            yield from _nodes(text, reader)


def _nodes(text: str, reader: Reader) -> Iterator[Node]:
    """All as one tree."""
    xml = not _BEGINS.match(text, reader.root.start)
    children = _sections(text, _parts(text, reader.root))
    start, end = reader.root.start, reader.stop
    if len(children) == 1 and children[0].children and children[0].kind == "grid":
        yield children[0]
    elif any(child.children for child in children) or len(children) > 1:
        kind = "xml" if xml else "tags"
        yield Node(start, start, end, end, kind, SMALLEST, _MARK, _SMALL, True, False, children)


def _parts(text: str, one: Element) -> list[tuple[Node, int]]:
    """The blocks and runs of text in an element, of headings with their level."""
    found: list[tuple[Node, int]] = []
    inside = (place for part in one.parts for place in (part.start, part.end))
    bounds = [one.head, *inside, one.tail]
    mixed = any(text[a:b].strip() for a, b in zip(bounds[::2], bounds[1::2], strict=True))
    at = one.head
    for part in one.parts:
        if part.block and (part.name in BLOCKS or not mixed or part.parts):
            found += [(node, 0) for node in _run(text, at, part.start)]
            found += _element(text, part)
            at = part.end
    return [*found, *((node, 0) for node in _run(text, at, one.tail))]


def _run(text: str, start: int, end: int) -> Iterator[Node]:
    """Text with what is marked in it, by sentences where it is long."""
    skipped = _UNREAD.match(text, start, end)
    start = skipped.end() if skipped else start
    if not TAG.sub(_said, text[start:end]).strip():
        return
    _, end = stripped(text, start, end)
    parts = [*_sentences(text, start, end)] if end - start > _PARAGRAPH else []
    node = Node(start, start, end, end, "inline", _PARAGRAPH, "…", 0, True)
    node.children = [leaf(a, b) for a, b in parts] if len(parts) > 1 else []
    yield node


def _said(tag: re.Match[str]) -> str:
    """What a tag says by itself: pictures and fields by their attributes."""
    return "x" if tag[2] and _TOLD.search(tag[3]) else ""


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences that leave no element open."""
    from ragsieve.text import sentence_spans  # loads splitters of sentences

    shown = TAG.sub(lambda tag: " " * len(tag[0]), text[start:end])
    tags = [(t.start(), t.end(), _step(t)) for t in TAG.finditer(text, start, end)]
    begun, depth, place = start, 0, 0
    spans = [(start + a, start + b) for a, b in sentence_spans(shown, max_chars=end - start)]
    for (_, last), (following, _) in pairwise(spans):
        cut = -1
        while place < len(tags) and tags[place][0] < following:
            if depth == 0 and cut < 0 and tags[place][0] >= last:
                cut = tags[place][0]
            depth += tags[place][2]
            if depth == 0 and tags[place][0] >= last and tags[place][2] < 0:
                cut = tags[place][1]
            place += 1
        cut = last if cut < 0 and depth == 0 else cut
        if cut >= last:
            yield begun, stripped(text, begun, cut)[1]
            begun, _ = stripped(text, cut, following)
    yield begun, end


def _step(tag: re.Match[str]) -> int:
    void = not tag[2] or tag[2].lower() in VOID or (tag[3] or "").endswith("/")
    return 0 if void else -1 if tag[1] else 1


def _element(text: str, one: Element) -> list[tuple[Node, int]]:
    """The node of a block and its level as a heading; none where there is nothing to read."""
    if one.name in RAW or (not one.parts and one.name not in BLOCKS):
        return [(_leaf(one), 0)]
    if one.name == "table" and (table := _table(text, one)):
        return [(table, 0)]
    if one.name in ("ul", "ol", "dl", "menu") and len(one.parts) > 1:
        return [(_list(text, one), 0)]
    if one.name == "pre" and one.end - one.start > _PARAGRAPH:
        return [(_lines(text, one), 0)]
    parts = _parts(text, one)
    level = int(one.name[1]) if re.fullmatch("h[1-6]", one.name) else 0
    attributes = one.start + 1 + len(one.name), one.head - 1
    divides = one.name in DIVIDES and _PLAIN.fullmatch(text, *attributes)
    if not parts:
        return []
    if len(parts) == 1 and not parts[0][0].children:
        return [(_leaf(one), level or parts[0][1])]
    head, tail = (one.start, one.end) if divides else (one.head, one.tail)
    whole = _ROW if one.name not in BLOCKS else _SMALL
    node = Node(one.start, head, tail, one.end, "tags", whole, _MARK, _SMALL, True)
    node.children = _sections(text, parts)
    only = node.children[0] if len(parts) == 1 else None
    if only and only.kind == "inline":
        node.kind, node.whole, node.mark, node.children = "inline", _PARAGRAPH, "…", only.children
    elif only and divides and only.head == only.start and only.tail == only.end:
        node.children = only.children
    return [(node, level)]


def _leaf(one: Element) -> Node:
    return Node(one.start, one.head, one.tail, one.end)


def _sections(text: str, parts: Sequence[tuple[Node, int]]) -> list[Node]:
    """Headings with what follows them, and lists with the line that leads to them."""
    top: list[Node] = []
    open_: list[tuple[int, Node]] = []
    for node, level in parts:
        while level and open_ and open_[-1][0] >= level:
            open_.pop()
        beside = open_[-1][1].children if open_ else top
        leads = beside and not beside[-1].children and beside[-1].size <= _PARAGRAPH
        if node.kind in ("items", "grid") and leads:
            said = TAG.sub("", text[beside[-1].start : beside[-1].end])
            if said.rstrip().endswith((":", "：")):
                node.start = beside.pop().start
        if level and not node.children:
            node = leaf(node.start, node.end, kind="tags", whole=_SMALL, mark=_MARK)
            node.merge, node.each = _SMALL, True
            open_.append((level, node))
        beside.append(node)
        for _, section in open_:
            section.tail = section.end = max(section.end, node.end)
    return top


def _list(text: str, one: Element) -> Node:
    """Items; a term goes with its descriptions."""
    node = Node(one.start, one.head, one.tail, one.end, "items", _LIST, _MARK, ALWAYS, True)
    for part in one.parts:
        if part.name == "dd" and node.children:
            last = node.children[-1]
            last.head = last.tail = last.end = part.end
            last.children = []
        else:
            node.children += [child for child, _ in _element(text, part)]
    return node


def _lines(text: str, one: Element) -> Node:
    """Lines of preformatted text, in which no element stays open."""
    node = Node(one.start, one.head, one.tail, one.end, "lines", _PARAGRAPH, "…", _SMALL, True)
    tags = [(tag.start(), _step(tag)) for tag in TAG.finditer(text, one.head, one.tail)]
    depth, place, begun = 0, 0, one.head
    for line in re.finditer(r"\n|\Z", text[one.head : one.tail]):
        at = one.head + line.start()
        while place < len(tags) and tags[place][0] < at:
            depth += tags[place][1]
            place += 1
        if depth == 0:
            is_blank = not text[begun:at].strip()
            node.children += [] if is_blank else [leaf(*stripped(text, begun, at))]
            begun = at
    return node if begun >= one.tail or not text[begun : one.tail].strip() else _leaf(one)


def _table(text: str, one: Element) -> Node | None:
    """Rows below the header and the caption; None without any."""
    rows: list[tuple[Element, int]] = []  # with where a header ends that has it
    head = one.head
    for part in one.parts:
        if part.name in GROUPS:
            ends = part.end if part.name == "thead" else 0
            rows += [(row, ends) for row in part.parts if row.name == "tr"]
        elif part.name == "tr":
            rows.append((part, 0))
        elif not rows:
            head = part.end
    first = 0
    while first < min(3, len(rows) - 1) and (
        rows[first][1]
        or (_heads(text, rows[first][0]) and not (first and _wide(text, rows[first][0])))
    ):
        head = rows[first][1] or rows[first][0].end
        first += 1
    body = [row for row, _ in rows[first:]]
    if not body:
        return None
    mark = "<!-- … {} -->"
    node = Node(one.start, head, one.tail, one.end, "grid", SMALLEST, mark)
    node.children = sections([*_grouped(text, body, mark)], mark)
    return node


def _grouped(
    text: str, rows: Sequence[Element], mark: str, levels: int = _LEVELS
) -> Iterator[tuple[Node, bool]]:
    """Rows, those that its cells reach into as parts of a row, and whether it heads the next."""
    groups: list[tuple[int, list[Element]]] = []
    left = 0
    for row in rows:
        span = max([1, *(int(n) for _, n in ROWSPAN.findall(text, row.start, row.end))])
        groups += [] if left else [(span, [])]
        groups[-1][1].append(row)
        left = max(left, span) - 1
    for span, (row, *below) in groups:
        heads, end = not below and _heads(text, row), (below or [row])[-1].end
        node = leaf(row.start, end) if below or heads else _row(text, row)
        if 0 < len(below) < span and levels and not _TABLE.search(text, row.head, end):
            node.head, node.kind, node.mark = row.end, "group", mark
            node.children = [child for child, _ in _grouped(text, below, mark, levels - 1)]
        yield node, heads


def _heads(text: str, row: Element) -> bool:
    """Whether a row heads those below it: header cells alone, or one over several columns."""
    return _wide(text, row) or {cell.name for cell in row.parts} == {"th"}


def _wide(text: str, row: Element) -> bool:
    return len(row.parts) == 1 and "colspan" in text[row.start : row.parts[0].head].lower()


def _row(text: str, row: Element) -> Node:
    """A row whole, or by its cells where it is long."""
    node = Node(row.start, row.head, row.tail, row.end, "cells", _ROW)
    node.children = [cell for part in row.parts for cell, _ in _element(text, part)]
    shown = [c for c in node.children if c.head > c.start]
    return node if len(shown) == len(row.parts) > 1 else _leaf(row)
