"""Files to documents: plain text, Markdown, HTML, and JSONL with a document a line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ragsieve.datasets.local import parse_json
from ragsieve.errors import InputError
from ragsieve.pipeline import as_documents
from ragsieve.retrieve.web import page_text
from ragsieve.types import Document

_KINDS = ((".jsonl", re.compile(rb'\{\s*"')), (".html", re.compile(rb"<[!?a-zA-Z]")))
_BOM = b"\xef\xbb\xbf"


def read_documents(paths: Sequence[str]) -> tuple[Document, ...]:
    """Documents of the files, in order; ``-`` is standard input.

    ``.html`` and ``.htm`` become text, ``.jsonl`` holds a document a line, other files are text as
    they are. Standard input is JSONL where it begins with an object, HTML where it begins with a
    tag, else text.

    Raises:
        InputError: If a file cannot be read, is not UTF-8, or a line of JSONL is no document.
    """
    if list(paths).count("-") > 1:
        raise InputError("standard input can be read once, got - twice")
    return tuple(document for path in paths for document in _documents(path))


def _documents(path: str) -> Iterator[Document]:
    raw = _read(path)
    name = "standard input" if path == "-" else path
    kind = _guess(raw) if path == "-" else Path(path).suffix.lower()
    if kind == ".jsonl":
        yield from _listed(raw, name)
        return
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise InputError(f"{name} must be UTF-8, byte {error.start} is {byte:#04x}") from error
    title, text = page_text(text, name=name) if kind in (".html", ".htm") else ("", text)
    yield Document(path, text, title, source=name)


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}") from error


def _guess(raw: bytes) -> str:
    begin = raw.removeprefix(_BOM)[:1024].lstrip()
    return next((kind for kind, pattern in _KINDS if pattern.match(begin)), ".txt")


def _listed(raw: bytes, name: str) -> Iterator[Document]:
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                record = parse_json(line)
                if "documents" in record and "text" not in record:
                    raise InputError("this is a question with documents: pass it by --input")
                yield from as_documents([{**record, "id": record.get("id") or f"{name}:{number}"}])
            except InputError as error:
                raise InputError(f"{name} line {number}: {error}") from error
