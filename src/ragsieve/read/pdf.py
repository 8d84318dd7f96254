"""Pages of PDF files to text: as it was written, or as it stands where a page has columns of cells.

What a page draws has no rows: a blank cell leaves nothing, so that a number stands below the wrong
name. pypdf's layout mode keeps the columns of a table, but reads columns of prose line by line.
"""

import json
import re
import textwrap
from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import Any

from pypdf import PdfReader

from ragsieve.models.pruner import TOKENIZER, Pruner
from ragsieve.structure import outline

_GAP = re.compile(r"(?<=\S) {3,}(?=\S)")  # between cells: justified words have two
_CELL = re.compile(r"\S+(?: {1,2}\S+)*")
_JUSTIFIED = re.compile(r"(?<=\S)  (?=\S)")
_SPREAD = re.compile(r"(\S {3}[^\n]*)\n(?:[ ]*\n)+(?=[^\n]*\S {3,}\S)")  # rows with blank lines
_BLANK = re.compile(r"\n(?:[ ]*\n){2,}")
_PROSE = 4  # words of a cell on average, more than which is prose
_NOTE = ("/Subtype", "/F", "/Contents")
_FIELD = ("/FT", "/Ff", "/V", "/T", "/TU", "/AS")  # of a form
_DEEP = 8  # levels of fields
_HIDDEN, _PASSWORD, _RADIO, _BUTTON = 1 << 1, 1 << 13, 1 << 15, 1 << 16  # flags
_SOFT = "\u00ad"
_BROKEN = re.compile(
    r"(?<![^\s(\"'“„«])([^\W_]+(?:-[^\W_]+)*)([-\u2010\u00ad])[ \t]*\n[ \t]*([^\W_]+)(\S*)[ \t]*\n?"
)
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


def pages(file: BytesIO) -> list[str]:
    """The text of each page of a file, words that a line's end divides as one."""
    read = ((_page(page), _written_over(page)) for page in PdfReader(file).pages)
    return unbroken(["\n\n".join(filter(str.strip, parts)) for parts in read])


def _written_over(page: Any) -> str:
    """What stands over a page that it does not draw: fields of a form, and boxes of text."""
    lines = []
    try:
        for one in page.annotations or ():
            note = one.get_object()
            said = {name: note[name] for name in _NOTE if name in note}
            kind = "" if said.get("/F", 0) & _HIDDEN else said.get("/Subtype")
            lines += [str(said.get("/Contents", ""))] if kind == "/FreeText" else []
            lines += [_field(note)] if kind == "/Widget" else []
    except Exception:  # of what is damaged; the page can be read without
        return ""
    return "\n".join(filter(None, lines)).replace("\r", "\n")


def _field(widget: Any) -> str:
    """A line of a field's label and its value; of a box, whether it is ticked."""
    said: dict[str, Any] = {}
    node: Any = widget
    for _ in range(_DEEP):  # what it does not say itself, what it is a part of says
        said = {name: node[name] for name in _FIELD if name in node} | said
        if "/Parent" not in node:
            break
        node = node["/Parent"]
    flags, value, state = said.get("/Ff", 0), said.get("/V", ""), said.get("/AS", "/Off")
    if said.get("/FT") == "/Btn":
        ticked = state != "/Off"
        value = "☒" if ticked else "" if flags & (_BUTTON | _RADIO) else "☐"
        value = state[1:] if ticked and flags & _RADIO else value
    value = ", ".join(map(str, value)) if isinstance(value, list) else value
    shown = isinstance(value, str) and value.strip() and not flags & _PASSWORD
    return f"{said.get('/TU') or said.get('/T', '')}: {value}" if shown else ""


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
    has_table = _lacks_cell(laid) or any(r.kind == "table" for r in outline(laid, small=True))
    return laid if whole and has_table else text


def _lacks_cell(laid: str) -> bool:
    """Whether a line has no cell where the one beside it has one, and all of its cells below it."""
    rows = [[cell.span() for cell in _CELL.finditer(line)] for line in laid.split("\n")]
    for few, many in (sorted(pair, key=len) for pair in pairwise(rows)):
        starts, ends = {start for start, _ in many}, {end for _, end in many}
        if 1 < len(few) < len(many) and all(a in starts or b in ends for a, b in few):
            return True
    return False


def unbroken(texts: Sequence[str]) -> list[str]:
    """Texts in which a word that a line's end divides stands on the first of its lines.

    The hyphen stays before a digit or a capital, and where its parts are words of the document or
    of the pruner's vocabulary, but both together are none.
    """
    known = {w.lower() for text in texts for w in _WORD.findall(_BROKEN.sub(" ", text))}
    if any(map(_BROKEN.search, texts)):
        known |= json.loads((Pruner().folder / TOKENIZER).read_bytes())["model"]["vocab"].keys()

    def whole(found: re.Match[str]) -> str:
        first, sign, rest, more = found.groups()
        line = found.string.rfind("\n", 0, found.start()) + 1
        end = found.string.find("\n", found.end(3))
        if _GAP.search(found.string[line : end if end > 0 else None]):
            return found[0]  # cells
        one, two = first.lower(), rest.lower()
        compound = f"{one}-{two}" in known or {*one.split("-"), two} <= known
        glued = rest[0].islower() and (f"{one}{two}" in known or not compound)
        return f"{first}{'-' * (sign != _SOFT and not glued)}{rest}{more}\n"

    return [_BROKEN.sub(whole, text) for text in texts]
