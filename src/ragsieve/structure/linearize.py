"""Rows, records and entries as a scorer reads them, and what of a question each has for itself.

A model of sentences gives the rows of one table nearly the same score. It tells them apart where it
reads each cell behind its column's name; and a row that has none of the question's rarer words,
while others have, is seldom the one that is asked for.
"""

import html
import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ragsieve.structure import outline
from ragsieve.structure.columns import Divide, cells, columns, trimmed
from ragsieve.structure.elements import TAG
from ragsieve.structure.tree import JSON, Node, leaf, places, within
from ragsieve.types import Span

LEAST = 0.4  # share of its score that a row keeps which has none of the question's rarer words
_JSON_MARKS = re.compile(r'["{}\[\]]')
_NAME = re.compile(r"[\"'](?:\w*_)?(?:\w*Id|(?i:id|name|title|key|date))[\"']\s*:")
_FIELDS, _NAMED = 9, 80  # fields of a record that may name it, and characters of one that does
_FEW = 3  # rows that are compared, of which one in so many has a rare word
_ROW = 2000  # characters of a row that is read whole with each part of it
_SEEN = 50  # rows that tell what divides all
_CELL = re.compile(r"<t[hd]\b[^>]*>(.*?)(?=<t[hd]\b|</tr|\Z)", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:[._-]+[^\W_]+)*")
_PART = re.compile(r"[^\W_]+")
_KIND = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,}+(?=\d)|(?<=[^\W\d_]{3})\d+")  # a word and its number
_NUMBERED = re.compile(r"(?<![^\W\d_])([^\W\d_]++)[ -](\d+)\b")  # an identifier, typed in two words
_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z][a-z])")  # between the words of a name
_COMMON = """
a about an and any are at be been between by can could did do does for from get give had has have
how i if in into is it its list me many more most much my name no not of on or our please show
should tell than that the their them there these they this those to up us use used was we were what
when where which who whom whose why will with would you your
"""
_STOP = frozenset(_COMMON.split())

_Columns = tuple[list[str], Divide]  # their names, and what divides a row so


def linearized(text: str, spans: Sequence[Span], *, small: bool = False) -> list[str]:
    """What is read for each span: rows of a table as ``column: value; …``, others verbatim.

    Of HTML it is the text without the tags, of JSON without brackets, quotes and indentation,
    behind the fields that name its records. What is small is read so where it is asked.
    """
    if not (roots := outline(text, small=small)):
        return [text[start:end] for start, end in spans]
    headed = (one for one in _apart(roots) if one.head > one.start)
    tables = [one for one in headed if one.kind in ("table", "grid")]
    columns = [_named(text, root) for root in tables]
    pages, values = ([r for r in roots if r.kind in kinds] for kinds in (("tags", "grid"), JSON))
    said = []
    for span in spans:
        one = _linearized(text, span, tables, columns)
        if within(pages, *span):
            one = " ".join(html.unescape(TAG.sub(" ", one)).split()) or one
        elif within(values, *span):
            named = (_names(text, values, span) + one).replace(r"\n", " ")
            one = " ".join(_JSON_MARKS.sub("", named).split()).strip(" ,") or one
        said.append(one)
    return said


def _apart(nodes: Iterable[Node]) -> Iterator[Node]:
    """Trees whose parts are compared: of a page its tables and lists."""
    for node in nodes:
        if node.kind in ("tags", "inline", "cells"):
            yield from _apart(node.children)
        else:
            yield node


def _names(text: str, nodes: Sequence[Node], span: Span) -> str:
    """The last of the fields that name it, before a span, of each record in which it stands."""
    names = ""
    while len(inside := within(nodes, *span)) == 1 and inside[0].start < span[0]:
        nodes = inside[0].children
        fields = (text[one.start : one.end] for one in nodes[:_FIELDS] if one.end <= span[0])
        names += next((f"{f}, " for f in [*fields][::-1] if _NAME.match(f) and len(f) < _NAMED), "")
    return names


def _linearized(
    text: str, span: Span, tables: Sequence[Node], columns: Sequence[_Columns | None]
) -> str:
    start, end = span
    place = bisect_right(tables, start, key=lambda one: one.end)
    root = tables[place] if place < len(tables) and tables[place].head < end else None
    if not root or end > root.end or not (named := columns[place]):
        return text[start:end]
    rows = [
        _row(text[row_begin(text, row.start) : row.end], *named)
        if row.size <= _ROW or (start <= row.start and row.end <= end)
        else text[max(start, row.start) : min(row.end, end)]
        for row in _rows(root, span)
    ]
    return "\n".join([text[start : root.start], *rows]).strip() or text[start:end]


def row_begin(text: str, start: int) -> int:
    """Where a row begins, with the white space of blank cells."""
    begin = max(text.rfind("\n", 0, start) + 1, start - _ROW)
    return start if text[begin:start].strip() else begin


def _rows(node: Node, span: Span) -> Iterator[Node]:
    """Rows of a table in a span, each behind those that head it."""
    for child in within(node.children, *span):
        whole = child.kind == "group" and span[0] <= child.start and child.end <= span[1]
        if child.children and child.kind != "cells" and not whole:
            yield leaf(child.start, child.head)
            yield from _rows(child, span)
        else:
            yield child


def columns_of(text: str, root: Node) -> tuple[list[Span], Divide] | None:
    """Where the head of a table names its columns, and what divides a row; None without names."""
    begin = row_begin(text, root.start)
    head = text[begin : root.head]
    place = head.lower().rfind("<tr")
    if root.kind == "table":
        rows = root.children[:_SEEN]
        ends = (row.head if row.children else row.end for row in rows)  # of a group its first row
        some = zip((row_begin(text, row.start) for row in rows), ends, strict=True)
        found = columns(head, [text[a:b] for a, b in some])
    else:
        spans = [(place + a, place + b) for a, b in in_tags(head[place:])]
        found = (spans, in_tags) if place >= 0 else None
    return ([(begin + a, begin + b) for a, b in found[0]], found[1]) if found else None


def _named(text: str, root: Node) -> _Columns | None:
    found = columns_of(text, root)
    return ([_plain(cell) for cell in cells(text, found[0])], found[1]) if found else None


def in_tags(row: str) -> list[Span]:
    """Cells of a row of HTML, with the tags inside them."""
    return [trimmed(row, *match.span(1)) for match in _CELL.finditer(row)]


def _row(row: str, names: Sequence[str], divide: Divide) -> str:
    values = [_plain(cell) for cell in cells(row, divide(row))]
    wrapped = "\n" in row.strip() and not row.startswith("<")  # a row of several lines
    if wrapped and 0 < len(names) < len(values) and len(values) % len(names) == 0:
        values = [" ".join(values[n :: len(names)]).strip() for n in range(len(names))]
    spanned = len(values) < len(names) and row.startswith("<")  # below a cell of another row
    if spanned or len(values) > len(names) or len(values) < 2:
        return row
    return "; ".join(f"{name}: {value}" for name, value in zip(names, values, strict=False))


def _plain(cell: str) -> str:
    return (TAG.sub("", cell) if "<" in cell else cell).strip().replace('""', '"')


def shares(question: str, text: str, spans: Sequence[Span], *, small: bool = False) -> list[float]:
    """How much of the question's rarer words each span has, beside the best of its kind; in [0, 1].

    A span is compared with others of one table, list of records or file of entries, of which there
    are three at least; it has the words of the keys that lead to it. All others get 1.
    """
    values = [1.0] * len(spans)
    if not (roots := outline(text, small=small)):
        return values
    asked = content_words(question)

    @cache
    def shared(start: int, end: int) -> set[str]:
        return asked & words(text[start:end])

    for root in _apart(roots):
        units = places(spans, root.start, root.end)
        if (root.each and root.kind not in ("table", "xml")) or len(units) < _FEW:  # code, lists
            continue
        found = [{word for a, b in _said(root, spans[n]) for word in shared(a, b)} for n in units]
        often = Counter(word for some in found for word in some)
        weights = [math.fsum(math.log(len(units) / often[word]) for word in x) for x in found]
        best = max(weights)
        if best >= math.log(_FEW):
            for n, weight in zip(units, weights, strict=True):
                values[n] = weight / best
    return values


def content_words(question: str) -> set[str]:
    """The words of a question but for those that any question may have."""
    return words(question) - _STOP


def words(text: str) -> set[str]:
    """Words in small letters, names with dots, dashes, capitals or numbers whole and in parts."""
    text = unicodedata.normalize("NFC", text)
    text = f"{text} {_HUMP.sub(' ', text)}".lower() if _HUMP.search(text) else text.lower()
    names = {*_WORD.findall(text), *map("".join, _NUMBERED.findall(text))}
    return names.union(*(part.findall(name) for name in names for part in (_PART, _KIND)))


def _said(node: Node, span: Span) -> Iterator[Span]:
    """What a span has of a tree, and the heads above it."""
    start, end = span
    if not node.children or (start <= node.start and node.end <= end):
        yield max(start, node.start), min(end, node.end)
        return
    yield node.start, node.head
    for child in within(node.children, *span):
        yield from _said(child, span)
