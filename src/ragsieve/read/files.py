"""Files to documents: text, Markdown, HTML, PDF, Word, mails, notebooks, JSON and JSONL."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragsieve.documents import as_documents, from_json
from ragsieve.errors import InputError, MissingExtra, naming
from ragsieve.files import bounded, read_bytes, standard_input
from ragsieve.read.notebook import notebook_text
from ragsieve.read.office import docx_text, mail_text, pdf_pages
from ragsieve.read.web import charset, page_text
from ragsieve.run.questions import as_example, is_question, lines, load_json
from ragsieve.types import FILE, Document, Example

Warn = Callable[[str], object]
Found = tuple[str, int, Document | Example]

_TEXT = """
    .txt .text .log .md .markdown .mdx .rst .adoc .asciidoc .org .tex .srt .vtt .csv .tsv
    .yaml .yml .toml .ini .cfg .conf .xml .ics .vcf
"""
_PARSED = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), "page"),
    **dict.fromkeys((".jsonl", ".ndjson"), "lines"),
    **{".json": "json", ".ipynb": "notebook", ".pdf": "pdf", ".docx": "word", ".eml": "mail"},
    ".mbox": "mails",
}
_KINDS = dict.fromkeys(_TEXT.split(), "text") | _PARSED  # by endings; of a folder these are read
_SOFFICE = "soffice --headless --convert-to"
_CONVERTED = {  # what is not read, and a command whose file is
    **dict.fromkeys((".doc", ".odt", ".rtf"), f"{_SOFFICE} docx"),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), f"{_SOFFICE} pdf"),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), f"{_SOFFICE} html"),
    **dict.fromkeys((".epub", ".fb2"), "pandoc -t markdown -o book.md"),
}
_PARTS = {"pdf": "page", "lines": "line", "mails": "mail"}
_WHOLE = {"word": docx_text, "mail": mail_text, "notebook": notebook_text}
# a line before each mail, which has a time; mails begin with a field
_MAIL = re.compile(rb"^From \S(?=.*\d\d:\d\d).*+\n(?=[!-9;-~]++:)", re.MULTILINE)
_JSON, _TAG = re.compile(rb'\{\s*"|\[\s*[\[{"]'), re.compile(rb"<[!?a-zA-Z]")


def read_documents(paths: Sequence[str], warn: Warn | None = None) -> tuple[Document, ...]:
    """Documents of the files and folders, in order; ``-`` is standard input.

    Pages, Word files, mails and notebooks become text, a ``.pdf`` one document a page with the id
    ``PATH#page=N``, an ``.mbox`` one a mail, ``PATH#mail=N``; ``.jsonl``, also packed as ``.gz``,
    hold a document a line, ``.json`` one or an array of them, each any JSON (`from_json`); other
    files are text as they are. Folders are read recursively, files of these kinds, text, tables,
    logs and settings, by name; hidden ones and code are left out. Standard input is JSON where it
    is an object or an array, JSONL where it begins with an object, HTML where it begins with a tag,
    else text. The metadata of each of several files, or pages, name its ``file``.

    Args:
        paths: Files and folders.
        warn: Given a line for each file and folder in a folder that cannot be read, which is left
            out, and one for those of other kinds.

    Raises:
        InputError: If a file cannot be read, is not UTF-8 or is no JSON though it should be, and
            was named or there is no ``warn``; if one holds questions, or is of a known format that
            is not read: it says a command that converts it.
    """
    if list(paths).count("-") > 1:
        raise InputError("standard input can be read once, got - twice")
    found = [*chain.from_iterable(items_of(name, warn) for name in paths)]
    pages = len(found) > 1 and _kind(found[0][0]) == "pdf"
    several = pages or len({path for path, *_ in found}) > 1
    return tuple(_document(*one, several) for one in found)


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
            if _kind(path.name) and (path.is_file() or not path.exists()):
                yield str(path)
            else:
                others[path.suffix.lower() or "no ending"] += 1
    if others and warn:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in others.most_common())
        warn(f"left out files of other kinds: {kinds}")


def _document(path: str, number: int, item: Document | Example, several: bool) -> Document:
    """An item that must be a document; it names its file where there are several."""
    name, kind = name_of(path), _kind(path)
    if isinstance(item, Example):
        place = "item" if kind == "json" else "line"
        reason = "this is a question with documents: pass it by --input"
        raise InputError(f"{name} {place} {number}: {reason}")
    part = f", {_PARTS[kind]} {number}" if kind in _PARTS else ""
    return replace(item, metadata=({FILE: name + part} if several else {}) | {**item.metadata})


def _items(path: str) -> Iterator[tuple[int, Document | Example]]:
    if "\0" in path:
        raise InputError(f"{path} cannot be read: a file's name has no null byte")
    # what is no regular file is read once, up to a bound
    piped = path == "-" or not (path.endswith(".gz") or Path(path).is_file())
    raw = _read(path) if piped else b""
    kind = _guess(raw) if path == "-" else _kind(path)
    if kind == "lines":
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
    if kind == "json":  # an array of items, or one, which is all of it
        value = _json(raw, name)
        items, shown = (value, b"") if isinstance(value, list) else ([value], raw)
        for number, item in enumerate(items, 1):
            yield number, _item(item, f"{name}:{number}", f"{name} item {number}", shown)
    elif kind == "pdf":
        for number, page in enumerate(pdf_pages(raw, name), 1):
            at = f"{path}#page={number}"
            yield number, Document(at, page, source=name, metadata={"page": number})
    elif kind == "mails":
        for number, mail in enumerate(filter(bytes.strip, _MAIL.split(raw)), 1):
            text = mail_text(mail, f"{name} mail {number}")
            yield number, Document(f"{path}#mail={number}", text, source=name)
    elif kind in _WHOLE:
        yield 1, Document(path, _WHOLE[kind](raw, name), source=name)
    else:
        title, text = _decoded(path, kind, raw)
        yield 1, Document(path, text, title, source=name)


def _decoded(path: str, kind: str, raw: bytes) -> tuple[str, str]:
    """Title and text of a page or a text."""
    name, ending = name_of(path), Path(path).suffix.lower()
    if command := _CONVERTED.get(ending):
        raise InputError(f"{name} is not read: convert it, as by `{command} {Path(path).name}`")
    encoding = charset(raw if kind == "page" else raw[:2])  # of text the byte order mark counts
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        rule = "UTF-8" if encoding == "utf-8-sig" else f"{encoding}, as it declares"
        known = f", or end in one of {' '.join(_PARSED)}" if ending not in _KINDS else ""
        byte = f"byte {error.start} is {raw[error.start]:#04x}"
        raise InputError(f"{name} must be {rule}{known}; {byte}") from error
    return page_text(text, name=name) if kind == "page" else ("", text)


def _json(text: bytes, place: str) -> Any:
    with naming(place):
        return load_json(text)


def _item(value: Any, id_: str, place: str, text: bytes) -> Document | Example:
    """A question with documents, if it is one without a text of its own, or any JSON as a document.

    Args:
        value: The item.
        id_: The document's id, where it has none.
        place: Where it stands, for errors.
        text: The item's JSON as it stands, in UTF-8; empty where that is not known.
    """
    with naming(place):
        if is_question(value):
            return as_example(value)
        document = from_json(value, text.decode("utf-8-sig").strip())
        unnamed = document.get("id") in (None, "")
        return as_documents([{**document, "id": id_} if unnamed else document])[0]


def name_of(path: str) -> str:
    return "standard input" if path == "-" else path


def _read(path: str) -> bytes:
    return bounded(standard_input(), name_of(path)) if path == "-" else read_bytes(Path(path))


def _kind(path: str) -> str:
    """What a file is by its ending; empty where that is not known. Lines alone may be packed."""
    name = path.lower()
    kind = _KINDS.get(Path(name.removesuffix(".gz")).suffix, "")
    return kind if kind == "lines" or not name.endswith(".gz") else ""


def _guess(raw: bytes) -> str:
    begin = raw.removeprefix(b"\xef\xbb\xbf")[:1024].lstrip()
    if not _JSON.match(begin):
        return "page" if _TAG.match(begin) else "text"
    try:
        load_json(raw)
    except InputError:  # more than one value
        return "lines" if begin.startswith(b"{") else "text"
    return "json"
