"""How lines begin: who speaks, when, of which field. A form that comes again heads what follows.

No layout is known by name: a beginning is read as times, names, numbers and the marks between
them, and its form is what is left without their words.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragsieve.structure.tree import line_spans

_CHARS = 120  # of a beginning, at most
_TIME = (
    r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\b\.?)?(?:Z|[+-]\d\d:?\d\d)?"
)
_DATE = (
    r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|[A-Z][a-z]{2} \d{1,2}(?:, \d{4})?"
    r"|\d{1,2} [A-Z][a-z]{2})"
)
_NAME = (
    r"(?:@?[^\W\d_][\w.'’-]{0,30}(?: (?!\d+[-/:.]\d)[\w.'’&#-]{1,30}){0,3}"
    r"(?: \([^()\n:\d]{1,30}\))?"
    r"|\+\d[\d ()-]{5,18}\d)"
)
_TOKEN = re.compile(
    rf"(?P<S>[\[(]?(?:{_DATE}[T,]? ?(?:at )?)?{_TIME}[\])]?(?!\w|[.:]\d)|\[ *\d+\.\d{{3,9}}s?\])"
    rf"|(?P<N><[@+]?[^\s<>/]{{1,110}}>|{_NAME})"
    r"|(?P<n>\d+)(?!\w)|(?P<m>[^\w\s]+)"
)
_GAP = re.compile(r"[ \t\r]*")
_WIDE = "：」】"
_ITEMS = tuple("-*+•#[")  # an item, a heading or a box to tick


class Beginning(NamedTuple):
    """A beginning of a line, of which it may have several.

    Args:
        form: Its marks, with ``S`` for a time, ``N`` for a name, ``0`` for a number and ``$`` for
            the end of its line.
        name: The name in it, empty without one.
        start: Its first character.
        end: One past it and the white space behind it.
    """

    form: str
    name: str
    start: int
    end: int


def beginnings(text: str, start: int = 0, end: int | None = None) -> Iterator[list[Beginning]]:
    """Of each line that is not blank its beginnings, the shortest first; none of prose."""
    for first, last in line_spans(text, start, end):
        if begin := _GAP.match(text, first, last):
            yield [*_of_line(text, begin.end(), last)]


def _of_line(text: str, start: int, last: int) -> Iterator[Beginning]:
    form = name = ""
    at = start
    while at < last and at - start <= _CHARS:
        token = _TOKEN.match(text, at, last)
        if not token or (token.lastgroup == "N" and name):
            return
        at = token.end()
        kind = token.lastgroup or "m"
        form += token[0][:1] if kind == "m" else "0" if kind == "n" else kind
        name = token[0] if kind == "N" else name
        gap = _GAP.match(text, at, last)
        stop = gap.end() if gap else at
        if form in _ITEMS and stop > at:
            return
        marked = kind in "Sm" or "<" in token[0]
        if marked and (kind == "S" or stop > at or stop == last or token[0][-1] in _WIDE):
            yield Beginning(form, name if kind != "S" else "", start, stop)
        if stop == last:
            yield Beginning(form + "$", name, start, last)
        at = stop
