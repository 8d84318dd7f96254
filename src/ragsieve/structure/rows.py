"""Tables: rows between pipes, tabs, commas, columns of spaces, below a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ragsieve.structure.tree import Node, grouped, leaf, line_spans

WHOLE = 300  # characters of a table that is not cut
_LEAST = 3  # rows, with the header
_MANY = 20  # rows of a text with so many cells each that can be no prose
_MARK = "… {}"
_SHOWN = 2000  # characters of a row that are looked at
_RULE = re.compile(r"[\s|+:=_─━│┼├┤╪═║-]+$")
_CAPTION = re.compile(r"\W{0,4}(?:Table|Figure|Listing|Example|Tab\.|Tabelle)\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-+(]?[€$£¥]?\s?\d[\d.,:/ %)-]*[€%]?$")
_CELLS = re.compile(r"[|\t,;]")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*"), re.compile(r"\d+")
_QUOTED = re.compile(r'"[^"]*+"')
_OPENS = re.compile(r'(?:^|[,;\t])"(?!"(?:[,;\t\r]|$))')
_CLOSES = re.compile(r'(?<!")(?:"")*+"(?=[,;\t\r]|$)')
_MISSING = frozenset(["", "-", "?", "n/a", "N/A", "NA", "null", "NULL", "None", "nan", "NaN"])
_LOG = re.compile(
    r"\W{0,2}\d[\d./-]{3,9}[T ]?[ ]{0,2}\d?\d:\d\d(?::\d\d)?.*[A-Za-z]{3} [A-Za-z]{2}"
)
_GAPS = re.compile(r"[ ]{2,}|\t+")


class _Line(NamedTuple):
    start: int
    end: int  # without its line break
    text: str


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The tables of a text; adds what is unread."""
    every = [*_lines(text)]
    if whole := _file(text, [line for line in every if line.text.strip()], faults):
        yield from whole
        _quotes(text, faults)
        return
    for full, lines in groupby(every, lambda line: bool(line.text.strip())):
        if full:
            yield from _paragraph(text, [*lines], faults)


def _file(text: str, lines: Sequence[_Line], faults: list[str]) -> list[Node]:
    """The text as one table of commas or tabs, though comments or blank lines divide its rows.

    One row, or a tenth of them, may have other cells.
    """
    for cells in (_tabs, _Commas(","), _Commas(";")):
        rows = [line for line in _records(text, lines) if not line.text.startswith("#")]
        first = cells(rows[0].text) if rows and lines[0].text == rows[0].text else 0
        counts = [cells(row.text) for row in rows]
        odd = len(counts) - counts.count(first)
        even = odd == 0 < first - 1 or (first > 2 and odd <= max(1, len(counts) / 10))
        ragged = first > 2 and min(counts) > 1 and max(counts) == first and rows[0].text.islower()
        if any(_follows(text, rows, place) for place in range(1, len(rows))):
            return []
        if (even and len(rows) > _MANY) or ((even or ragged) and _fits(cells, rows)):
            if odd and not ragged:
                faults.append(f"{odd:,} lines of a table have other columns: read as its rows")
            return [*_table(text, _records(text, lines), [])]
    return []


def _lines(text: str) -> Iterator[_Line]:
    for start, end in line_spans(text):
        yield _Line(start, end, text[start : min(end, start + _SHOWN)])


def _quotes(rows: str, faults: list[str]) -> None:
    if rows.count('"') % 2:
        faults.append("quotes of a table stay open: each of its lines is a row")


def _paragraph(text: str, lines: Sequence[_Line], faults: list[str]) -> Iterator[Node]:
    """The tables among lines without a blank one between them."""
    logs = sum(bool(_LOG.match(line.text)) for line in lines[:9])
    if 2 * logs > len(lines[:9]):
        return
    records = _records(text, lines)
    for cells in (_pipes, _tabs, _Commas(","), _Commas(";"), _columns):
        lines = records if cells is not _pipes else lines
        counts = [cells(line.text) for line in lines]
        first, rows, begun = 0, 0, 0
        while first < len(lines):
            after = first
            while (
                after < len(lines)
                and counts[after] > 1
                and (cells is _pipes or counts[after] == counts[first] or _ruled(lines[after]))
            ):
                after += 1
            if after - first >= _LEAST and _fits(cells, lines[first:after]):
                begun = begun if rows else first
                rows += after - first
                yield from _table(text, lines[first:after], lines[max(0, first - 1) : first])
            first = max(after, first + 1)
        if isinstance(cells, _Commas) and len(lines) < 2 * rows:
            _quotes(text[lines[0].start : lines[-1].end], faults)
            if other := len(lines) - begun - rows:
                faults.append(f"{other:,} lines beside a table have other columns: split as text")
        if rows:
            return


def _records(text: str, lines: Sequence[_Line]) -> Sequence[_Line]:
    """Lines, those joined between which quotes are open; as they are where one never closes."""
    records: list[_Line] = []
    opened = False
    for line in lines:
        if opened:
            start = records[-1].start
            records[-1] = _Line(start, line.end, text[start : min(line.end, start + _SHOWN)])
        else:
            records.append(line)
        opened = _open_after(line.text, opened)
    return lines if opened else records


def _open_after(line: str, opened: bool) -> bool:
    """Whether a cell between quotes goes on behind a line; inside others they are text."""
    at = 0
    while match := (_CLOSES if opened else _OPENS).search(line, at):
        opened, at = not opened, match.end()
    return opened


def _ruled(line: _Line) -> bool:
    return bool(_RULE.match(line.text))


def _pipes(line: str) -> int:
    """Cells between pipes; rules count as rows."""
    bare = line.strip()
    begins = bare.startswith(("+-", "+=", "|-", "{|", "! ", "├", "┌", "└"))
    if begins or ("-+-" in bare and _RULE.match(bare)):
        return 2
    return bare.count("|") + bare.count("│") if bare[:1] in "|│" else bare.count(" | ") + 1


def _tabs(line: str) -> int:
    return line.count("\t") + 1


@dataclass(frozen=True)
class _Commas:
    """Cells between marks, of which those in quotes are text; 0 where a quote stays open."""

    mark: str

    def __call__(self, line: str) -> int:
        if '"' not in line:
            return line.count(self.mark) + 1
        pattern = re.compile(rf'(?:"(?:[^"]|"")*+"|(?!")[^{self.mark}]*+)')
        at, number = 0, 1
        while (m := pattern.match(line, at)) and line[m.end() : m.end() + 1] == self.mark:
            at, number = m.end() + 1, number + 1
        return number if m and m.end() == len(line) else 0


def _columns(line: str) -> int:
    """Cells between at least two spaces; a rule has as many as the row above."""
    return len(_GAPS.split(line.strip()))


def _fits(cells: object, lines: Sequence[_Line]) -> bool:
    """Whether rows of equal length are a table, and no lines of prose."""
    mark = getattr(cells, "mark", "")
    if mark:
        plain = [_QUOTED.sub("", line.text) for line in lines]
        spaced = sum(line.count(f"{mark} ") for line in plain)
        return spaced * 10 <= sum(line.count(mark) for line in plain) and len(lines) > 3
    if cells is _columns:
        return len(lines) > 3 and sum(line.text.rstrip().endswith(".") for line in lines) < 2
    return True


def _named(lines: Sequence[_Line]) -> tuple[bool, bool]:
    """Whether the first row has no numbers, and whether it has words above numbers.

    Neither of one that has a cell of the form that all others of its column have, as paths.
    """
    rows = [[cell.strip() for cell in _CELLS.split(line.text)] for line in lines[:9]]
    numbers = [[bool(_NUMBER.match(cell)) for cell in row] for row in rows]
    forms = [[_LETTERS.sub("a", _DIGITS.sub("0", cell)) for cell in row] for row in rows]
    columns = zip(*forms, strict=False)
    if len(rows) > 2 and any(
        len({*own}) == 1 and not own[0].isalpha() for own in columns if own[0]
    ):
        return False, False
    above = zip(*numbers, strict=False)
    return not any(numbers[0]), any(not first and all(rest) for first, *rest in above)


def _follows(text: str, rows: Sequence[_Line], place: int) -> bool:
    """Whether a row is the header of another table, behind a blank line."""
    if text.count("\n", rows[place - 1].end, rows[place].start) < 2:
        return False
    own, *below = [{*re.split(r"[|\t,;]", row.text)} for row in rows[place : place + 9]]
    names = bool(below) and own.isdisjoint(_MISSING.union(*below))
    return names and all(_named(rows[place : place + 9]))


def _heads(line: _Line, lines: Sequence[_Line]) -> bool:
    """Whether a line above a table goes with it: a caption, or what a file of rows begins with."""
    bare = line.text.rstrip()
    begins = line.start == 0 and len(bare) <= WHOLE
    marks = [one for one in "\t,;" if one in lines[0].text]
    rows = begins and bool(marks) and marks[0] in bare
    return rows or bool(_CAPTION.match(bare)) or bare.endswith(":")


def _begin(line: _Line) -> int:
    """Its first character that is not white space."""
    return line.start + len(line.text) - len(line.text.lstrip())


def _table(text: str, lines: Sequence[_Line], before: Sequence[_Line]) -> Iterator[Node]:
    ruled = next((n for n, line in enumerate(lines[:6]) if n and _ruled(line)), 0)
    heads = ruled + 1 if ruled or any(_named(lines)) else 0
    first = before[0] if before and _heads(before[0], lines) else lines[0]
    rows = [line for line in lines[heads:] if not _ruled(line)]
    if len(rows) < 2:
        return
    above = [*before, *lines][: heads + 1] if first is not lines[0] else lines[:heads]
    head = above[-1].end if above else first.start
    start = _begin(first)
    children = grouped(text, (leaf(_begin(line), line.end) for line in rows), _MARK)
    end = children[-1].end
    head = max(head, start)
    yield Node(start, head, end, end, "table", whole=WHOLE, mark=_MARK, children=children)
