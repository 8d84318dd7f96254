"""Structured text: which units it has, and how what is kept of it is shown.

A text is read once, as trees of its JSON, configuration, tables, code and traces; what is none of
them is prose. `outline` finds them, `units.units` cuts them, `joined` puts kept spans together.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from ragsieve.structure import margins
from ragsieve.structure.elements import untagged
from ragsieve.structure.headings import between, has_heads, labelled, led, left_out
from ragsieve.structure.margins import Piece
from ragsieve.structure.render import Kept, shown
from ragsieve.structure.tree import ELEMENTS, TABLES, Node, merged, stripped, within
from ragsieve.types import PLACE, USUAL, Layout, Segment, Span, of_documents

READERS = ["tags", "components", "brackets", "indentation", "lines", "rows", "repeated", "printed"]
"""Readers of structure, each a file; `benchmarks/structure.py` says what each is worth."""
_REMEMBERED = ((50_000, 256), (1_000_000, 8), (20_000_000, 1))  # texts, by most characters
_SHORT = 2  # characters that lines have on average, at least, where they are of any format
_LONG = 300  # characters that lines of code and configuration have on average, at most
_LEADS = re.compile(r"<(?:dt|h[1-6])\b", re.IGNORECASE)
_MAY = ("\n", "{", "[", "|", "\t", "</")


class Outline(NamedTuple):
    """What a text was read as.

    Args:
        roots: Its structured regions in order, none inside another.
        faults: What has the form of a format and cannot be read as such, a short sentence each.
        parts: What is read apart, without the margins of its lines; none where no line has one.
    """

    roots: tuple[Node, ...] = ()
    faults: tuple[str, ...] = ()
    parts: tuple[Piece, ...] = ()


def outline(text: str, *, small: bool = False) -> tuple[Node, ...]:
    """The structured regions of a text in order, none inside another; small ones where asked."""
    return read(text, small=small).roots


def is_plain(text: str) -> bool:
    """Whether a text is one line of prose, in which no reader of structure finds anything."""
    return not any(map(text.__contains__, _MAY))


def read(text: str, *, small: bool = False) -> Outline:
    """The structured regions of a text, and what could not be read of it."""
    if is_plain(text) or text.count("\n") * _SHORT > len(text):
        return Outline()
    reading = next((reading for most, reading in _READING if len(text) <= most), _read)
    found = reading(text)
    large = (r for r in found.roots if r.kind not in ("table", "grid", "tags") or r.size > r.whole)
    return found if small else found._replace(roots=(*large,))  # a budget alone cuts small tables


def pieces(text: str) -> tuple[Piece, ...]:
    """The parts of a text that are read apart: see `ragsieve.structure.margins`."""
    return margined(text) or (Piece(text, 0),)


def margined(text: str) -> tuple[Piece, ...]:
    """The same where lines have margins; none where no line has one."""
    return read(text, small=True).parts


def parts_of(text: str, start: int, end: int) -> tuple[list[Span], list[Span], str]:
    """The parts of a span that lies in a tree, as a budget cuts it.

    Returns:
        What stands before the tree; the records, entries, rows or statements of the deepest node
        that holds the rest, with what stands before, between and behind them, none where that has
        no parts; and the node's kind, of a row that of its table. What heads a part that is alone
        is no part, but of printed lines.
    """
    part = margins.piece_at(pieces(text), start)
    if part.lines:
        heads, own, kind = parts_of(part.text, part.off(start), part.off(end))
        inner = [part.span(*one) for one in own]
        return [part.span(*one) for one in heads], inner if inner != [(start, end)] else [], kind
    inside = within(outline(text, small=True), start, end)
    if not inside or text[inside[0].end : end].strip():
        return [], [], ""
    node = inside[0]
    head = text[start : node.start].rstrip()
    first, last = max(start, node.start), min(end, node.end)
    kind, chain = node.kind, list[Node]()
    while len(inside) == 1:
        node = inside[0]
        chain.append(node)
        kind = node.kind if node.children or kind not in TABLES else kind
        inside = within([] if node.is_row else node.children, start, end)
    if kind in TABLES and not inside:  # a row, between what stands above and behind it
        row = max(first, node.start)
        above, own = _full(text, first, row), _full(text, row, max(row, min(last, node.end)), last)
        return _full(text, start, node.start), own if above or own[1:] else [], kind
    printed = not inside and all((one.kind, one.mark) == ("lines", "…") for one in chain[:-1])
    lines = _full(text, *(max(first, one.start) for one in chain if printed), last)
    if len(lines) > 2:  # any of them may answer
        return [], lines, kind
    if text[first : node.start].strip() and not inside:
        return _full(text, start, node.start), _full(text, node.start, last), kind
    if not inside and first < node.head < last:  # a turn or a cue, below who said it or when
        return _full(text, start, node.head), _full(text, node.head, last), kind
    apart = bool(inside) and kind == "lines" and inside[-1].sticky  # what was raised needs no frame
    begins = [first, *(child.start for child in inside[not apart :]), last]
    return _full(text, start, start + len(head)), _full(text, *begins) if inside else [], kind


def _full(text: str, *bounds: int) -> list[Span]:
    """What is not blank between bounds."""
    return [stripped(text, a, b) for a, b in pairwise(bounds) if text[a:b].strip()]


class Terse(Layout):
    """As usual, but that no mark says how much is left out, and of what names a part one field.

    A budget takes it where the best span does not fit with what usually stands around it.
    """

    is_short = True

    def of(self, mark: str) -> str:
        """A format's mark without its words, between quotation marks where these need them."""
        quoted = '"' * ('"' in mark) + self.mark + '"' * ('"' in mark)
        return f"{quoted}: {quoted}" if ":" in mark else quoted * bool(mark)


class Headless(Terse):
    """Kept spans alone, without the keys, headers, headings or fields that lead to them.

    Of a page without its tags. A budget takes it where the best span does not fit below them, of a
    text that `stands_alone`, or where else nothing would stay.
    """


def stands_alone(text: str, place: int) -> bool:
    """Whether what leads to a place of a text may go: it has heads, of no record or entry.

    Nor may it in a chat, a mail with quotes, below one of several terms or headings of a page.
    """
    roots = outline(text, small=True)
    pages = (root for root in roots if root.kind in ELEMENTS)
    if any(len(_LEADS.findall(text, page.start, page.end)) > 1 for page in pages):
        return False
    return all(_alone(text, root) for root in roots) and bool(roots or left_out(text, 0, place))


def _alone(text: str, node: Node) -> bool:
    marked = node.kind in ("lines", "tags", "items", "inline") and (node.each or node.sticky)
    if node.children and (node.kind, node.mark, node.whole) == ("lines", "…", 0):  # mail or chat
        marked = node.children[0].sticky and text.find("\n>", node.start, node.end) < 0
    rows = node.kind in ("table", "grid") and not node.each
    inside = all(_alone(text, child) for child in node.children)
    return rows or not node.children or (marked and inside)


def _regions(name: str, text: str, *more: Any) -> list[Node]:
    """What a reader finds; nothing where it is none of `READERS`."""
    if name not in READERS:
        return []
    return [*import_module(f"ragsieve.structure.{name}").regions(text, *more)]


def _read(text: str) -> Outline:
    parts = margins.pieces(text)
    if len(parts) > 1 or parts[0].lines:
        inside = [(part, read(part.text, small=True)) for part in parts]
        roots = (part.mapped(root) for part, own in inside for root in own.roots)
        return Outline((*roots,), (*(said for _, own in inside for said in own.faults),), parts)
    from ragsieve.structure.drawn import redrawn, undrawn  # of what is structured alone

    bare = undrawn(text)
    found = _read_undrawn(bare)
    return found if bare is text else found._replace(roots=(*redrawn(text, bare, found.roots),))


def _read_undrawn(text: str) -> Outline:
    from ragsieve.structure.brackets import ends_early
    from ragsieve.structure.printed import is_below

    faults: list[str] = []
    marked = [*_regions("tags", text, faults), *_regions("components", text)]
    if marked and marked[0].end - marked[0].start >= len(text.strip()):
        return Outline((marked[0],), (*faults,))
    found = _regions("brackets", text)
    short = len(text) <= _LONG * (text.count("\n") + 1)
    if short and (not found or text[: found[0].start].strip()):
        found = _regions("indentation", text, faults) or found
    found += marked
    if not found or found[-1].end < len(text.rstrip()):
        told = _regions("lines", text, faults)
        rows = _regions("rows", text, [] if told else faults)
        found += [*(one for one in rows if not is_below(text, one)), *told]
    apart: list[Node] = []
    for root in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or root.start >= apart[-1].end:
            apart.append(root)
    apart = _filled(apart, _regions("repeated", text, apart))
    apart = sorted([*apart, *_regions("printed", text, apart)], key=lambda one: one.start)
    if fault := ends_early(text, apart):
        faults.insert(0, fault)
    return Outline((*apart,), (*dict.fromkeys(faults),))


def _filled(roots: list[Node], said: Sequence[Node]) -> list[Node]:
    """Regions with mails and chats, which hold some of them and cut none."""
    for one in said:
        first = bisect_right(roots, one.start, key=lambda root: root.end)
        last = bisect_left(roots, one.end, key=lambda root: root.start)
        inside = roots[first:last]
        if not inside or (one.start <= inside[0].start and inside[-1].end <= one.end):
            roots[first:last] = [one]
    return roots


_READING = [(most, lru_cache(maxsize=texts)(_read)) for most, texts in _REMEMBERED]


def text_of(segments: Sequence[Segment]) -> str:
    """Kept spans of one document, at least one, as all readers show them: see `joined`."""
    document, spans = segments[0].document, [*map(PLACE, segments)]
    return _joined(document.text, spans, _layout(segments), document.title)[0]


def joined(text: str, spans: Sequence[Span], layout: Layout = USUAL, title: str = "") -> str:
    """Kept spans of a text as they are read: in their order, each under the heads it needs.

    The headings that lead to a span stand above it, the label of its line before it. Spans are
    joined by the white space that stood between them, by a blank line where one of them ends a
    line, and by `` … `` where text of the same paragraph, or the line that begins it, is left out.
    What is kept of JSON, configuration, a table or code is shown inside its keys, header or
    signature, brackets closed, with a mark that says how much is left out. ``layout`` may say
    otherwise. The first headings are left out if ``title`` says them.
    """
    return _joined(text, spans, layout, title)[0]


def _joined(text: str, spans: Sequence[Span], layout: Layout, title: str) -> tuple[str, Kept]:
    """The same, and what it has of rows in a shorter form."""
    kept = Kept(text, spans, layout)
    if layout.json_as == "closed" and [*spans] == [(0, len(text))] and not layout.compact:
        return kept.show(0, len(text)), kept
    bare = isinstance(layout, Headless)
    roots, _, apart = read(text, small=True)
    pages = [root for root in roots if root.kind in ELEMENTS] if bare else ()
    roots = () if bare else roots
    headed = not (bare or apart) and has_heads(text)
    if apart:  # its lines have margins
        kept = Kept(text, merged(spans, partial(margins.bare, apart, text)), layout)
        kept.numbers = lambda start, end: margins.piece_at(apart, start).said(start, end)
    if layout.compact or layout.is_short:
        kept.compact = import_module("ragsieve.structure.compact").compact
    begun: set[int] = set()
    out, last, told = "", -1, 0  # and where what is shown ends, which is before a region does
    for start, end, root in _parts(roots, spans):
        if not root or root.start not in begun:
            begin = root.start if root else start
            kept.stands += led(text, told, begin, title) if headed else ()
            known = len(kept.stands)
            if apart and not bare:
                out += margins.joint(apart, kept, last, begin)
            elif last >= 0:
                out += between(text, last, begin, layout.mark, told)
            elif headed:
                out = left_out(text, 0, begin, title) + labelled(text, begin, layout.mark)
            if said := untagged(text, start, end) if pages and within(pages, start, end) else []:
                kept.stands += said
                out += " ".join(text[a:b] for a, b in said)
            elif root:
                out += _over(text, root) + shown(text, root, kept)
            else:
                out += kept.show(start, end)
            begun |= {root.start} if root else set()
            told = max((stop for _, stop in kept.stands[known:]), default=told)
        last = root.end if root else end
        for one in _listed(layout, kept, start, end) if layout.lists else ():
            out += f"\n{layout.mark} {one}"
    return out, kept


def _over(text: str, root: Node) -> str:
    """The blanks before a table's header that stands further to the right than its rows."""
    if root.kind != "table" or not root.children:
        return ""
    margins = [place - text.rfind("\n", 0, place) for place in (root.start, root.children[0].start)]
    alone = not text[root.start + 1 - margins[0] : root.start].strip()
    return " " * (margins[0] - margins[1]) * alone


def verbatim(segments: Sequence[Segment]) -> list[Span]:
    """What the text of one document's kept spans has of it, with the heads that lead to them."""
    document, spans = segments[0].document, [*map(PLACE, segments)]
    kept = _joined(document.text, spans, _layout(segments), document.title)[1]
    found: list[Span] = []
    for start, end in sorted(kept.stands, key=lambda span: (span[0], -span[1])):
        start = max(start, found[-1][1] if found else 0)
        if document.text[start:end].strip():
            found.append((start, end))
    return [stripped(document.text, *span) for span in found]


def _layout(segments: Sequence[Segment]) -> Layout:
    """The layout of spans of one document, with the lists that one of them knows."""
    known = (s.document.layout for s in segments if s.document.layout.lists)
    return next(known, segments[0].document.layout)


def _listed(layout: Layout, kept: Kept, start: int, end: int) -> Iterator[str]:
    """What is said behind the last kept line of rows of which some are left out."""
    for one in layout.lists:
        last = one.rows[-1][1]
        if one.lines and end > one.rows[0][0] and start < last and not any(kept.within(end, last)):
            shown = kept.rows(one)
            if shown < len(one.rows):
                yield one.shown(shown)


def as_written(segment: Segment) -> Segment:
    """A segment of a document whose rows are not shown in a shorter form."""
    document = segment.document
    if not document.layout.compact:
        return segment
    layout = replace(document.layout, compact=False)
    return replace(segment, document=replace(document, layout=layout))


def partial_lists(kept: Sequence[Segment], before: Iterable[Segment]) -> Iterator[str]:
    """What is said of lists of rows of which only a part of what was asked for is kept."""
    own = of_documents(kept)
    for name, some in of_documents(before).items():
        document = some[0].document
        shown = Kept(document.text, map(PLACE, own.get(name, ())))
        for one in document.layout.lists:
            if (rows := shown.rows(one)) < one.asked:
                yield f"a list of document {name!r:.80} is not whole: {one.shown(rows)}"


def _parts(roots: Sequence[Node], spans: Iterable[Span]) -> Iterator[tuple[int, int, Node | None]]:
    """Spans as what lies in each region, and in none."""
    for start, end in spans:
        for root in within(roots, start, end) if roots else ():
            if start < root.start:
                yield start, root.start, None
            yield max(start, root.start), min(end, root.end), root
            start = root.end
        if start < end:
            yield start, end, None
