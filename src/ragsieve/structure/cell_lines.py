"""Tables each of whose cells has a line of its own, as readers of Word files write them.

Nothing stands between their rows: which kinds of cells come again, and after how many, tells them.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from ragsieve.structure.columns import form, kind
from ragsieve.types import Span

ITEM = re.compile(r"\s*(?:[-*+•#>]|\(?\d{1,3}[.)]|\[.\])\s")
_LEAST = 4  # rows
_CELL = 60  # characters of a cell
_WIDEST = 12  # columns

_Run = tuple[int, int, int]  # first and last cell of its rows, and columns


def tables(spans: Sequence[Span], cells: Sequence[str]) -> Iterator[tuple[int, int, list[Span]]]:
    """Start, end of the header or start where there is none, and rows of each table among lines."""
    kinds = [*map(_kind, cells)]
    widths = range(2, min(_WIDEST, len(cells) // _LEAST) + 1)
    found = [[*_runs(kinds, width)] for width in widths]
    for first, after, width in max(found, key=covered, default=[]):
        above = range(first - width, first) if first >= width else range(0)
        headed = bool(above) and {kinds[n] for n in above} == {"a"}
        start = spans[above[0] if headed else first][0]
        rows = [(spans[n][0], spans[n + width - 1][1]) for n in range(first, after, width)]
        yield start, spans[first - 1][1] if headed else start, rows


def _kind(line: str) -> str:
    """``a`` of words, ``0`` of a number, its form of another with digits; empty of prose."""
    if len(line) > _CELL or line[-1] in ".:;,!?" or " --> " in line or ITEM.match(line):
        return ""  # nor is the time of a subtitle a cell
    if not any(map(str.isdigit, line)):
        return "a"
    return form(line) if kind(line) == "x" else "0"


def _runs(kinds: Sequence[str], width: int) -> Iterator[_Run]:
    """Rows of so many columns, of which not all are of one kind."""
    place = 0
    same = (a == b != "" for a, b in zip(kinds, kinds[width:], strict=False))
    for alike, run in groupby(same):
        number = len([*run])
        after, first = place + number + width, place + number % width  # a row ends with the last
        if alike and after - first >= _LEAST * width and len({*kinds[first : first + width]}) > 1:
            yield first, after, width
        place += number


def covered(runs: Sequence[tuple[int, ...]]) -> int:
    """Lines in runs, of which each begins with its first one and the one behind its last."""
    return sum(run[1] - run[0] for run in runs)
