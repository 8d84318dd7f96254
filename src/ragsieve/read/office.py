"""PDF and Word files to text."""

from __future__ import annotations

import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.read.apart import ask, serve
from ragsieve.text import safe

if TYPE_CHECKING:
    from docx.document import Document as Docx
    from docx.table import Table as DocxTable
    from docx.text.paragraph import Paragraph

MAX_UNPACKED = 1 << 28
"""Bytes of a Word file, unpacked, at most: 256 MiB."""


MAX_CELLS = 100_000
"""Cells of a Word file's tables at most, a merged one as often as it is wide."""

MAX_SECONDS = 120.0
"""Seconds in which a file is read or refused."""


def pdf_pages(raw: bytes, name: str) -> list[str]:
    """The text of each page of a PDF; empty for a page that is a picture.

    It is read in a process of its own (`ragsieve.read.apart`), in 4 GiB and `MAX_SECONDS`.

    Raises:
        InputError: If it cannot be read so, needs a password, or no page has text.
        MissingExtra: Without the extra ``documents``.
    """
    with needs_extra("documents"):
        import pypdf  # noqa: F401
    pages = [safe(page) for page in _read("pdf", raw, f"{name} cannot be read as PDF")]
    if not any(page.strip() for page in pages):
        raise InputError(f"{name} must hold text, got {len(pages)} pages without: scanned pages?")
    return pages


def docx_text(raw: bytes, name: str) -> str:
    """The paragraphs and tables of a Word file in order, headings and tables as Markdown.

    It is read as `pdf_pages` are.

    Raises:
        InputError: If it cannot be read so, unpacks to more than `MAX_UNPACKED` bytes or has more
            than `MAX_CELLS`.
        MissingExtra: Without the extra ``documents``.
    """
    with needs_extra("documents"):
        import docx  # noqa: F401
    return safe(_read("docx", raw, f"{name} cannot be read as a Word file"))


def _read(kind: str, raw: bytes, name: str) -> Any:
    return ask(__file__, [kind, b64encode(raw).decode()], name, MAX_SECONDS)


def _answer(request: tuple[str, str]) -> Any:
    kind, data = request
    try:
        return (_pages if kind == "pdf" else _text)(BytesIO(b64decode(data)))
    except MemoryError:
        raise
    except Exception as error:  # a damaged file raises almost anything
        raise ValueError(one_line(safe(str(error)), 200) or type(error).__name__) from error


def _pages(file: BytesIO) -> list[str]:
    from pypdf import PdfReader

    return [page.extract_text() for page in PdfReader(file).pages]


def _text(file: BytesIO) -> str:
    from docx import Document as open_docx
    from docx.oxml.ns import qn

    with zipfile.ZipFile(file) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > MAX_UNPACKED:
        raise InputError(f"it must unpack to at most {MAX_UNPACKED} bytes, got {size}")
    document = open_docx(file)
    spans = (int(e.get(qn("w:val"), 1)) for e in document.element.iter(qn("w:gridSpan")))
    if (cells := sum(spans)) > MAX_CELLS:
        raise InputError(f"it must have at most {MAX_CELLS} cells, got {cells} in merged ones")
    return "\n\n".join(filter(None, _blocks(document)))


def _blocks(document: Docx) -> Iterator[str]:
    from docx.table import Table

    for block in document.iter_inner_content():
        yield _table(block) if isinstance(block, Table) else _paragraph(block)


def _paragraph(paragraph: Paragraph) -> str:
    style = paragraph.style.name if paragraph.style else None
    level = (style or "").removeprefix("Heading ")
    return "#" * int(level) + " " + paragraph.text if level.isdecimal() else paragraph.text


def _table(table: DocxTable) -> str:
    rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in table.rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    serve(_answer)
