"""Rows at the end of a column that a superlative is on, as those with the highest amount."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime

from ragsieve.structure.cells import Column, Run
from ragsieve.structure.values import SIGNS
from ragsieve.structure.words import WHOLE, pattern, stems

_FEW = 3  # rows next to the end that are kept, among them a total of all
_NEAR = 4  # words between a superlative and a column's name
_LONG = 4  # letters of a word that ends a name, as time does in tottime
_CLAUSE = re.compile(r"[,;?]|\b(?:and|und)\b")


def ends(question: str, run: Run, rows: Collection[int], code: str) -> tuple[str, list[int]]:
    """Which end of a column is asked for, in words, and its rows among some, the best first.

    None where the clause also counts or totals, or names no column of numbers or dates.
    """
    signs, whole = pattern(code, *SIGNS, *WHOLE, "every"), pattern(code, *WHOLE, "every")
    degree, up = pattern(code, "most", "least"), pattern(code, "highest", "most")
    for clause in _CLAUSE.split(question):
        said = [m for m in signs.finditer(clause) if whole.fullmatch(m[0])]
        if len(said) == 1 and pattern(code, *WHOLE[1:]).fullmatch(said[0][0]):
            (one,) = said
            columns = _named(clause, *one.span(), run, 0 if degree.fullmatch(one[0]) else _NEAR)
            ranked = [[*_ranked(x, rows, most=bool(up.fullmatch(one[0])))] for x in columns]
            places = sorted((place, row) for some in ranked for place, row in enumerate(some))
            if places:
                names = " or ".join(column.name for column in columns)
                return f"{one[0]} {names}", [*dict.fromkeys(row for _, row in places)]
    return "", []


def _named(clause: str, start: int, end: int, run: Run, reach: int) -> list[Column]:
    """Columns of measures whose names stand nearest to a superlative, so near behind it.

    Of several those of whose names the clause lacks the fewest words.
    """
    near: dict[tuple[int, int], list[Column]] = defaultdict(list)
    for column in run.columns:
        if column.kind in ("number", "time"):
            words = [m for m in re.finditer(r"\w+", clause) if _names(column.name, m[0])]
            after = [len(clause[end : m.start()].split()) for m in words if m.start() >= end]
            before = [len(clause[m.end() : start].split()) for m in words if m.end() <= start]
            far = min([*(n for n in after if n <= reach), *before], default=_NEAR + 1)
            near[far, len(stems(column.name) - stems(clause))].append(column)
    least = min(near, default=(_NEAR + 1, 0))
    return near[least] if least[0] <= _NEAR else []


def _names(column: str, word: str) -> bool:
    names = stems(column)
    own = (one for one in stems(word) if one in names or len(one) >= _LONG)
    return any(name.endswith(one) for one in own for name in names)


def _ranked(column: Column, rows: Collection[int], *, most: bool) -> Iterator[int]:
    """Rows from the end of a column on: all of its last value, and the next while they are few.

    None where its numbers count all rows, as those of orders of which somebody has the most.
    """
    values: dict[float, list[int]] = defaultdict(list)
    for row, number, moment in zip(column.rows, column.numbers, column.moments, strict=True):
        if number or moment:
            since = (moment.start - datetime.min).total_seconds() if moment else 0.0
            values[number.scaled if number else since].append(row)
    if column.distinct and [*values] == sorted(values):
        return
    taken = 0
    for value in sorted(values, reverse=most):
        own = [row for row in values[value] if row in rows]
        if taken and taken + len(own) > _FEW:
            break
        taken += len(own)
        yield from own
