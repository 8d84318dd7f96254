"""PDF, Word and mail files to text."""

from __future__ import annotations

import zipfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from ragsieve.errors import InputError, needs_extra, one_line
from ragsieve.read.apart import ask, serve
from ragsieve.read.web import page_text
from ragsieve.text import legacy_charset, safe

if TYPE_CHECKING:
    from email.message import MIMEPart

MAX_UNPACKED = 1 << 28
"""Bytes of a Word file, unpacked, at most: 256 MiB."""


MAX_CELLS = 100_000
"""Cells of a Word file's tables at most, a merged one as often as it is wide."""

MAX_SECONDS = 120.0
"""Seconds in which a file is read or refused."""

_HEAD = ("From", "To", "Cc", "Date", "Subject")


def pdf_pages(raw: bytes, name: str) -> list[str]:
    """The text of each page of a PDF, tables in columns; empty for a page that is a picture.

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

    Numbers of lists and headings stand there as Word shows them, insertions, fields and content
    controls too; what is deleted does not. It is read as `pdf_pages` are.

    Raises:
        InputError: If it cannot be read so, unpacks to more than `MAX_UNPACKED` bytes or has more
            than `MAX_CELLS`.
        MissingExtra: Without the extra ``documents``.
    """
    with needs_extra("documents"):
        import docx  # noqa: F401
    return safe(_read("docx", raw, f"{name} cannot be read as a Word file"))


def mail_text(raw: bytes, name: str) -> str:
    """Header and texts of a mail, decoded: plain text, else HTML as Markdown; attached texts and
    mails follow at their places, other attachments are named. It is read as `pdf_pages` are.

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
    from ragsieve.read.pdf import pages

    return pages(file)


def _text(file: BytesIO) -> str:
    from docx import Document as open_docx
    from docx.oxml.ns import qn

    from ragsieve.read.word import blocks

    with zipfile.ZipFile(file) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > MAX_UNPACKED:
        raise InputError(f"it must unpack to at most {MAX_UNPACKED} bytes, got {size}")
    document = open_docx(file)
    spans = (max(1, int(e.get(qn("w:val"), 1))) for e in document.element.iter(qn("w:gridSpan")))
    if (cells := sum(spans)) > MAX_CELLS:
        raise InputError(f"it must have at most {MAX_CELLS} cells, got {cells} in merged ones")
    return "\n\n".join(blocks(document))


def _mail(file: BytesIO) -> list[tuple[str, str]]:
    from email import message_from_binary_file, policy
    from email.headerregistry import ContentDispositionHeader, HeaderRegistry

    headers = HeaderRegistry(use_default_map=False)  # addresses are parsed in quadratic time
    headers.map_to_type("content-disposition", ContentDispositionHeader)  # type: ignore[arg-type]
    by = policy.default.clone(header_factory=headers)
    return [*_texts(message_from_binary_file(file, policy=by))]


def _texts(mail: MIMEPart) -> Iterator[tuple[str, str]]:
    """Texts with their kinds, ``"html"`` or another."""
    head = (f"{name}: {' '.join(str(mail[name]).split())}" for name in _HEAD if mail[name])
    yield "plain", "\n".join(head)
    for part in _leaves(mail):
        name, kind = part.get_filename(), part.get_content_type()
        is_text = kind.startswith(("text/", "multipart/"))  # multipart: broken
        if name or (not is_text and kind != "message/rfc822"):
            yield "plain", f"Attachment: {' '.join((name or kind).split())}"
        if is_text:
            yield part.get_content_subtype(), _decoded(part)
        for attached in part.iter_parts():  # a mail's
            yield from _texts(attached)


def _leaves(part: MIMEPart) -> list[MIMEPart]:
    """The parts of a mail, of alternatives one: plain text, or HTML where that is blank."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        return [part]
    forms = [one for kind in ("plain", "html") if (one := part.get_body((kind,))) is not None]
    if forms and part.get_content_subtype() == "alternative":
        return [next(filter(_decoded, forms), forms[0])]
    return [leaf for inner in part.iter_parts() for leaf in _leaves(inner)]


def _decoded(part: MIMEPart) -> str:
    raw: Any = part.get_payload(decode=True)
    charset = legacy_charset(part.get_content_charset("")) or "utf-8"
    return str(raw, charset, "replace").replace("\r\n", "\n").strip()


if __name__ == "__main__":
    serve(_answer)
