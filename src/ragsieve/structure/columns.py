"""Cells of a row: what divides it, whatever wrote the table, and of which kind each cell is."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

BARS = "|│┃║"
_SEEN = 50  # rows by whose cells the columns of spaces are known
_USUAL = 0.8  # share of the cells of a column that are of one kind, at least
_RULE = re.compile(r"[\s|+:=_\u2500-\u257f-]{2,}$|\{\||\|\}|\|-+ *\w+=|\[[\w.]*=.*\]$")
_COMMAND = re.compile(r"\s*\\[a-z]+\b(?![^&]*&)")  # of LaTeX, a rule among others
_GAPPED = re.compile(r"\s*(?:[-=~─═]{2,}\s+)+[-=~─═]{2,}\s*$")
_NUMBER = re.compile(r"[-+(]?[€$£¥]?\s?\d[\d.,:/ %)-]*[€%]?$")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*"), re.compile(r"\d+")
_GAPS = re.compile(r"[ ]{2,}|\t+")
_OUTER = re.compile(rf"^\|\|(?=\s)|^[!{BARS}]|(?<=\s)\|\|$|[{BARS}]$")
_BETWEEN = re.compile(rf"\n\s*[|!]|!!|(?<!\S)\|\|(?!\S)|[{BARS}]")
_ATTRIBUTES = re.compile(r"(?:\s*[\w-]+=\"[^\"]*\")+\s*$")
_AMPERSAND = re.compile(r"(?<!\\)&")

Divide = Callable[[str], list[str]]


def columns(head: str, rows: Sequence[str]) -> tuple[list[str], Divide] | None:
    """Names of a table's columns, and what divides a row; None where its head names none.

    Args:
        head: What stands above the first row.
        rows: Some of them, each from the beginning of its first line.
    """
    lines, first = _with_cells(head), rows[0].strip() if rows else ""
    if not lines or not first:
        return None
    in_lines = first[:1] in BARS or '"' not in first  # which a cell in quotes may have, too
    deep = len(_with_cells(first)) if in_lines else 1
    deep = 1 if len(by_bars(lines[-1])) == deep else deep
    if len(lines) < deep:
        return None
    named = "\n".join(lines[-deep:])
    divide = division([named, *rows])
    names = divide(named)
    few = len(names) < min(len(divide(row)) for row in rows)  # of a title
    return None if few or are_letters(names) or names.count("") > 1 else (names, divide)


def _with_cells(text: str) -> list[str]:
    lines = (line for line in text.split("\n") if line.strip())
    return [line for line in lines if not (is_rule(line) or _COMMAND.match(line))]


def are_letters(names: Sequence[str]) -> bool:
    """Whether names are what spreadsheets call their columns: A, B, C."""
    letters = [name for name in names if name]
    return len(letters) > 1 and letters == [chr(ord("A") + n) for n in range(len(letters))]


def is_rule(line: str) -> bool:
    """Whether a line of a table has no cells: a rule, a border, what opens or closes it."""
    return bool(_RULE.match(line))


def is_gapped(line: str) -> bool:
    """Whether a line is a rule that says where columns of spaces begin."""
    return bool(_GAPPED.match(line))


def division(lines: Sequence[str]) -> Divide:
    """What divides the rows of a table, two at least, the first of them its header, into cells."""
    first = lines[0].strip()
    if "&" in first and "\\\\" in first:
        return lambda row: [cell.strip() for cell in _AMPERSAND.split(row.split("\\\\")[0])]
    if first[:1] in (*BARS, "!") or " | " in first:
        return by_bars
    if "\n" in first:
        return lambda row: [cell.strip() for cell in row.split("\n") if cell.strip()]
    if mark := next((one for one in "\t,;|" if one in first), ""):
        return partial(by_mark, mark)
    gaps = {len(by_gaps(line)) for line in lines}
    starts = begins(lines[:_SEEN])
    finer = len(starts) > min(gaps) and "" not in by_place(starts, lines[0])
    if len(gaps) == 1 != min(gaps) and not finer and not any(map(is_gapped, lines)):
        return by_gaps
    if len(starts) > 1:
        return partial(by_place, starts)
    words = min(len(line.split()) for line in lines[1:])
    return lambda row: row.split(None, words - 1)


def by_bars(row: str) -> list[str]:
    """Cells between bars or in lines that begin with one, without attributes of MediaWiki."""
    cells = (
        cell for cell in _BETWEEN.split(_OUTER.sub("", row.strip())) if not _ATTRIBUTES.match(cell)
    )
    return [cell.strip() for cell in cells]


def by_mark(mark: str, row: str) -> list[str]:
    """Cells between commas and their like, of which those in quotes are text."""
    try:
        return [cell.strip() for cell in next(csv.reader([row.strip(" \r\n")], delimiter=mark), [])]
    except csv.Error:
        return [row]


def by_gaps(row: str) -> list[str]:
    """Cells between at least two spaces."""
    return _GAPS.split(row.strip())


def by_place(starts: Sequence[int], row: str) -> list[str]:
    """Cells that begin at the same columns in every line."""
    row = row.expandtabs()
    bounds = zip([0, *starts[1:]], [*starts[1:], len(row)], strict=True)
    return [row[a:b].strip() for a, b in bounds]


def begins(lines: Sequence[str]) -> list[int]:
    """Where cells begin: below the parts of a rule, else behind what is blank in every line."""
    if rule := next(filter(is_gapped, lines), ""):
        return [part.start() for part in re.finditer(r"\S+", rule)]
    lines = [line.rstrip().expandtabs() for line in lines if not is_rule(line)]
    shortest = min(map(len, lines), default=0)
    taken = bytearray(shortest)
    for line in lines:
        for word in re.finditer(r"\S+", line[:shortest]):
            taken[word.start() : word.end()] = b"x" * (word.end() - word.start())
    return [part.start() for part in re.finditer(rb"x+", taken)]


def kind(cell: str) -> str:
    """What a cell is: ``0`` a number, ``x`` with digits or signs, ``a`` words, empty if blank."""
    if not cell or _NUMBER.match(cell):
        return "0" * bool(cell)
    return "a" if cell.replace(" ", "").isalpha() else "x"


def form(cell: str) -> str:
    """A cell with its letters and digits as one each, as paths and identifiers are alike."""
    return _LETTERS.sub("a", _DIGITS.sub("0", cell))


def usual(kinds: Sequence[str]) -> str:
    """The kind of nearly all of a column; empty where they are words or of no one kind."""
    ((most, often),) = Counter(kinds).most_common(1)
    return most if most in "0x" and often >= _USUAL * len(kinds) else ""
