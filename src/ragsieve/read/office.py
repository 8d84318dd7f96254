"""PDF and Word files to text."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.text import safe

if TYPE_CHECKING:
    from docx.document import Document as Docx
    from docx.table import Table as DocxTable
    from docx.text.paragraph import Paragraph

MAX_UNPACKED = 1 << 28
"""Bytes of a Word file, unpacked, at most: 256 MiB."""


def pdf_pages(raw: bytes, name: str) -> list[str]:
    """The text of each page of a PDF; empty for a page that is a picture.

    Raises:
        InputError: If it cannot be read, needs a password, or no page has text.
        MissingExtra: Without the extra ``documents``.
    """
    with needs_extra("documents"):
        from pypdf import PdfReader
    try:
        pages = [safe(page.extract_text()) for page in PdfReader(BytesIO(raw)).pages]
    except Exception as error:  # a damaged file raises almost anything
        raise InputError(f"{name} cannot be read as PDF: {_line(error)}") from error
    if not any(page.strip() for page in pages):
        raise InputError(f"{name} must hold text, got {len(pages)} pages without: scanned pages?")
    return pages


def docx_text(raw: bytes, name: str) -> str:
    """The paragraphs and tables of a Word file in order, headings and tables as Markdown.

    Raises:
        InputError: If it cannot be read, or unpacks to more than `MAX_UNPACKED` bytes.
        MissingExtra: Without the extra ``documents``.
    """
    with needs_extra("documents"):
        from docx import Document as open_docx
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MAX_UNPACKED:
            raise InputError(f"it must unpack to at most {MAX_UNPACKED} bytes, got {size}")
        return safe("\n\n".join(filter(None, _blocks(open_docx(BytesIO(raw))))))
    except Exception as error:  # a damaged file raises almost anything
        raise InputError(f"{name} cannot be read as a Word file: {_line(error)}") from error


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


def _line(error: Exception) -> str:
    return one_line(error, 200) or type(error).__name__
