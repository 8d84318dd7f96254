"""Files to documents: text, Markdown, HTML, PDF, Word, mails, JSON and JSONL."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragsieve.documents import as_documents, from_json
from ragsieve.errors import InputError, MissingExtra
from ragsieve.files import bounded, read_bytes, standard_input
from ragsieve.read.office import docx_text, mail_text, pdf_pages
from ragsieve.read.web import charset, page_text
from ragsieve.run.questions import as_example, is_question, lines, load_json
from ragsieve.types import FILE, Document, Example

Warn = Callable[[str], object]
Found = tuple[str, int, Document | Example]

_TEXT = (".txt", ".md", ".rst", ".adoc", ".org", ".tex", ".srt", ".vtt", ".csv", ".tsv", ".log")
_DATA = (".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".xml", ".ics", ".ipynb")
_PARSED = (".html", ".htm", ".jsonl", ".jsonl.gz", ".json", ".pdf", ".docx", ".eml")
_READ = _TEXT + _DATA + _PARSED  # of a folder

_OFFICE = {".docx": docx_text, ".eml": mail_text}
_JSON, _TAG = re.compile(rb'\{\s*"|\[\s*[\[{"]'), re.compile(rb"<[!?a-zA-Z]")


def read_documents(paths: Sequence[str], warn: Warn | None = None) -> tuple[Document, ...]:
    """Documents of the files and folders, in order; ``-`` is standard input.

    ``.html``, ``.htm``, ``.docx`` and ``.eml`` become text, a ``.pdf`` one document a page with the
    id ``PATH#page=N``; ``.jsonl`` and ``.jsonl.gz`` hold a document a line, ``.json`` one or an
    array of them, each any JSON (`from_json`); other files are text as they are. Folders are read
    recursively, files of these kinds, text, tables, logs, settings and notebooks, by name; hidden
    ones and code are left out. Standard input is JSON where it is an object or an array, JSONL
    where it begins with an object, HTML where it begins with a tag, else text. The metadata of each
    of several files, or pages, name its ``file``.

    Args:
        paths: Files and folders.
        warn: Given a line for each file and folder in a folder that cannot be read, which is left
            out, and one for those of other kinds.

    Raises:
        InputError: If a file cannot be read, is not UTF-8 or is no JSON though it should be, and
            was named or there is no ``warn``; if one holds questions.
    """
    if list(paths).count("-") > 1:
        raise InputError("standard input can be read once, got - twice")
    found = [*chain.from_iterable(items_of(name, warn) for name in paths)]
    documents = map(_document, found)
    alone = len({path for path, *_ in found}) < 2
    if alone and (len(found) < 2 or not found[0][0].lower().endswith(".pdf")):
        return tuple(documents)
    return tuple(map(_with_file, found, documents))


def _with_file(found: Found, document: Document) -> Document:
    path, number, _ = found
    kind = Path(path.removesuffix(".gz")).suffix.lower()
    part = {".pdf": f", page {number}", ".jsonl": f", line {number}"}.get(kind, "")
    return replace(document, metadata={FILE: name_of(path) + part, **document.metadata})


def items_of(name: str, warn: Warn | None, without: Path | None = None) -> Iterator[Found]:
    """The items of a file, or of a folder's files, each with its file and the number of its line.

    See `read_documents`. The number is 1 where a file is one document; ``without`` is left out.
    """
    for path in _walk(Path(name), warn, without) if Path(name).is_dir() else [name]:
        found = _items(path)
        try:
            first = [*islice(found, 1)]
        except MissingExtra as error:
            reading = f", to read {path}"
            raise MissingExtra(error.package, extra=error.extra, instead=reading) from error
        except InputError as error:
            if warn is None or path == name:
                raise
            warn(f"left out: {error}")
        else:
            yield from ((path, *one) for one in chain(first, found))


def _walk(folder: Path, warn: Warn | None, without: Path | None) -> Iterator[str]:
    """Files to read in a folder and all below it, by name; hidden ones are left out."""
    others = Counter[str]()

    def unreadable(error: OSError) -> None:
        line = f"{error.filename} cannot be read: {error.strerror or error}"
        if warn is None or Path(error.filename) == folder:
            raise InputError(line) from error
        warn(f"left out: {line}")

    for here, folders, files in os.walk(folder, onerror=unreadable):
        apart = without and without.resolve()
        folders[:] = sorted(n for n in folders if n[0] != "." and Path(here, n).resolve() != apart)
        for path in (Path(here, name) for name in sorted(files) if not name.startswith(".")):
            # pipes, sockets and devices have no end
            if path.name.lower().endswith(_READ) and (path.is_file() or not path.exists()):
                yield str(path)
            else:
                others[path.suffix.lower() or "no ending"] += 1
    if others and warn:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in others.most_common())
        warn(f"left out files of other kinds: {kinds}")


def _document(found: Found) -> Document:
    path, number, item = found
    if isinstance(item, Example):
        reason = "this is a question with documents: pass it by --input"
        place = "item" if path.lower().endswith(".json") else "line"
        raise InputError(f"{name_of(path)} {place} {number}: {reason}")
    return item


def _items(path: str) -> Iterator[tuple[int, Document | Example]]:
    if "\0" in path:
        raise InputError(f"{path} cannot be read: a file's name has no null byte")
    # what is no regular file is read once, up to a bound
    piped = path == "-" or not (path.endswith(".gz") or Path(path).is_file())
    raw = _read(path) if piped else b""
    kind = _guess(raw) if path == "-" else Path(path.removesuffix(".gz")).suffix.lower()
    if kind == ".jsonl":
        numbered = enumerate(raw.split(b"\n"), 1) if piped else lines(Path(path), array=True)
        for number, line in numbered:
            if line.strip():
                place = f"{name_of(path)} line {number}"
                yield number, _item(_json(line, place), f"{name_of(path)}:{number}", place, line)
    else:
        yield from _whole(path, kind, raw if piped else _read(path))


def _whole(path: str, kind: str, raw: bytes) -> Iterator[tuple[int, Document | Example]]:
    """The items of a file that is read as a whole."""
    name = name_of(path)
    if kind == ".json":
        yield from _array(raw, name)
    elif kind == ".pdf":
        for number, page in enumerate(pdf_pages(raw, name), 1):
            at = f"{path}#page={number}"
            yield number, Document(at, page, source=name, metadata={"page": number})
    elif kind in _OFFICE:
        yield 1, Document(path, _OFFICE[kind](raw, name), source=name)
    else:
        is_page = kind in (".html", ".htm")
        encoding = charset(raw if is_page else raw[:2])  # of text the byte order mark counts
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            rule = "UTF-8" if encoding == "utf-8-sig" else f"{encoding}, as it declares"
            known = f", or end in one of {' '.join(_PARSED)}" if kind not in _READ else ""
            byte = f"byte {error.start} is {raw[error.start]:#04x}"
            raise InputError(f"{name} must be {rule}{known}; {byte}") from error
        title, text = page_text(text, name=name) if is_page else ("", text)
        yield 1, Document(path, text, title, source=name)


def _array(raw: bytes, name: str) -> Iterator[tuple[int, Document | Example]]:
    """The items of a JSON file: those of an array, or one, which is all of it."""
    value = _json(raw, name)
    items, text = (value, b"") if isinstance(value, list) else ([value], raw)
    for number, item in enumerate(items, 1):
        yield number, _item(item, f"{name}:{number}", f"{name} item {number}", text)


def _json(text: bytes, place: str) -> Any:
    try:
        return load_json(text)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _item(value: Any, id_: str, place: str, text: bytes) -> Document | Example:
    """A question with documents, if it is one without a text of its own, or any JSON as a document.

    Args:
        value: The item.
        id_: The document's id, where it has none.
        place: Where it stands, for errors.
        text: The item's JSON as it stands, in UTF-8; empty where that is not known.
    """
    try:
        if is_question(value):
            return as_example(value)
        document = from_json(value, text.decode("utf-8-sig").strip())
        unnamed = document.get("id") in (None, "")
        return as_documents([{**document, "id": id_} if unnamed else document])[0]
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def name_of(path: str) -> str:
    return "standard input" if path == "-" else path


def _read(path: str) -> bytes:
    return bounded(standard_input(), name_of(path)) if path == "-" else read_bytes(Path(path))


def _guess(raw: bytes) -> str:
    begin = raw.removeprefix(b"\xef\xbb\xbf")[:1024].lstrip()
    if not _JSON.match(begin):
        return ".html" if _TAG.match(begin) else ".txt"
    try:
        load_json(raw)
    except InputError:  # more than one value
        return ".jsonl" if begin.startswith(b"{") else ".txt"
    return ".json"
