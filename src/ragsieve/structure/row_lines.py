"""Lines of a text that may be rows: those of one row are joined."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragsieve.structure.tree import Node, line_spans, within
from ragsieve.types import Span

_SHOWN = 2000  # characters of a row that are looked at
_GAP = re.compile(r"^\s*$|\S(?:  +|\t)\S", re.MULTILINE)  # no cell, or several
_FULL = re.compile(r"(?:^[^\S\n]*+\S.*\n?)+", re.MULTILINE)
_HANGS = 12  # columns before the second line of a row, at least
_OPENS = re.compile(r'(?:^|[,;\t])"(?!"(?:[,;\t\r]|$))')
_CLOSES = re.compile(r'(?<!")(?:"")*+"(?=[,;\t\r]|$)')


class RowLine(NamedTuple):
    """A line, or those of one row."""

    start: int
    end: int  # without its line break
    text: str
    apart: bool  # whether a blank line stands above


def row_lines(text: str) -> Iterator[RowLine]:
    """Those that are not blank."""
    apart = False
    for start, end in line_spans(text):
        shown = text[start : min(end, start + _SHOWN)]
        if not (blank := not shown.strip()):
            yield RowLine(start, end, shown, apart)
        apart = blank


def line_runs(text: str, beside: Sequence[Node]) -> Iterator[list[Span]]:
    """Runs of lines without blank ones, and of these without those of nodes side by side."""
    for run in _FULL.finditer(text):
        if lines := [span for span in line_spans(text, *run.span()) if not within(beside, *span)]:
            yield lines


def records(text: str, lines: Sequence[RowLine]) -> Sequence[RowLine]:
    """Lines, those joined between which quotes are open, or with one that hangs below.

    As they are where a quote never closes.
    """
    joined: list[RowLine] = []
    opened, hangs = False, _hanging(lines)
    for line in lines:
        hung = joined and (margin(line) == hangs > 0 or _goes_on(joined[-1].text, line))
        if opened or hung:
            start = joined[-1].start
            shown = text[start : min(line.end, start + _SHOWN)]
            joined[-1] = joined[-1]._replace(end=line.end, text=shown)
        else:
            joined.append(line)
        opened = _open_after(line.text, opened)
    return lines if opened else joined


def _hanging(lines: Sequence[RowLine]) -> int:
    """Columns before second lines of rows, a third of all and far in; 0 where rows have none."""
    most, often = max(Counter(map(margin, lines)).items(), default=(0, 0))
    second = max(len(lines), 9) <= 3 * often <= 2.4 * len(lines)
    celled = any(_GAP.search(line.text) for line in lines if margin(line) < most)
    return most if second and celled and most >= _HANGS else 0


def _goes_on(row: str, line: RowLine) -> bool:
    """Whether a line has nothing but more of the last cell of the row above, from its column on."""
    first, at = row.partition("\n")[0], margin(line)
    last = first[at:] if first[max(0, at - 2) : at] == "  " else " "
    return bool(last.strip() == last.rstrip() and not _GAP.search(f"{last}\n{line.text.strip()}"))


def margin(line: RowLine) -> int:
    """Columns before its first character that is not white space."""
    return len(line.text) - len(line.text.lstrip())


def _open_after(line: str, opened: bool) -> bool:
    """Whether a cell between quotes goes on behind a line; inside others they are text."""
    at = 0
    while match := (_CLOSES if opened else _OPENS).search(line, at):
        opened, at = not opened, match.end()
    return opened
