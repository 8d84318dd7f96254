"""Short cells that a legend beside their table explains, as ``N = night`` of a roster."""

import re
from typing import NamedTuple

from ragsieve.structure.cells import Run
from ragsieve.structure.linearize import content_words
from ragsieve.structure.words import stems
from ragsieve.types import Span

_LEAST = 2  # codes of a legend
_NEAR = 3000  # characters between a legend and its table
_SHORT = 2  # letters of a column's name that begin a word of the question, at least
_WORD = re.compile(r"[^\W\d_]+")
_MEANT = re.compile(r"(?<!\w)([^\s=:,;|()]{1,4})[ ]?[=:–][ ]?([^\W\d_][^,;|()=\n]{1,60})")


class Coded(NamedTuple):
    """The rows that have the code of which a question tells what it means.

    Args:
        said: Column and code, as ``Wed = N``.
        columns: Those that the question names, at least one.
        rows: Places of the rows.
        place: Where the question says what the code means.
    """

    said: str
    columns: tuple[int, ...]
    rows: frozenset[int]
    place: Span


def coded(question: str, run: Run) -> Coded | None:
    """The rows that a question asks for by the meaning of a code; None where it names no column."""
    places = named(question, run)
    if not places:
        return None
    cells = {token for column in run.columns for cell in column.values for token in cell.split()}
    above, below = max(0, run.start - _NEAR), run.end + _NEAR
    beside = f"{run.text[above : run.start]}\n{run.text[run.end : below]}"
    legend = {m[1]: stems(m[2]) for m in _MEANT.finditer(beside) if m[1] in cells}
    asked = stems(" ".join(content_words(question)))
    shared = {code: len(asked & meaning) for code, meaning in legend.items()}
    most = max(shared.values(), default=0)
    codes = [code for code, number in shared.items() if number == most]
    if len(legend) < _LEAST or not most or len(codes) > 1:
        return None
    meant = (m.span() for m in _WORD.finditer(question) if stems(m[0]) & legend[codes[0]])
    columns = [run.columns[n] for n in places]
    pairs = (pair for c in columns for pair in zip(c.rows, c.values, strict=True))
    rows = frozenset(row for row, cell in pairs if codes[0] in cell.split())
    said = f"{' or '.join(column.name for column in columns)} = {codes[0]}"
    return Coded(said, (*places,), rows, next(meant, (0, 0)))


def named(question: str, run: Run) -> list[int]:
    """Columns that a question names, or by what their name begins, as Wednesday is by ``Wed``."""
    words = _WORD.findall(question.lower())
    short = ((n, column.name.rstrip(".").lower()) for n, column in enumerate(run.columns))
    return [n for n, name in short if name[_SHORT - 1 :] and any(w.startswith(name) for w in words)]
