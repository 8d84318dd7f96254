"""Files to documents: plain text, Markdown, HTML, and JSONL with a document a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ragsieve.datasets.local import parse_json
from ragsieve.errors import InputError
from ragsieve.pipeline import as_documents
from ragsieve.retrieve.web import page_text
from ragsieve.types import Document


def read_documents(paths: Sequence[str]) -> tuple[Document, ...]:
    """Documents of the files, in order; ``-`` is standard input.

    ``.html`` and ``.htm`` become text, ``.jsonl`` holds a document a line, other files are text as
    they are. Standard input is JSONL where it begins with an object, HTML where it begins with a
    tag, else text.

    Raises:
        InputError: If a file cannot be read, is not UTF-8, or a line of JSONL is no document.
    """
    found: list[Document] = []
    for path in paths:
        raw = _read(path)
        kind = Path(path).suffix.lower() if path != "-" else _guess(raw)
        name = "standard input" if path == "-" else path
        if kind == ".jsonl":
            found += _documents(raw, name)
            continue
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise InputError(f"{name} must be UTF-8, byte {error.start} is {byte:#04x}") from error
        title, text = page_text(text, name=name) if kind in (".html", ".htm") else ("", text)
        found.append(Document(path, text, title, source=name))
    return as_documents(found)


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def _guess(raw: bytes) -> str:
    begin = raw.lstrip()[:1]
    return {b"{": ".jsonl", b"<": ".html"}.get(begin, ".txt")


def _documents(raw: bytes, name: str) -> Sequence[Document]:
    records = []
    for number, line in enumerate(raw.splitlines(), 1):
        if line.strip():
            try:
                record = parse_json(line)
                if "documents" in record and "text" not in record:
                    raise InputError("this is a question with documents: pass it by --input")
                records.append({"id": f"{name}:{number}", **record})
                as_documents(records[-1:])
            except InputError as error:
                raise InputError(f"{name} line {number}: {error}") from error
    return as_documents(records)
