"""Files to documents: text, Markdown, HTML, PDF, Word, JSON and JSONL."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragsieve import datasets
from ragsieve.datasets.local import as_example, is_question, lines, load_json
from ragsieve.documents import as_documents, from_json
from ragsieve.errors import InputError
from ragsieve.files import read_bytes
from ragsieve.retrieve.index.store import digest_of
from ragsieve.retrieve.office import docx_text, pdf_pages
from ragsieve.retrieve.web import charset, page_text
from ragsieve.types import Document, Example

READ = (".txt", ".md", ".html", ".htm", ".jsonl", ".jsonl.gz", ".json", ".pdf", ".docx")
"""Endings of the files that are read of a folder."""

_JSON, _TAG = re.compile(rb'\{\s*"|\[\s*[\[{"]'), re.compile(rb"<[!?a-zA-Z]")
_BOM = b"\xef\xbb\xbf"
_OF_QUESTION = (  # metadata of a passage in the list of one question, not its own
    *("is_positive", "has_answer", "supporting_sentences", "relevance", "answer_part"),
    *("retriever", "rank", "score", "duplicate_of"),
)


def read_documents(
    paths: Sequence[str], others: Counter[str] | None = None
) -> tuple[Document, ...]:
    """Documents of the files and folders, in order; ``-`` is standard input.

    ``.html``, ``.htm`` and ``.docx`` become text, a ``.pdf`` one document a page with the id
    ``PATH#page=N``; ``.jsonl`` and ``.jsonl.gz`` hold a document a line, ``.json`` one or an array
    of them, each any JSON (`from_json`); other files are text as they are. Folders are read as by
    `Sources`. Standard input is JSON where it is an object or an array, JSONL where it begins with
    an object, HTML where it begins with a tag, else text.

    Args:
        paths: Files and folders.
        others: Files of folders that were left out, by ending, are counted here.

    Raises:
        InputError: If a file cannot be read, is not UTF-8, is no JSON though it should be, or holds
            questions.
    """
    if list(paths).count("-") > 1:
        raise InputError("standard input can be read once, got - twice")
    others = Counter() if others is None else others
    return tuple(d for name in paths for path in _files(name, others) for d in _documents(path))


def _files(name: str, others: Counter[str], without: Path | None = None) -> Iterable[str]:
    """The files of a name: those of a folder, else itself."""
    return _walk(Path(name), others, without) if Path(name).is_dir() else [name]


def _walk(folder: Path, others: Counter[str], without: Path | None) -> Iterator[str]:
    """Files to read in a folder and all below it, by name; hidden ones are left out.

    Args:
        folder: The folder.
        others: Files of other kinds are counted here, by ending.
        without: A folder to leave out.
    """
    for here, folders, files in os.walk(folder, onerror=_unreadable):
        visible = sorted(name for name in folders if not name.startswith("."))
        apart = without and without.resolve()
        folders[:] = [name for name in visible if Path(here, name).resolve() != apart]
        for name in sorted(files):
            if name.lower().endswith(READ) and not name.startswith("."):
                yield str(Path(here, name))
            elif not name.startswith("."):
                others[Path(name).suffix.lower() or "no ending"] += 1


@dataclass
class Sources:
    """Documents of files, folders and data sets, one at a time, to be read once.

    A file is one document, whose id is its path as given, and a PDF one a page; JSON and JSONL hold
    documents, or questions with documents. Folders are read recursively, files by name; hidden ones
    are left out.
    The documents of questions are pooled: what has the same title and text comes once, as
    ``QUESTION/DOCUMENT`` of the first that had it, without what the question's list says of it;
    where another document has that id, as ``SOURCE:LINE/DOCUMENT``.

    Args:
        names: Files, folders, names of `ragsieve.datasets`; ``-`` is standard input.
        data: Folder of data sets; see `ragsieve.datasets.load`.
        without: A folder to leave out, such as the one that an index lies in.
        others: Files of folders that were left out, by ending; grows while reading.
        repeated: Documents of questions that had come before; grows while reading.

    Raises:
        InputError: If there is no such file, folder or data set; while reading, as
            `read_documents` and the data sets do, and if two documents of one id differ.
    """

    names: Sequence[str]
    data: Path | None = None
    without: Path | None = None
    others: Counter[str] = field(default_factory=Counter, init=False)
    repeated: int = field(default=0, init=False)
    _seen: set[bytes] = field(default_factory=set, init=False, repr=False)
    _ids: dict[str, bytes] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if list(self.names).count("-") > 1:
            raise InputError("standard input can be read once, got - twice")
        for name in self.names:
            if not _is_file(name):
                _known(name, self.data)

    def __iter__(self) -> Iterator[Document]:
        for name in self.names:
            if _is_file(name):
                for path in _files(name, self.others, self.without):
                    yield from self._file(path)
            else:
                dataset = _known(name, self.data)
                yield from self._pooled(dataset.examples(), dataset.name)

    def _file(self, path: str) -> Iterator[Document]:
        for number, item in _items(path):
            if isinstance(item, Document):
                yield self._named(item, path, number)
            else:
                yield from self._pooled([(number, item)], path)

    def _named(self, document: Document, name: str, line: int) -> Document:
        digest = digest_of(document)
        if self._ids.setdefault(document.id, digest) != digest:
            place = f"{_name(name)} line {line}"
            raise InputError(f"{place}: documents must have unique ids, got {document.id!r} again")
        return document

    def _pooled(self, examples: Iterable[tuple[int, Example]], name: str) -> Iterator[Document]:
        for number, example in examples:
            question = example.query.id or f"{name}:{number}"
            for document in example.documents:
                if (digest := digest_of(document)) in self._seen:
                    self.repeated += 1
                    continue
                self._seen.add(digest)
                own = {k: v for k, v in document.metadata.items() if k not in _OF_QUESTION}
                id_ = f"{question}/{document.id}"
                if id_ in self._ids:
                    id_ = f"{name}:{number}/{document.id}"
                source = document.source or name
                pooled = replace(document, id=id_, rank=0, metadata=own, source=source)
                yield self._named(pooled, name, number)


def _is_file(name: str) -> bool:
    return name == "-" or Path(name).exists()


def _known(name: str, data: Path | None) -> datasets.Dataset:
    if name not in datasets.DATASETS:
        raise InputError(f"a source must be a file, a folder or a data set's name, got {name!r}")
    return datasets.load(name, folder=data)


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename} cannot be read: {error.strerror or error}") from error


def _documents(path: str) -> Iterator[Document]:
    for number, item in _items(path):
        if isinstance(item, Example):
            reason = "this is a question with documents: pass it by --input"
            place = "item" if path.lower().endswith(".json") else "line"
            raise InputError(f"{_name(path)} {place} {number}: {reason}")
        yield item


def _items(path: str) -> Iterator[tuple[int, Document | Example]]:
    """The items of a file, each with the number of its line; 1 where a file is one document."""
    if "\0" in path:
        raise InputError(f"{path} cannot be read: a file's name has no null byte")
    raw = _read(path) if path == "-" else b""
    kind = _guess(raw) if path == "-" else Path(path.removesuffix(".gz")).suffix.lower()
    if kind == ".jsonl":
        numbered = enumerate(raw.split(b"\n"), 1) if path == "-" else lines(Path(path))
        for number, line in numbered:
            if line.strip():
                place = f"{_name(path)} line {number}"
                yield number, _item(_json(line, place), f"{_name(path)}:{number}", place, line)
    else:
        yield from _whole(path, kind, raw if path == "-" else _read(path))


def _whole(path: str, kind: str, raw: bytes) -> Iterator[tuple[int, Document | Example]]:
    """The items of a file that is read as a whole."""
    name = _name(path)
    if kind == ".json":
        yield from _array(raw, name)
        return
    if kind == ".pdf":
        for number, page in enumerate(pdf_pages(raw, name), 1):
            at = f"{path}#page={number}"
            yield number, Document(at, page, source=name, metadata={"page": number})
        return
    if kind == ".docx":
        yield 1, Document(path, docx_text(raw, name), source=name)
        return
    is_page = kind in (".html", ".htm")
    encoding = charset(raw) if is_page else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        rule = "UTF-8" if encoding == "utf-8-sig" else f"{encoding}, as it declares"
        known = f", or end in one of {' '.join(READ)}" if kind not in READ else ""
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


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _read(path: str) -> bytes:
    return sys.stdin.buffer.read() if path == "-" else read_bytes(Path(path))


def _guess(raw: bytes) -> str:
    begin = raw.removeprefix(_BOM)[:1024].lstrip()
    if not _JSON.match(begin):
        return ".html" if _TAG.match(begin) else ".txt"
    try:
        load_json(raw)
    except InputError:  # more than one value
        return ".jsonl" if begin.startswith(b"{") else ".txt"
    return ".json"
