"""Pages of PDF files to text: as it was written, or as it stands where a page has columns of cells.

What a page draws has no rows: a blank cell leaves nothing, so that a number stands below the wrong
name. pypdf's layout mode keeps the columns of a table, but reads columns of prose line by line.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ragsieve.models.pruner import TOKENIZER, Pruner
from ragsieve.structure import outline

_GAP = re.compile(r"(?<=\S) {3,}(?=\S)")  # between cells: justified words have two
_JUSTIFIED = re.compile(r"(?<=\S)  (?=\S)")
_SPREAD = re.compile(r"(\S {3}[^\n]*)\n(?:[ ]*\n)+(?=[^\n]*\S {3,}\S)")  # rows with blank lines
_BLANK = re.compile(r"\n(?:[ ]*\n){2,}")
_PROSE = 4  # words of a cell on average, more than which is prose
_BROKEN = re.compile(r"(?:^|(?<=[\s(\"'“„«]))([^\W_]+(?:-[^\W_]+)*)([-\u2010\u00ad])\s*$")
_REST = re.compile(r"\s*(\w+)(\S*)[ ]?")
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def pages(reader: Any) -> list[str]:
    """The text of each page of pypdf's reader, words that a line's end divides as one."""
    return [*unbroken([_page(page) for page in reader.pages])]


def _page(page: Any) -> str:
    text: str = page.extract_text()
    try:
        lines = page.extract_text(extraction_mode="layout").split("\n")
    except Exception:  # of a font it cannot measure, a page without text
        return text
    cells = [cell for line in lines if _GAP.search(line) for cell in _GAP.split(line)]
    if not cells or sum(len(cell.split()) for cell in cells) > _PROSE * len(cells):
        return text
    lines = [line if _GAP.search(line) else _JUSTIFIED.sub(" ", line) for line in lines]
    laid = _BLANK.sub("\n\n", _SPREAD.sub(r"\1\n", textwrap.dedent("\n".join(lines)))).strip("\n")
    whole = len("".join(laid.split())) >= len("".join(text.split()))  # it leaves out what is turned
    return laid if whole and any(r.kind == "table" for r in outline(laid, small=True)) else text


def unbroken(texts: list[str]) -> Iterator[str]:
    """Texts in which a word that a line's end divides stands on the first of its lines.

    The hyphen stays before a digit or a capital, and where its parts are words of the document or
    of the pruner's vocabulary, but both together are none.
    """
    known = {
        word.lower()
        for text in texts
        for above, line in pairwise(["", *text.split("\n")])
        for word in _WORD.findall(_BROKEN.sub("", line), _end(above, line))
    }
    if any(_end(*two) for text in texts for two in pairwise(text.split("\n"))):
        known |= json.loads((Pruner().folder / TOKENIZER).read_bytes())["model"]["vocab"].keys()
    for text in texts:
        lines = [""]
        for line in text.split("\n"):
            if after := _end(lines[-1], line):
                lines[-1] = _joined(lines[-1], line[:after].strip(), known)
                line = line[after:]
            lines.append(line)
        yield "\n".join(lines[1:])


def _end(above: str, line: str) -> int:
    """Where the rest of a word ends that begins on the line above; 0 without one."""
    broken = _BROKEN.search(above) and not _GAP.search(above) and not _GAP.search(line)
    rest = _REST.match(line) if broken else None
    return rest.end() if rest else 0


def _joined(line: str, rest: str, known: set[str]) -> str:
    broken, second = _BROKEN.search(line), _WORD.match(rest)
    if not broken or not second:
        return line + rest
    first, sign = broken.groups()
    one, two = f"{first}{second[0]}".lower(), f"{first}-{second[0]}".lower()
    parts = two in known or {*first.lower().split("-"), second[0].lower()} <= known
    whole = sign == "\u00ad" or (second[0][0].islower() and (one in known or not parts))
    return f"{line[: broken.start(1)]}{first}{'' if whole else '-'}{rest}"
