"""Conditions that a question sets on rows: values, comparisons, and what of them it denies.

A value of the question that equals a cell is a condition on its column, and so is a number or date
with a word of comparison; `words.tsv` lists these words. Nothing is calculated, but rows at an end
of a column are found; see `ragsieve.structure.ends`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from ragsieve.structure.cells import Column, Run
from ragsieve.structure.codes import coded, named
from ragsieve.structure.ends import ends
from ragsieve.structure.linearize import content_words
from ragsieve.structure.values import SIGNS, Moment, Number, hour, moments, number, unit
from ragsieve.structure.words import WHOLE, idle, pattern, sign, stems
from ragsieve.text import language
from ragsieve.types import Span, grouped

_NEAR = 4  # words between a word of comparison or a column's name and its value
_FEW = 3  # rows that a condition names by itself, whatever the others say
_LONG = 5  # words of a value
_WORD = re.compile(r"(?:[^\s,;|\"'`(){}\[\]<>=?!“”„«»]|(?<=\w)'(?=\w))+")
_ENDS = re.compile(r"(?:['’]s?|[.:,…]+)$")
_OPERAND = re.compile(
    r"(?:(?<![\w.,:/#-])(?:[$€£¥][ ]?)?[-+−]?|(?<=\d[-–]))(?:\d[\d.,]*\d|\d)"
    r"(?P<unit>[ ]?[%°$€£¥]?[^\W\d_]*)(?![\w/]|:\d)"
)
_BEFORE = re.compile(
    r"(?<=[^\W\d_,;:][ ])([A-Z][a-z]\w*)[ ]\Z"
)  # a name, but no sentence's first word
_BEHIND = re.compile(r"[ ]([A-Z]\w+)")
_TERM = re.compile(r"[ ]([a-z]{2,}[a-rt-z])[ ]([a-z]{3,})")
_GLUED = re.compile(r" (?=#?\d+$)")  # where a sign may stand between a word and its number
_IDENTIFIER = re.compile(r"(?=.*\d).{3,}|\w\w+[._:/]\w\w")


@dataclass(frozen=True)
class Condition:
    """What a question asks of rows.

    Args:
        said: Column, sign and value, as ``customer = Ada``.
        columns: Places of the columns in which it may be met.
        rows: Places of the rows that meet it.
        sure: Of them those that meet it whichever of the columns is meant.
        equal: Whether another one of the same columns may be met in its place.
        named: Whether its value looks like a name or number.
        certain: Whether it can hardly be a word that is a cell by chance.
    """

    said: str
    columns: tuple[int, ...]
    rows: frozenset[int] = field(repr=False)
    sure: frozenset[int] = field(repr=False)
    equal: bool = True
    named: bool = True
    certain: bool = True


@dataclass(frozen=True)
class Reading:
    """Rows that a question asks for.

    Args:
        conditions: Those that hold together.
        rows: Places of the rows that meet them; all where there are none.
        whole: Whether it asks for what no single row settles.
        ranked: Those at an end of a column that is asked for, the best first.
    """

    conditions: tuple[Condition, ...]
    rows: frozenset[int] = field(repr=False)
    whole: bool = False
    ranked: tuple[int, ...] = ()

    @property
    def said(self) -> str:
        """The conditions in a line."""
        return ", ".join(one.said for one in self.conditions)


class _Operand(NamedTuple):
    start: int
    end: int
    value: Number | Moment
    text: str


def read(question: str, run: Run, code: str | None = None) -> Reading:
    """The conditions that a question sets on rows, and the rows that meet most of them.

    All hold together, unless it asks for a share of all or whether there are none. Where no row
    meets them all, the rarest hold, and others that name rows; of all rows that meet them those at
    an end of a column, where it asks for these.
    """
    code = code or language(question)
    reader = _Reader(question, run, code)
    found = [c for c in reader.conditions() if c.certain and 0 < len(c.rows) < len(run.rows)]
    if reader.every and not any(one.named and len(one.rows) == 1 for one in found):
        found = []
    groups = grouped(found, lambda one: one.columns if one.equal else id(one))
    united = [(some, frozenset().union(*(one.rows for one in some))) for some in groups.values()]
    united.sort(key=lambda one: len(one[1]))  # the rarest first
    kept: list[Condition] = []
    rows = frozenset(range(len(run.rows)))
    for some, own in united:
        names = len(own) <= _FEW and all(one.named for one in some)
        if together := rows & own or (rows | own if names else frozenset()):
            rows, kept = together, [*kept, *some]
    said, ranked = ends(question, run, rows, code)
    if ranked:
        rows = frozenset(ranked)
        kept.append(Condition(said, (), rows, rows))
    return Reading(tuple(kept), rows, reader.whole and not ranked, (*ranked,))


class _Reader:
    """Reads a question for one run.

    Args:
        question: What is asked.
        run: Rows.
    """

    def __init__(self, question: str, run: Run, code: str) -> None:
        self.question, self.run = question, run
        self.words_of = partial(pattern, code)
        self.words = [m.span() for m in _WORD.finditer(question)]
        words = [m[0] for m in self.words_of(*SIGNS, *WHOLE, "every").finditer(question)]
        self.every = any(map(self.words_of("every").fullmatch, words))
        self.whole = self.every or any(map(self.words_of(*WHOLE).fullmatch, words))
        self.used: list[tuple[int, int]] = []  # spans that a condition has read
        signs, denies = self.words_of(*SIGNS, "plain", "not"), self.words_of("not").fullmatch
        self.denials = [m.end() for m in signs.finditer(question) if denies(m[0])]  # their ends

    def conditions(self) -> Iterator[Condition]:
        """Those of numbers and dates, then those of values, of which denied ones are reversed."""
        found = [*self._values(2)]  # names with a number in them are no numbers
        self.used += [span for span, _ in found]
        found += self._compared()
        if code := coded(self.question, self.run):
            one = Condition(code.said, code.columns, code.rows, code.rows)
            found.append((code.place, one))
        found = sorted([*found, *self._values(1)], key=lambda one: one[0])
        found = [x for x in found if x[1].said[:4] == "with" or not self._in_name(x[0], found)]
        denied = False
        last = 0
        for (start, end), one in found:
            between = re.sub(r"\b(?:or|nor|and|oder|und)\b", "", self.question[last:start])
            coordinated = denied and not re.search(r"\w", between)
            behind = (self.question[at:start] for at in self.denials if last <= at <= start)
            denied = coordinated or any(len(_WORD.findall(one)) <= _NEAR for one in behind)
            last = end
            if denied:
                rows = frozenset(range(len(self.run.rows))) - one.sure
                one = replace(one, said=f"not {one.said}", rows=rows, equal=False, named=False)
            yield one

    # comparisons

    def _operands(self) -> list[_Operand]:
        found = [_Operand(a, b, one, self.question[a:b]) for a, b, one in moments(self.question)]
        for match in _OPERAND.finditer(self.question):
            start, end = match.span()
            if not unit(match["unit"].strip()):
                end = match.start("unit")
            ends = {b for _, b, *_ in found}
            if self.question[start - 1 : start] in ("-", "–") and start - 1 not in ends:
                continue
            value = self._by_clock(number(self.question[start:end]), end)
            if value and not any(a < end and start < b for a, b, *_ in found):
                found.append(_Operand(start, end, value, self.question[start:end]))
        return sorted(x for x in found if not any(a <= x.start < b for a, b in self.used))

    def _by_clock(self, value: Number | None, end: int) -> Number | Moment | None:
        """An hour where words behind a number, or behind a range, say so."""
        clock = self.words_of("clock", "later", place="after").pattern
        behind = re.match(rf"\s*(?:\w+\s+\d+\s*)?({clock})", self.question[end:], re.IGNORECASE)
        if not value or value.kind or not behind:
            return value
        later = bool(self.words_of("later", place="after").fullmatch(behind[1]))
        return hour(value.raw, later=later) or value

    def _compared(self) -> Iterator[tuple[tuple[int, int], Condition]]:
        operands, last = self._operands(), 0
        place = 0
        while place < len(operands):
            one = operands[place]
            other = operands[place + 1] if place + 1 < len(operands) else None
            stop = other.start if other else len(self.question)
            before, after = self.question[last : one.start], self.question[one.end : stop]
            words = self.words_of(*SIGNS, "between")
            lead = next(reversed([*words.finditer(before)]), None)
            lead = lead if lead and len(_WORD.findall(before[lead.end() :])) <= _NEAR else None
            tail = self.words_of(*SIGNS, place="after").match(after.lstrip())
            begin = last + lead.start() if lead else one.start
            between = lead and self.words_of("between").search(lead[0])
            close = between or not re.search(r"\w", after) or after.strip() == "to"
            if other and close and self.words_of("joins").fullmatch(after.strip()):
                found = self._met([(">=", one), ("<=", other)])
                end, place = other.end, place + 1
            elif lead and (signs := sign(lead[0], "before", one.value)):
                found, end = self._met([(signs, one)]), one.end
            elif tail:
                found = self._met([(sign(tail[0], "after", one.value), one)])
                end = one.end + len(after) - len(after.lstrip()) + tail.end()
            else:
                found, end = self._met([("=", one)]), one.end
                if found and not self._equals(found, before, after):
                    found, self.whole = None, True
                    self.used.append((begin, end))
            if found:
                self.used.append((begin, end))
                yield (begin, end), found
            elif isinstance(one.value, Moment) and named(self.question, self.run):
                self.whole = True  # hours of a cell, as 10-18
            last, place = end, place + 1

    def _equals(self, found: Condition, before: str, after: str) -> bool:
        """Whether nothing beside a number or date says that it is compared in words not known."""
        words = _WORD.findall(before)[-_NEAR:]
        last = words[-1] if words else ""
        names = any(self._names(n, last) for n in found.columns)
        if names or all(self.run.columns[n].kind == "name" for n in found.columns):
            return True
        ends = not re.match(r"\s*\w", after) or re.match(r"\s*(?:and|or)\b", after)
        told = any(map(self.words_of(*WHOLE).fullmatch, words))
        return bool(ends and not told and (not last or self.words_of("=").fullmatch(last)))

    def _met(self, parts: Sequence[tuple[str, _Operand]]) -> Condition | None:
        """Rows of the columns that the numbers or dates may be of."""
        near = parts[0][1]
        tried = ((n, _rows(column, parts)) for n, column in enumerate(self.run.columns))
        places = [(n, found) for n, found in tried if found is not None]
        places = self._of(places, near, parts[0][0] == "=")
        rows = frozenset().union(*(found for _, found in places))
        if not rows:
            return None
        names = " or ".join(self._name(n) for n, _ in places)
        if len(parts) == 2:
            said = f"{names} from {parts[0][1].text} to {parts[1][1].text}"
        else:
            said = f"{names} {parts[0][0]} {near.text}"
        sure = frozenset.intersection(*(found for _, found in places))
        return Condition(said, tuple(n for n, _ in places), rows, sure, parts[0][0] == "=")

    def _of(
        self, places: list[tuple[int, frozenset[int]]], near: _Operand, equal: bool
    ) -> list[tuple[int, frozenset[int]]]:
        """The columns that an operand is of: named beside it, of its unit, or that differ."""
        every = len(self.run.rows)
        columns = self.run.columns
        if equal:
            places = [one for one in places if one[1]]
        else:
            places = [one for one in places if columns[one[0]].kind != "name"] or places
        named = self._nearest([n for n, _ in places], near.start, near.end)
        if named:
            return [one for one in places if one[0] in named]
        if isinstance(near.value, Number):
            kinds = [(one, _kind(columns[one[0]])) for one in places]
            same = [one for one, kind in kinds if near.value.kind and kind == near.value.kind]
            places = same or [one for one, kind in kinds if not (kind and near.value.kind)]
            if equal:
                names = [one for one in places if columns[one[0]].kind == "name"]
                plain = near.value.kind or len(re.sub(r"\D", "", near.text)) > 2
                return names or (places if plain else [])
            measures = [one for one in places if columns[one[0]].kind == "number"]
            places = measures or places
        return [one for one in places if 0 < len(one[1]) < every] or places

    def _nearest(self, columns: Sequence[int], start: int, end: int) -> list[int]:
        """Those of some columns whose names stand nearest to a place, near enough."""
        distances = {n: self._distance(n, start, end) for n in columns}
        least = min(distances.values(), default=_NEAR + 1)
        return [n for n, own in distances.items() if own == least] if least <= _NEAR else []

    def _distance(self, column: int, start: int, end: int) -> int:
        """Words between a column's name and a place; many where it is not named."""
        names = stems(self.run.columns[column].name)
        said = ((a, b) for a, b in self.words if names & stems(self.question[a:b]))
        between = (self.question[b:start] if b <= start else self.question[end:a] for a, b in said)
        return min((len(_WORD.findall(one)) for one in between), default=len(self.words))

    def _names(self, column: int, text: str) -> bool:
        """Whether a text has a word of a column's name."""
        return bool(stems(self.run.columns[column].name) & stems(text))

    def _name(self, column: int) -> str:
        return self.run.columns[column].name.strip(".") or "name"

    # values

    def _values(self, least: int) -> Iterator[tuple[tuple[int, int], Condition]]:
        asked = content_words(self.question)
        place = 0
        while place < len(self.words):
            for size in range(min(_LONG, len(self.words) - place), least - 1, -1):
                start, end = self.words[place][0], self.words[place + size - 1][1]
                inside = any(a < end and start < b for a, b in self.used)
                if inside or (least > 1 and not self.question[start].isalpha()):
                    continue
                one = self._value(start, end, asked)
                if one:
                    yield (start, end), one
                    place += size - 1
                    break
            place += 1

    def _value(self, start: int, end: int, asked: set[str]) -> Condition | None:
        text = _ENDS.sub("", self.question[start:end].strip("*_#"))
        key = text.casefold()
        if not key or (len(key) < 2 and key not in asked) or ("  " not in key and idle(key, asked)):
            return None
        ways = [key, key.removesuffix("s"), *(_GLUED.sub(mark, key) for mark in "-_#")]
        found = next((self.run.index[way] for way in ways if way in self.run.index), {})
        if not found and _IDENTIFIER.search(text) and " " not in text:
            return self._part(text)
        columns = [*found]
        if number(key):  # numbers of measures are compared
            columns = [n for n in columns if self.run.columns[n].kind != "number"]
        columns = self._nearest(columns, start, end) or columns
        columns = [n for n in columns if not self._names(n, text)] or columns
        below = self.run.sections
        each = [frozenset(row for n in found[c] for row in below.get(n, (n,))) for c in columns]
        if not each:
            return None
        rows, sure = frozenset().union(*each), frozenset.intersection(*each)
        names = " or ".join(self._name(n) for n in columns)
        named = " " in text or bool(re.search(r"[\d_A-Z/.@:]", text))
        names_one = any(self.run.columns[n].is_name(text) for n in columns)
        certain = named or len(rows) > 1 or names_one
        certain = certain and (named or not self._in_term(end))
        said = f"{names} = {text}"
        return Condition(said, tuple(columns), rows, sure, named=named, certain=certain)

    def _in_term(self, end: int) -> bool:
        """Whether a word is a part of a term, as open of open source licence."""
        behind = _TERM.match(self.question, end)
        if not behind or self.words_of("not", "plain").match(behind[0].lstrip()):
            return False  # paid but also packed
        named = any(stems(behind[1]) & stems(one.name) for one in self.run.columns)
        return {behind[1], behind[2]} <= content_words(behind[0]) and not named

    def _in_name(self, span: Span, found: Sequence[tuple[Span, Condition]]) -> bool:
        """Whether a value is a part of a longer name, as API of Stripey API."""
        start, end = span
        if not self.question[start].isupper():
            return False
        beside = (_BEFORE.search(self.question, 0, start), _BEHIND.match(self.question, end))
        names = (m.span(1) for m in beside if m)
        return any(not any(a < last and first < b for (a, b), _ in found) for first, last in names)

    def _part(self, text: str) -> Condition | None:
        """Rows that have an identifier among other words."""
        pattern = re.compile(rf"(?<![\w.-]){re.escape(text)}(?![\w-])", re.IGNORECASE)
        spans = enumerate(self.run.rows)
        rows = frozenset(n for n, span in spans if pattern.search(self.run.text, *span))
        return Condition(f"with {text}", (-1,), rows, rows) if rows else None


def _kind(column: Column) -> str:
    found = next(filter(None, column.numbers), None)
    return found.kind if found else ""


def _rows(column: Column, parts: Sequence[tuple[str, _Operand]]) -> frozenset[int] | None:
    """Rows whose cell meets all comparisons; None of a column of another type."""
    tests = [column.meets(sign, one.value) for sign, one in parts]
    if any(test is None for test in tests):
        return None
    tested = zip(column.rows, *filter(None, tests), strict=True)
    return frozenset(row for row, *met in tested if all(met))
