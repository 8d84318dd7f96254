"""PDF, Word and mail files to text."""

from __future__ import annotations

import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from email import message_from_binary_file, policy
from email.headerregistry import HeaderRegistry, UnstructuredHeader
from email.message import MIMEPart
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.read.apart import ask, serve
from ragsieve.read.web import page_text
from ragsieve.text import legacy_charset, safe

if TYPE_CHECKING:
    from docx.table import Table
    from docx.text.paragraph import Paragraph

MAX_UNPACKED = 1 << 28
"""Bytes of a Word file, unpacked, at most: 256 MiB."""


MAX_CELLS = 100_000
"""Cells of a Word file's tables at most, a merged one as often as it is wide."""

MAX_SECONDS = 120.0
"""Seconds in which a file is read or refused."""

_HEAD = ("From", "To", "Cc", "Date", "Subject")
_MAIL = "message/rfc822"


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


def mail_text(raw: bytes, name: str) -> str:
    """Header and text of a mail, decoded: plain text, else HTML as Markdown.

    Mails that are attached follow; of other attachments the header has the names. It is read as
    `pdf_pages` are.

    Raises:
        InputError: If it cannot be read so.
        MissingExtra: Without the extra ``html``, where it has HTML alone.
    """
    parts = _read("eml", raw, f"{name} cannot be read as a mail")
    texts = [page_text(text, name=name)[1] if kind == "html" else text for kind, text in parts]
    return safe("\n\n".join(filter(None, texts)))


def _read(kind: str, raw: bytes, name: str) -> Any:
    return ask(__file__, [kind, b64encode(raw).decode()], name, MAX_SECONDS)


def _answer(request: tuple[str, str]) -> Any:
    kind, data = request
    try:
        return {"pdf": _pages, "docx": _text, "eml": _mail}[kind](BytesIO(b64decode(data)))
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
    return "\n\n".join(filter(None, map(_block, document.iter_inner_content())))


def _block(block: Paragraph | Table) -> str:
    if hasattr(block, "rows"):
        rows = ([" ".join(cell.text.split()) for cell in row.cells] for row in block.rows)
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    style = block.style.name if block.style else None
    level = (style or "").removeprefix("Heading ")
    return "#" * int(level) + " " + block.text if level.isdecimal() else block.text


def _mail(file: BytesIO) -> list[tuple[str, str]]:
    headers = HeaderRegistry()
    for name in _HEAD[:3]:  # as they stand: to parse addresses takes quadratic time
        headers.map_to_type(name, UnstructuredHeader)  # type: ignore[arg-type]
    by = policy.default.clone(header_factory=headers)
    return [*_texts(message_from_binary_file(file, policy=by))]


def _texts(mail: MIMEPart) -> Iterator[tuple[str, str]]:
    """Texts with their kinds, ``"plain"`` or ``"html"``."""
    attached = [*mail.iter_attachments()]
    files = [part for part in attached if part.get_content_type() != _MAIL]
    head = [(name, str(mail[name])) for name in _HEAD if mail[name]]
    head += [("Attachment", part.get_filename() or part.get_content_type()) for part in files]
    yield "plain", "\n".join(f"{name}: {' '.join(value.split())}" for name, value in head)
    if (body := mail.get_body(("plain", "html"))) is not None:
        yield body.get_content_subtype(), _decoded(body)
    for part in attached:
        if part not in files:
            yield from _texts(part.get_content())


def _decoded(part: MIMEPart) -> str:
    raw: Any = part.get_payload(decode=True)
    text: str = raw.decode(legacy_charset(part.get_content_charset("")) or "utf-8", "replace")
    return text.replace("\r\n", "\n").strip()


if __name__ == "__main__":
    serve(_answer)
