"""Cells of a row: what divides it, whatever wrote the table, and of which kind each cell is."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import pairwise

from ragsieve.structure.tree import COMMANDS, line_spans
from ragsieve.types import Span

BARS = "|│┃║"
_NAMED = re.compile(r"[ \t]*[./]*[^\W\d][^\s:]*:(?! )[^:\n]*:")
_SEEN = 50  # rows by whose cells the columns of spaces are known
_USUAL = 0.8  # share of the cells of a column that are of one kind, at least
_RULE = re.compile(
    rf"[\s|+:=_\u2500-\u257f-]{{2,}}$|\{{\||\|\}}|\|-+ *\w+=|\[[\w.]*=.*\]$|{COMMANDS}"
)
_GAPPED = re.compile(r"\s*(?:[-=~─═]{2,}\s+)+[-=~─═]{2,}\s*$")
_NUMBER = re.compile(r"[-+(]?[€$£¥]?\s?\d[\d.,:/ %)-]*[€%]?$")
_LETTERS, _DIGITS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+)*"), re.compile(r"\d+")
_GAPS = re.compile(r"[ ]*\t[ \t]*|[ ]{2,}")
_OUTER = re.compile(rf"^\|\|(?=\s)|^[!{BARS}]|(?<=\s)\|\|$|(?<!\\)[{BARS}]$")
_BETWEEN = re.compile(rf"\n\s*[|!]|!!|(?<!\S)\|\|(?!\S)|(?<!\\)[{BARS}]")
_ATTRIBUTES = re.compile(r"(?:\s*[\w-]+=\"[^\"]*\")+\s*$")
_AMPERSAND = re.compile(r"(?<!\\)&")
_ROW_END = re.compile(rf"\\\\\*?(?:\[[^]]*\])?(?:{COMMANDS}|\s*$)")  # of TeX, with rules below
_SIGNED = ("+|", ".|", "+\n", ".\n")
_LINE, _WORD, _PART = re.compile(r"\n"), re.compile(r"\S+"), re.compile(rb"x+")

Divide = Callable[[str], list[Span]]
"""What divides a row into the spans of its cells, blank ones too."""


def columns(head: str, rows: Sequence[str]) -> tuple[list[Span], Divide] | None:
    """Names of a table's columns in its head, and what divides a row; None where it names none.

    Args:
        head: What stands above the first row.
        rows: Some of them, each from the beginning of its first line.
    """
    lines, first = _with_cells(head), rows[0].strip() if rows else ""
    if not lines or not first:
        return None
    in_lines = first[:1] in BARS or '"' not in first  # which a cell in quotes may have, too
    deep = len(_with_cells(first)) if in_lines else 1
    above = len(by_bars(head[slice(*lines[-1])]))
    deep = 1 if above == deep or 1 < above == len(by_bars(first.partition("\n")[0])) else deep
    if len(lines) < deep:
        return None
    start = lines[-deep][0]
    named = head[start : lines[-1][1]]
    divide = division([named, *rows])
    spans = divide(named)
    names = cells(named, spans)
    firsts = {len(divide(row.partition("\n")[0])) for row in rows}
    if in_lines and firsts == {len(names)} != {1} and any("\n" in row for row in rows):
        divide = partial(_by_line, divide, len(names))
    elif len(names) < min(len(divide(row)) for row in rows):  # of a title
        return None
    if are_letters(names) or names.count("") > 1:
        return None
    return [(start + a, start + b) for a, b in spans], divide


def cells(row: str, spans: Iterable[Span]) -> list[str]:
    """What the cells of a row say."""
    return [row[start:end] for start, end in spans]


def _with_cells(text: str) -> list[Span]:
    """The lines that have some."""
    lines = ((a, b, text[a:b]) for a, b in line_spans(text))
    return [(a, b) for a, b, s in lines if s.strip() and not is_rule(s)]


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
    if ends_row(lines[-1]):
        return by_ampersands
    if first[:1] in (*BARS, "!") or " | " in first:
        return by_bars
    if "\n" in first:
        return lambda row: [(a, b) for a, b in _between(_LINE, row) if a < b]
    mark = next((one for one in "\t,;|" if one in first), ":" * is_named(lines))
    gaps = {len(by_gaps(line)) for line in lines}
    if mark and (len(gaps) > 1 or len({len(by_mark(mark, line)) for line in lines}) == 1):
        return partial(by_mark, mark)
    starts = begins(lines[:_SEEN])
    finer = len(starts) > min(gaps) and "" not in cells(lines[0], by_place(starts, lines[0]))
    if len(gaps) == 1 != min(gaps) and not finer and not any(map(is_gapped, lines)):
        return by_gaps
    if len(starts) > 1:
        return partial(by_place, starts)
    return partial(_by_words, min(len(line.split()) for line in lines[1:]))


def is_named(lines: Iterable[str]) -> bool:
    """Whether colons divide each line, behind a name, as in ``/etc/passwd``."""
    return all(map(_NAMED.match, lines))


def _between(mark: re.Pattern[str], row: str, start: int = 0, end: int | None = None) -> list[Span]:
    """Spans between marks, without white space around them."""
    end = len(row) if end is None else end
    marks = [m.span() for m in mark.finditer(row, start, end)]
    bounds = zip([start, *(b for _, b in marks)], [*(a for a, _ in marks), end], strict=True)
    return [trimmed(row, *span) for span in bounds]


def trimmed(row: str, start: int, end: int) -> Span:
    """A span without white space around it; an empty one of nothing else."""
    cell = row[start:end]
    start += len(cell) - len(cell.lstrip())
    return start, start + len(cell.strip())


def by_bars(row: str) -> list[Span]:
    """Cells between bars or in lines that begin with one, without attributes of MediaWiki."""
    start, end = trimmed(row, 0, len(row))
    outer = [m.span() for m in _OUTER.finditer(row[start:end])]
    last = start + outer[-1][0] if outer and outer[-1][1] == end - start else end
    begin = start + outer[0][1] if outer and outer[0][0] == 0 else start
    spans = _between(_BETWEEN, row, begin, max(begin, last))
    return [span for span in spans if not _ATTRIBUTES.match(row[slice(*span)])]


def by_ampersands(row: str) -> list[Span]:
    """Cells of TeX."""
    end = _ROW_END.search(row)
    return _between(_AMPERSAND, row, *trimmed(row, 0, end.start() if end else len(row)))


def _by_line(divide: Divide, number: int, row: str) -> list[Span]:
    """So many cells of each line of a row: what does not fit into a cell stands below it.

    Without the sign of psql that it does, which stands at the end of the column.
    """
    found: list[Span] = []
    for start, end in line_spans(row):
        own = [(start + a, start + b) for a, b in divide(row[start:end])]
        own = own if len(own) == number else _between(_BETWEEN, row, start, end)  # blank outer ones
        goes_on = (row[b - 1 : b + 1] in _SIGNED for _, b in own)
        bare = (trimmed(row, a, max(a, b - on)) for (a, b), on in zip(own, goes_on, strict=True))
        found += bare if len(own) == number else []
    return found


def ends_row(line: str) -> bool:
    """Whether a line ends a row of TeX."""
    return bool(_ROW_END.search(line))


@cache
def _marked(mark: str) -> re.Pattern[str]:
    return re.compile(rf'[ ]*+(?:"((?:[^"]|"")*+)"[ \r]*+|([^{mark}]*+))(?:[{mark}]|\Z)')


def by_mark(mark: str, row: str) -> list[Span]:
    """Cells between commas and their like, of which those in quotes are text."""
    found: list[Span] = []
    at = 0
    while match := _marked(mark).match(row, at):
        found.append(trimmed(row, *match.span(2 if match[1] is None else 1)))
        at = match.end()
        if row[at - 1 : at] != mark or at == match.start():
            break
    return found


def by_gaps(row: str) -> list[Span]:
    """Cells between at least two spaces."""
    return _between(_GAPS, row, *trimmed(row, 0, len(row)))


def by_place(starts: Sequence[int], row: str) -> list[Span]:
    """Cells that begin at the same columns in every line."""
    ends: Sequence[int] = range(1, len(row) + 1)
    if "\t" in row:
        ends = [len(row[: n + 1].expandtabs()) for n in range(len(row))]
    begun = [0, *(bisect_left(ends, start + 1) for start in starts[1:]), len(row)]
    return [trimmed(row, a, b) for a, b in pairwise(begun)]


def _by_words(most: int, row: str) -> list[Span]:
    """Words, the last ones as one cell."""
    spans = [word.span() for word in _WORD.finditer(row)]
    return [*spans[: most - 1], (spans[most - 1][0], spans[-1][1])] if spans[most - 1 :] else spans


def begins(lines: Sequence[str]) -> list[int]:
    """Where cells begin: below the parts of a rule, else behind what is blank in every line.

    Half of the lines reach there; where not all do, two places are blank.
    """
    if rule := next(filter(is_gapped, lines), ""):
        return [part.start() for part in _WORD.finditer(rule)]
    rows = [row.split("\n") for row in lines if not is_rule(row)]
    celled = (line for _, *below in rows for line in below if len(by_gaps(line)) > 1)
    lines = [line.rstrip().expandtabs() for line in (*(row[0] for row in rows), *celled)]
    lengths = sorted(map(len, lines)) or [0]
    taken = bytearray(lengths[len(lengths) // 2])
    for line in lines:
        for word in _WORD.finditer(line[: len(taken)]):
            taken[word.start() : word.end()] = b"x" * (word.end() - word.start())
    starts = [part.start() for part in _PART.finditer(taken)]
    return [n for n in starts if n <= lengths[0] or not any(taken[n - 2 : n])]


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
