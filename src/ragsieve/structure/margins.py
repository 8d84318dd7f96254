"""What every line of a run begins with: a number that counts, or the same mark.

Tools that show files put a margin before each line. It is learned from the lines, whatever tool
wrote them. What stands behind it is read as the plain file, layer by layer; spans point into the
text as it came.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from operator import attrgetter
from typing import NamedTuple

from ragsieve.structure.headings import between, leading
from ragsieve.structure.render import Kept
from ragsieve.structure.tree import Node, line_spans
from ragsieve.types import Span

_LEAST = 3  # lines of a run
_ALIGNED = 5  # the same, where what stands before the number is not constant
_LAYERS = 3
_WIDE, _MOST = 120, 16  # characters of a line, and numbers in them, that are looked at
_COVERED = 0.75  # share of the lines that have a margin, at least
_AROUND = 8  # lines without one, of whatever share
_RANGE = 500  # lines that a question names, at most
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d{1,7}(?![\w,;]|\.\d)")
_TIMED = re.compile(r"\d[-:./,]$|[\d.]$")  # before a number that is a part of another
_SEPARATOR = re.compile(r"\t|(?:[^\S\n]+[|│:>→»-]|([^\w\s,;])\1?)[>:|)\]]?[ \t]?|[^\S\n]+")
_ASKED = re.compile(
    r"(\bl(?:ine)?s?\W{0,2})?\b(\d{1,7})\b(?:\W{1,2}(?:[a-z]{1,3} )?(\d{1,7})\b)?", re.I
)


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a text that is read by itself, without the margin of its lines.

    Args:
        text: What is read of it.
        start: Its first character in the whole.
        lines: Where its lines begin in the whole; empty where they have no margin.
        widths: Characters of each line's margin.
        numbers: Their numbers, where the margin counts.
    """

    text: str
    start: int
    lines: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()

    @cached_property
    def _bare(self) -> list[int]:
        """Where lines begin in what is read."""
        off = accumulate(self.widths, initial=self.start)
        return [at - gone for at, gone in zip(self.lines, off, strict=False)]

    @property
    def end(self) -> int:
        """One past its last character in the whole."""
        return self.start + len(self.text) + sum(self.widths)

    def line(self, place: int) -> int:
        """The line in which a place of what is read stands."""
        return bisect_right(self._bare, place) - 1

    def on(self, place: int, *, first: bool = False) -> int:
        """The place in the whole, with its margin where it is the ``first`` of its line."""
        if not self.lines:
            return self.start + place
        n = self.line(place)
        begin = self._bare[n]
        if first and not self.text[begin:place].strip():
            return self.lines[n]
        return self.lines[n] + self.widths[n] + place - begin

    def off(self, place: int) -> int:
        """The place in what is read of one in the whole."""
        if not self.lines:
            return place - self.start
        n = bisect_right(self.lines, place) - 1
        return self._bare[n] + max(0, place - self.lines[n] - self.widths[n])

    def span(self, start: int, end: int) -> Span:
        """A span of what is read, in the whole."""
        return self.on(start, first=True), self.on(end - 1) + 1

    def mapped(self, node: Node) -> Node:
        """A node of what is read, in the whole."""
        start, end = self.span(node.start, node.end)
        head = self.on(node.head - 1) + 1 if node.head > node.start else start
        inside = bool(node.children)
        tail = self.on(node.tail, first=inside) if node.tail < node.end else end
        children = [self.mapped(child) for child in node.children]
        return replace(node, start=start, head=head, tail=tail, end=end, children=children)

    def asked(self, question: str) -> list[Span]:
        """The lines that a question names by their numbers, in the whole.

        A number is that of a line behind this word, and where the text does not have it. Of a part
        whose lines have numbers.
        """
        found = []
        for word, first, last in _ASKED.findall(question):
            low, high = int(first), int(last or first)
            named = word or (not last and not re.search(rf"\b{first}\b", self.text))
            if named and low <= high <= low + _RANGE:
                a, b = bisect_left(self.numbers, low), bisect_right(self.numbers, high)
                ends = [*self.lines[1:], self.end]
                found += [(self.lines[a], ends[b - 1])] if a < b else []
        return found

    def said(self, start: int, end: int) -> str:
        """The numbers of the lines between two places in the whole, as `` 40–112``."""
        first = bisect_left(self.lines, start)
        last = bisect_left(self.lines, end) - 1
        ends = [str(self.numbers[n]) for n in (first, last) if self.numbers and first <= last]
        return " " * bool(ends) + "–".join(dict.fromkeys(ends))


class _Run(NamedTuple):
    first: int  # line
    number: int  # of that line; 0 where none counts
    ends: list[int]  # where the number of each line ends, or its margin


def pieces(text: str) -> tuple[Piece, ...]:
    """The parts of a text that are read apart, in order; itself where no line has a margin."""
    return (*_pieces(text, _LAYERS),) or (Piece(text, 0),)


def piece_at(parts: Sequence[Piece], place: int) -> Piece:
    """The part in which a place of the whole stands."""
    return parts[max(0, bisect_right(parts, place, key=attrgetter("start")) - 1)]


def bare(parts: Sequence[Piece], text: str, start: int, end: int) -> str:
    """A text between two places, without margins where they stand in one part."""
    part = piece_at(parts, start)
    return part.text[part.off(start) : part.off(end)] if end <= part.end else text[start:end]


def joint(parts: Sequence[Piece], kept: Kept, end: int, start: int) -> str:
    """What joins a kept span to the next, as `ragsieve.structure.headings.between` does.

    Where lines are left out stands the mark with their numbers; headings have their margin. ``end``
    is -1 before the first span, where no mark stands.
    """
    part, last, text, mark = piece_at(parts, start), max(end, 0), kept.text, kept.layout.mark
    if end >= 0 and not bare(parts, text, end, start).strip():
        return text[end:start]
    stop, above = part.off(start), max(0, part.off(last)) if last > part.start else 0
    if end > part.start and "\n" not in (plain := between(part.text, above, stop, mark)):
        return plain
    out = "\n" * (end >= 0)
    for head in (*leading(part.text, above, stop), None):
        first, behind = part.span(head.start, head.start + len(head.text)) if head else (start, 0)
        if end >= 0 and bare(parts, text, last, first).strip():
            out += f"{mark}{part.said(max(last, part.start), first)}\n"
        out += kept.show(first, behind) + "\n" if head else ""
        last = behind
    return out


def _pieces(text: str, layers: int) -> Iterator[Piece]:
    spans = [*line_spans(text)]
    lines = [text[a:b] for a, b in spans]
    start = 0
    for first, number, widths in _runs(lines) if layers else ():
        last = first + len(widths)
        begins = [a for a, _ in spans[first:last]]
        if text[start : begins[0]].strip():
            yield Piece(text[start : begins[0]], start)
        start = spans[last][0] if last < len(spans) else len(text)
        ends = [*begins[1:], start]
        read = "".join(text[a + w : b] for a, b, w in zip(begins, ends, widths, strict=True))
        numbers = range(number, number + len(widths)) if number else ()
        own = Piece(read, begins[0], (*begins,), (*widths,), (*numbers,))
        yield from [*_layered(own, layers - 1)] or [own]
    if start and text[start:].strip():
        yield Piece(text[start:], start)


def _layered(own: Piece, layers: int) -> Iterator[Piece]:
    """The parts of what is left of a piece: below line numbers may stand another margin."""
    for one in _pieces(own.text, layers):
        lines = slice(own.line(one.start), own.line(one.end - 1) + 1)
        widths = own.widths[lines]
        if one.lines:
            widths = tuple(a + b for a, b in zip(widths, one.widths, strict=True))
        begins, numbers = own.lines[lines], own.numbers[lines] or one.numbers
        yield Piece(one.text, begins[0], begins, widths, numbers)


def _runs(lines: Sequence[str]) -> list[_Run]:
    """The runs of lines with one kind of margin, if they are most of a text."""
    full = sum(bool(line.strip()) for line in lines)
    for runs in (_counting(lines), _marked(lines)):
        covered = sum(len(run.ends) for run in runs)
        if covered and (covered >= _COVERED * full or full - covered <= _AROUND):
            return runs
    return []


def _counting(lines: Sequence[str]) -> list[_Run]:
    """Runs of lines whose numbers count, of the kind that has most of them."""
    if 2 * sum(bool(_DIGIT.search(line, 0, _WIDE)) for line in lines) < len(lines):
        return []
    found: dict[tuple[str, int], list[_Run]] = {}
    last: dict[tuple[str, int], _Run] = {}
    for n, line in enumerate(lines):
        above, last = last, {}
        for number in islice(_NUMBER.finditer(line, 0, _WIDE), _MOST):
            before, value, end = line[: number.start()], int(number[0]), number.end()
            if _TIMED.search(before):
                continue
            for kind in {(before.strip(), 0), ("", end)}:  # a constant beginning, or a column
                run = above.get(kind)
                if not run or value != run.number + len(run.ends):
                    run = _Run(n, value, [])
                run.ends.append(end)
                last.setdefault(kind, run)
                if len(run.ends) == (_ALIGNED if kind[1] else _LEAST):
                    found.setdefault(kind, []).append(run)
    read = (
        [own for one in runs if (own := _read(lines, one, kind) or _padded(lines, one, kind))]
        for kind, runs in found.items()
    )
    return max(read, key=lambda runs: sum(len(run.ends) for run in runs), default=[])


def _read(lines: Sequence[str], run: _Run, kind: tuple[str, int]) -> _Run | None:
    """A run with the ends of its margin, unless it is a list, a table or a log.

    A tab or a sign that is not ASCII makes a margin; behind any other, and behind words, some lines
    are blank or indented, as in a file; behind spaces alone, blank.
    """
    own = lines[run.first : run.first + len(run.ends)]
    rests = [line[end:] for line, end in zip(own, run.ends, strict=True)]
    wide = _separator(rests)
    mark = rests[0][:wide].strip() or rests[0][:wide][:1]
    bare = [rest[wide:] for rest in rests]
    full = [one for one in bare if one.strip()]
    blank = len(full) < len(bare)
    filed = blank or len({len(one) - len(one.lstrip()) for one in full}) > 1
    sure = (mark == "\t" or not mark.isascii()) and not kind[0] and not kind[1]
    counts = {one.count(mark) for one in full}
    headed = run.first and mark in lines[run.first - 1]
    table = (len(counts) == 1 and 0 not in counts) or headed
    if not wide or not (blank if mark == " " else filed or (sure and not table)):
        return None
    ends = [min(end + wide, len(line)) for line, end in zip(own, run.ends, strict=True)]
    return run._replace(ends=ends)


def _padded(lines: Sequence[str], run: _Run, kind: tuple[str, int]) -> _Run | None:
    """The same where spaces behind the numbers lead to a sign at one column."""
    own = zip(lines[run.first :], run.ends, strict=False)
    columns = {end + len(line[end:]) - len(line[end:].lstrip(" ")) for line, end in own}
    if len(columns) > 1 or columns == {*run.ends}:
        return None
    return _read(lines, run._replace(ends=[*columns] * len(run.ends)), kind)


def _separator(rests: Sequence[str]) -> int:
    """Characters between number and text, the same in all lines; one of two signs in some."""
    said = [rest for rest in rests if len(rest.strip()) > 2] or rests
    match = _SEPARATOR.match(min(said)[: _common(min(said), max(said))])
    wide = match.end() if match else 0
    if wide:
        mark = said[0][:wide].rstrip()
        return wide * all(not r[:wide].strip() or r.startswith(mark) for r in rests)
    signs = {rest[0] for rest in said if rest}
    return int(len(signs) == 2 and not any(map(str.isalnum, signs)))


def _common(one: str, other: str) -> int:
    """Characters with which both begin."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))


def _marked(lines: Sequence[str]) -> list[_Run]:
    """The whole text where every line begins with the same mark, as blank ones do in a file."""
    said = [n for n, line in enumerate(lines) if line.strip()]
    own = lines[said[0] : said[-1] + 1] if len(said) > _LEAST else []
    mark = min(own, default="").rstrip()  # a line that has nothing else
    wide = len(mark) + 1
    bare = [line[wide:].strip() for line in own]
    closed = sum(one.endswith(mark) for one in bare)  # the frame of a table
    same = all(line.startswith(mark) and not line[len(mark) : wide].strip() for line in own)
    if not mark or not same or 2 * closed > len(bare) or 2 * sum(map(bool, bare)) < len(bare):
        return []
    return [_Run(said[0], 0, [min(wide, len(line)) for line in own])]
