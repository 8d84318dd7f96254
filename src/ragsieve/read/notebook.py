"""Notebooks of Jupyter to text."""

import re
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from ragsieve.errors import InputError, MissingExtra, naming
from ragsieve.read.web import page_text
from ragsieve.run.questions import load_json
from ragsieve.schema import read
from ragsieve.text import safe

_Lines = str | list[str]
_NAME = re.compile(r"\s*<[^<>\n]*>\s*")  # of an object that shows itself in another form


class _Shown(msgspec.Struct, frozen=True):
    plain: _Lines = msgspec.field(default="", name="text/plain")
    markdown: _Lines = msgspec.field(default="", name="text/markdown")
    latex: _Lines = msgspec.field(default="", name="text/latex")
    html: _Lines = msgspec.field(default="", name="text/html")


class _Output(msgspec.Struct):
    text: _Lines = ""
    data: _Shown = _Shown()
    ename: str = ""
    evalue: str = ""


class _Cell(msgspec.Struct):
    source: _Lines
    cell_type: str = "code"
    outputs: list[_Output] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


def notebook_text(raw: bytes, name: str) -> str:
    """The cells of a notebook in order: Markdown as it stands, code and what it put out in fences.

    Of an output its text stays, not its pictures; where that names an object alone, its Markdown,
    its TeX or, with the extra ``html``, its HTML as Markdown.

    Raises:
        InputError: If it is no notebook of version 4.
    """
    with naming(f"{name} cannot be read as a notebook"):
        cells = read(_Notebook, load_json(raw)).cells
    return safe("\n\n".join(text for cell in cells for text in _texts(cell) if text.strip()))


def _texts(cell: _Cell) -> Iterator[str]:
    source = "".join(cell.source)
    yield _fenced(source) if cell.cell_type == "code" else source
    for one in cell.outputs:
        error = f"{one.ename}: {one.evalue}" if one.ename else ""
        yield _fenced("".join(one.text) or _shown(one.data) or error)


def _shown(data: _Shown) -> str:
    """The text of an output of several forms."""
    plain, said = "".join(data.plain), "".join(data.markdown or data.latex)
    if plain.strip() and not _NAME.fullmatch(plain):
        return plain
    if not said and data.html:
        with suppress(InputError, MissingExtra):
            _, said = page_text("".join(data.html))
    return said or plain


def _fenced(text: str) -> str:
    return f"```\n{text.rstrip()}\n```" if text.strip() else ""
