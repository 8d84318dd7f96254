"""Tables of any dialect: lines that divide into cells alike, below a header.

Cells stand between bars, tabs or commas, at the same columns, or each in a line of its own. A line
without cells is a rule of its table; the first row is a header where a rule says so or its cells
are of other kinds than those below.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from ragsieve.structure.cell_lines import ITEM, covered, tables
from ragsieve.structure.columns import (
    BARS,
    are_letters,
    begins,
    by_bars,
    by_gaps,
    by_mark,
    by_place,
    cells,
    division,
    ends_row,
    form,
    is_gapped,
    is_named,
    is_rule,
    kind,
    usual,
)
from ragsieve.structure.row_lines import RowLine, margin, records, row_lines
from ragsieve.structure.tree import Node, grouped, in_runs, leaf

WHOLE = 300  # characters of a table that is not cut
_LEAST = 3  # rows, with the header
_MANY = 20  # rows of a text with so many cells each that can be no prose
_FEW = 4  # rows that nothing but their columns, or a line a cell, makes a table
_MARK = "… {}"
_CAPTION = re.compile(r"\W{0,4}(?:Table|Figure|Listing|Example|Tab\.|Tabelle)\b", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*+"')
_MISSING = frozenset(["", "-", "?", "n/a", "N/A", "NA", "null", "NULL", "None", "nan", "NaN"])
_LOG = re.compile(
    r"\W{0,2}\d[\d./-]{3,9}[T ]?[ ]{0,2}\d?\d:\d\d(?::\d\d)?.*[A-Za-z]{3} [A-Za-z]{2}"
)
_BAR = re.compile(r"[ +.]\| ")  # behind a cell, which may go on below
_SIGNS = re.compile(r"\w")
_DRAWN = re.compile(r"[-=─_]{2,}")


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The tables of a text; adds what is unread."""
    every = [*row_lines(text)]
    if whole := _file(text, every, faults):
        yield from whole
        _quotes(text, faults)
        return
    beside: list[RowLine] = []
    for lines in _paragraphs(every):
        inside = (n for part in _between_rules(lines) for n in _paragraph(text, part, faults))
        if tables := [*_paragraph(text, lines, faults)] or [*inside]:
            yield from (*_in_lines(beside), *tables)
            beside = []
        else:
            beside += lines
    yield from _in_lines(beside)


def _in_lines(lines: Sequence[RowLine]) -> Iterator[Node]:
    spans = [(_begin(line), line.end) for line in lines]
    for start, head, rows in tables(spans, [line.text.strip() for line in lines]):
        children = [leaf(*row) for row in rows]
        end = children[-1].end
        yield Node(start, head, end, end, "table", whole=WHOLE, mark=_MARK, children=children)


def _file(text: str, lines: Sequence[RowLine], faults: list[str]) -> list[Node]:
    """The text as one table of commas or tabs, though comments or blank lines divide its rows.

    One row, or a tenth of them, may have other cells.
    """
    for mark in "\t,;":
        rows = [line for line in records(text, lines) if not line.text.startswith("#")]
        first = _marks(mark, rows[0].text) if rows and lines[0].text == rows[0].text else 0
        counts = [_marks(mark, row.text) for row in rows]
        odd = len(counts) - counts.count(first)
        even = odd == 0 < first - 1 or (first > 2 and odd <= max(1, len(counts) / 10))
        ragged = first > 2 and min(counts) > 1 and max(counts) == first and rows[0].text.islower()
        if any(_follows(rows, place) for place in range(1, len(rows))):
            return []
        if (even and len(rows) > _MANY) or ((even or ragged) and not _is_prose(mark, rows)):
            if odd and not ragged:
                faults.append(f"{odd:,} lines of a table have other columns: read as its rows")
            return [*_table(text, records(text, lines), [])]
    return []


def _quotes(rows: str, faults: list[str]) -> None:
    if rows.count('"') % 2:
        faults.append("quotes of a table stay open: each of its lines is a row")


def _paragraphs(every: Sequence[RowLine]) -> Iterator[list[RowLine]]:
    """Lines without a blank one between them, or where a table goes on behind it."""
    lines: list[RowLine] = []
    for after, line in enumerate(every):
        below = every[after : after + 5]
        if lines and (_is_ruled(lines, below) or (line.apart and not _goes_on(lines, below[:3]))):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _between_rules(lines: Sequence[RowLine]) -> list[list[RowLine]]:
    """The runs of lines that rules divide; none where there is one."""
    runs = groupby(lines, lambda one: is_rule(one.text) and not is_gapped(one.text))
    parts = [[*run] for rule, run in runs if not rule]
    return parts if len(parts) > 1 else []


def _is_ruled(lines: Sequence[RowLine], below: Sequence[RowLine]) -> bool:
    """Whether another table begins: names between two rules, above rows that have none between."""
    rules = [is_rule(line.text) and line.text.lstrip()[:1] in "-=" for line in below]
    names = by_gaps(below[1].text) if rules == [1, 0, 1, 0, 0] and len(lines) >= _LEAST else []
    return len(names) > 1 and "0" not in map(kind, cells(below[1].text, names))


def _goes_on(lines: Sequence[RowLine], below: Sequence[RowLine]) -> bool:
    """Whether lines below a blank one go on with the table above it, and begin no other."""
    if any(is_rule(line.text) for line in below[1:2]) and len(below) > 2:
        return False
    shown = [line.text for line in lines[:6]]
    if rule := next(filter(is_gapped, shown), ""):  # between rules without gaps
        full = is_rule(shown[0]) and shown[0] is not rule
        return full and (lines[-1].text is rule or not is_rule(lines[-1].text))
    before = lines[-1].text
    if is_rule(before) and len(lines) > 1:
        return _bars(lines[-2].text) == _bars(below[0].text) > 1
    first = below[0].text
    return before[:1] in BARS and first[:1] in BARS and first.count("|") == 1  # a cell a line


def _paragraph(text: str, lines: Sequence[RowLine], faults: list[str]) -> Iterator[Node]:
    """The tables among lines without a blank one between them."""
    if 2 * sum(bool(_LOG.match(line.text)) for line in lines[:9]) > len(lines[:9]):
        return
    joined = records(text, lines)
    found = {mark: [*_runs(mark, joined)] for mark in "\t,;|"}
    found = {"bars": [*_runs("bars", lines)], **found, "": _spaced(joined)}
    found[":"] = [*_runs(":", joined)] if is_named(one.text for one in joined) else []
    mark = max(found, key=lambda one: covered(found[one]))
    some, runs = lines if mark == "bars" else joined, found[mark]
    if runs and mark in (",", ";") and len(some) < 2 * covered(runs):
        _quotes(text[some[0].start : some[-1].end], faults)
        if other := len(some) - runs[0][0] - covered(runs):
            faults.append(f"{other:,} lines beside a table have other columns: split as text")
    for first, after in runs:
        leads = mark == "" or _heads(some[first - 1], some[first:after])
        begin = first - (first > 0 and leads)
        begin -= begin > 0 and _groups(some[begin - 1].text)
        yield from _table(text, some[first:after], some[begin:first])


def _runs(mark: str, lines: Sequence[RowLine]) -> Iterator[tuple[int, int]]:
    """Bounds of lines with as many cells that can be no prose."""
    counts = [_cells(mark, line.text) for line in lines]
    first = 0
    while first < len(lines):
        after = first
        while (
            after < len(lines)
            and counts[after] > 1
            and (mark == "bars" or counts[after] == counts[first] or is_rule(lines[after].text))
        ):
            after += 1
        some = lines[first:after]
        if len(some) >= _LEAST and (mark == "bars" or not _is_prose(mark, some)):
            yield first, after
        first = max(after, first + 1)


def _cells(mark: str, line: str) -> int:
    if mark == "bars":
        return _bars(line)
    return _marks(mark, line) if mark else len(by_gaps(line))


def _bars(line: str) -> int:
    """Cells between bars; rules and lines of one cell count as rows."""
    bare = line.strip()
    if bare[:1] in BARS or bare[:2] == "! " or (is_rule(bare) and not is_gapped(bare)):
        return max(2, sum(map(bare.count, BARS)))
    return max(len(_BAR.findall(bare)), bare.count("&") if ends_row(bare) else 0) + 1


def _marks(mark: str, line: str) -> int:
    """Cells between marks, of which those in quotes are text."""
    return len(by_mark(mark, line)) if '"' in line else line.count(mark) + 1


def _is_prose(mark: str, lines: Sequence[RowLine]) -> bool:
    """Whether lines with as many marks are sentences, or too few to tell."""
    if not mark:
        ends = [line.text for line in lines if line.text.rstrip().endswith(".")]
        said = [cells(line, by_gaps(line)[-1:])[0].split() for line in ends]
        return len(lines) < _FEW or sum(len(words) > 2 for words in said) > 1
    if mark in "|\t":
        return len(lines) < _FEW - (mark == "\t")
    plain = [_QUOTED.sub("", line.text) for line in lines]
    spaced = sum(line.count(f"{mark} ") for line in plain)
    return len(lines) < _FEW or spaced * 10 > sum(line.count(mark) for line in plain)


def _spaced(lines: Sequence[RowLine]) -> list[tuple[int, int]]:
    """Bounds of lines in columns: below a rule, by what is blank in all, by gaps."""
    rules = [n for n, line in enumerate(lines) if is_rule(line.text)]
    gapped = next((n for n in rules if is_gapped(lines[n].text)), -1)
    if gapped >= 0:
        first = next((n for n in rules if gapped - 4 < n < gapped), max(0, gapped - 1))
        return [(first, len(lines))]
    runs = [*_runs("", lines)]
    if any(ITEM.match(line.text) for line in lines[-2:]):
        return runs
    divided = [n for n, line in enumerate(lines) if len(by_gaps(line.text)) > 1]
    ends = [n for n, (a, b) in enumerate(pairwise(divided), 1) if b - a > 2]
    beside = [divided[a:b] for a, b in pairwise([0, *ends, len(divided)])]  # a paragraph
    apart = [bound for one in beside if one for bound in _aligned(lines, one[0], one[-1] + 1)]
    return max(runs, _aligned(lines, 0, len(lines)), apart, key=covered)


def _aligned(lines: Sequence[RowLine], start: int, end: int) -> list[tuple[int, int]]:
    """Bounds of lines in columns that what is blank in all of them divides, below a title."""
    first = max(range(start, min(start + _LEAST, end)), key=lambda n: _columns(lines[n:end]))
    return [(first, end)] * bool(_columns(lines[first:end]))


def _columns(lines: Sequence[RowLine]) -> int:
    """How many columns what is blank in all lines divides; 0 of prose, where it does by chance."""
    shown = [line.text for line in lines if not is_rule(line.text)]
    starts = begins(shown)
    if len(starts) < _LEAST or _is_prose("", lines):
        return 0
    first, *body = (cells(line, by_place(starts, line)) for line in shown)
    kinds = ([*filter(None, map(kind, column))] for column in zip(*body, strict=True))
    typed = any(usual(own) for own in kinds if own[1:])  # blank cells have none
    return len(starts) if typed and first.count("") < 2 else 0  # a title has blank cells


def _named(rows: Sequence[Sequence[str]]) -> tuple[bool, bool]:
    """Whether the first row has no digits, and whether it has words above numbers.

    Neither of one that has a cell of the form that all others of its column have, as paths.
    """
    columns = [*zip(*rows, strict=False)]
    for own in columns:
        forms = {*map(form, own)}
        if len(rows) > 2 and len(forms) == 1 and own[0] and kind(own[0]) != "a":
            return False, False
    kinds = [(kind(first), {*filter(None, map(kind, rest))}) for first, *rest in columns]
    above = any((a != "0" and b == {"0"}) or (a == "a" and b == {"x"}) for a, b in kinds)
    return not any(map(str.isdigit, "".join(rows[0]))), above


def _follows(rows: Sequence[RowLine], place: int) -> bool:
    """Whether a row is the header of another table, behind a blank line."""
    if not rows[place].apart:
        return False
    own, *below = [re.split(r"[|\t,;]", row.text) for row in rows[place : place + 9]]
    names = bool(below) and {*own}.isdisjoint(_MISSING.union(*below))
    return names and all(_named([own, *below]))


def _heads(line: RowLine, lines: Sequence[RowLine]) -> bool:
    """Whether a line above a table goes with it: a caption, or what a file of rows begins with."""
    bare = line.text.rstrip()
    begins = line.start == 0 and len(bare) <= WHOLE
    marks = [one for one in "\t,;" if one in lines[0].text]
    rows = begins and bool(marks) and marks[0] in bare
    return rows or bool(_CAPTION.match(bare)) or bare.endswith(":")


def _groups(line: str) -> bool:
    """Whether a line above a header draws groups over its columns, as ``--cpu-- --memory--``."""
    parts = _DRAWN.split(line)
    return len(parts) > 2 and sum(bool(_SIGNS.search(part)) for part in parts) > 1


def _begin(line: RowLine) -> int:
    """Its first character that is not white space."""
    return line.start + margin(line)


def _table(text: str, lines: Sequence[RowLine], before: Sequence[RowLine]) -> Iterator[Node]:
    if len(rows := _rows(lines)) < 2:
        return
    start, stop = _begin([*before, *lines][0]), _begin(rows[0][0])
    above = max((line.end for line in (*before, *lines) if line.end < stop), default=start)
    children = grouped(text, (leaf(_begin(row[0]), row[-1].end) for row in rows), _MARK)
    end = lines[-1].end
    yield Node(start, above, end, end, "table", whole=WHOLE, mark=_MARK, children=children)


def _rows(lines: Sequence[RowLine]) -> list[list[RowLine]]:
    """The lines of each row of a table, below its header."""
    groups = [[*run] for rule, run in groupby(lines, lambda one: is_rule(one.text)) if not rule]
    parts = [part for group in groups for part in in_runs(group, lambda _, line: not line.apart)]
    full = is_rule(lines[0].text) and not is_gapped(lines[0].text)
    loose = full and len(parts) > 2 and any(is_gapped(line.text) for line in lines[:6])
    depth = _depth(parts)
    if not parts or loose or depth == len(parts[-1]) > 1:  # a blank line or rule between rows
        return parts[1:]
    between, ends = _are_rows(groups), _ends(lines)
    by_group = [[group] if between else [*_wrapped(group, ends)] for group in groups]
    heads = 1 if depth > 1 else _header([[row[0] for row in some] for some in by_group], lines)
    rows = [row for some in by_group for row in some]
    bounds = pairwise([*range(heads, len(rows), depth), len(rows)])
    return [[line for row in rows[a:b] for line in row] for a, b in bounds]


def _are_rows(groups: Sequence[Sequence[RowLine]]) -> bool:
    """Whether the lines between two rules are a row: most of several have blank cells at last."""
    several = [by_bars(group[-1].text) for group in groups if len(group) > 1]
    blank = sum(any(a == b for a, b in row) for row in several)
    return len(groups) > 2 and 2 * blank > len(several)


def _ends(lines: Sequence[RowLine]) -> list[int]:
    """Where a rule's columns end: psql sets a sign there below which a cell goes on."""
    rule = next((one.text.rstrip() for one in lines if "-+-" in one.text), "")
    return [*(n - 1 for n, sign in enumerate(rule) if sign == "+"), len(rule) - 1] if rule else []


def _wrapped(group: Sequence[RowLine], ends: Sequence[int]) -> Iterator[list[RowLine]]:
    """The lines of each row: those with cells that go on below, and those that end none of TeX."""
    tex = any(ends_row(line.text) for line in group)
    row: list[RowLine] = []
    for line in group:
        row.append(line)
        signs = any(line.text[n : n + 1] in ("+", ".") for n in ends)
        if not signs and (ends_row(line.text) or not tex):
            yield row
            row = []
    if row:
        yield row


def _depth(parts: Sequence[Sequence[RowLine]]) -> int:
    """Lines that each row has, where each cell begins one, below a header that has as many cells.

    Else 1.
    """
    shown = [line.text.strip() for part in parts for line in part]
    if not shown or any(line[:1] not in (*BARS, "!") for line in shown):
        return 1
    cells = [sum(map(line.count, BARS)) for line in shown]
    single, sizes = {*cells[1:]} == {1}, {len(part) for part in parts[1:]}
    if len(parts) > 2 and len(sizes) == 1 and (single or len(parts[0]) in sizes):
        return sizes.pop()
    first = max(cells[0], 1)
    return first if single and (len(cells) - 1) % first == 0 else 1


def _header(groups: Sequence[Sequence[RowLine]], lines: Sequence[RowLine]) -> int:
    """Lines of a table's header that is no rule; 0 where nothing tells it from the rows."""
    shown = [line.text for group in groups for line in group][:_MANY]
    if len(shown) < 2:
        return 0
    divide = division(shown)
    said = [cells(row, divide(row)) for row in shown[:9]]
    if Counter(map(len, said)).most_common(1)[0][0] == 1:  # nothing divides them
        said = [row.split() for row in shown[:9]]
    rules = [line.text for line in lines[1:] if is_rule(line.text)]
    ruled = len(groups) > 1 and len(groups[0]) <= _LEAST and rules[:1] != rules[1:2]
    marks = [_SIGNS.split(row.strip())[0] for row in shown[:9]]
    marked = len({*marks[1:]}) == 1 and marks[0] not in marks[1:]
    if are_letters(said[0]):
        return 1 + any(_named(said[1:]))
    if len(groups) > 2 and len(said[0]) == 1 < len(said[-1]):  # a caption
        return 1 + _header(groups[1:], lines[2:])
    return len(groups[0]) if ruled else int(marked or any(_named(said)))
