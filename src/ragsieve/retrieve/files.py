"""Files to documents: text, Markdown, HTML, JSONL of documents or of questions with documents."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from ragsieve import datasets
from ragsieve.datasets.local import lines, parse_json, parse_record
from ragsieve.documents import as_documents
from ragsieve.errors import InputError
from ragsieve.retrieve.web import charset, page_text
from ragsieve.types import Document, Example

READ = (".txt", ".md", ".html", ".htm", ".jsonl", ".jsonl.gz")
"""Endings of the files that are read of a folder."""

_KINDS = ((".jsonl", re.compile(rb'\{\s*"')), (".html", re.compile(rb"<[!?a-zA-Z]")))
_BOM = b"\xef\xbb\xbf"
_OF_QUESTION = (  # metadata of a passage in the list of one question, not its own
    *("is_positive", "has_answer", "supporting_sentences", "relevance", "answer_part"),
    *("retriever", "rank", "score", "duplicate_of"),
)


def read_documents(paths: Sequence[str]) -> tuple[Document, ...]:
    """Documents of the files, in order; ``-`` is standard input.

    ``.html`` and ``.htm`` become text, ``.jsonl`` and ``.jsonl.gz`` hold a document a line, other
    files are text as they are. Standard input is JSONL where it begins with an object, HTML where
    it begins with a tag, else text.

    Raises:
        InputError: If a file cannot be read, is not UTF-8, or a line of JSONL is no document.
    """
    if list(paths).count("-") > 1:
        raise InputError("standard input can be read once, got - twice")
    return tuple(document for path in paths for document in _documents(path))


class _Place(NamedTuple):
    """Where a document was read: its `passage_key`, the source's name and the line."""

    passage: bytes
    name: str
    line: int


@dataclass
class Sources:
    """Documents of files, folders and data sets, one at a time, to be read once.

    A file is one document, whose id is its path as given; JSONL holds a document a line, or a
    question with documents. Folders are read recursively, files by name; hidden ones are left out.
    The documents of questions are pooled: what has the same title and text comes once, as
    ``QUESTION/DOCUMENT`` of the first that had it, without what the question's list says of it;
    where another document has that id, as ``SOURCE:QUESTION/DOCUMENT``.

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
    _ids: dict[str, _Place] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if list(self.names).count("-") > 1:
            raise InputError("standard input can be read once, got - twice")
        for name in self.names:
            if name != "-" and not _is_path(name):
                _known(name, self.data)

    def __iter__(self) -> Iterator[Document]:
        for name in self.names:
            if name == "-" or (_is_path(name) and not Path(name).is_dir()):
                yield from self._file(name)
            elif _is_path(name):
                for path in self._walk(Path(name)):
                    yield from self._file(path)
            else:
                dataset = _known(name, self.data)
                yield from self._pooled(dataset.examples(), dataset.name)

    def _walk(self, folder: Path) -> Iterator[str]:
        for here, folders, files in os.walk(folder, onerror=_unreadable):
            visible = sorted(name for name in folders if not name.startswith("."))
            folders[:] = [name for name in visible if not self._is_without(Path(here, name))]
            for name in sorted(files):
                if name.lower().endswith(READ) and not name.startswith("."):
                    yield str(Path(here, name))
                elif not name.startswith("."):
                    self.others[Path(name).suffix.lower() or "no ending"] += 1

    def _is_without(self, path: Path) -> bool:
        return self.without is not None and path.resolve() == self.without.resolve()

    def _file(self, path: str) -> Iterator[Document]:
        for number, item in _items(path):
            if isinstance(item, Document):
                self._check_id(item, _Place(passage_key(item), path, number))
                yield item
            else:
                yield from self._pooled([(number, item)], path)

    def _check_id(self, document: Document, place: _Place) -> None:
        first = self._ids.setdefault(document.id, place)
        if first.passage != place.passage:
            raise InputError(
                f"{_name(place.name)} line {place.line}: documents must have unique ids, "
                f"got {document.id!r} again, as in {_name(first.name)} line {first.line}"
            )

    def _pooled(self, examples: Iterable[tuple[int, Example]], name: str) -> Iterator[Document]:
        for number, example in examples:
            question = example.query.id or f"{name}:{number}"
            for document in example.documents:
                if (passage := passage_key(document)) in self._seen:
                    self.repeated += 1
                    continue
                self._seen.add(passage)
                own = {k: v for k, v in document.metadata.items() if k not in _OF_QUESTION}
                id_ = f"{question}/{document.id}"
                if id_ in self._ids:
                    id_ = f"{name}:{id_}"
                if id_ in self._ids:
                    id_ = f"{name}:{number}/{document.id}"
                source = document.source or name
                pooled = replace(document, id=id_, rank=0, metadata=own, source=source)
                self._check_id(pooled, _Place(passage, name, number))
                yield pooled


def passage_key(document: Document) -> bytes:
    """A digest of title and text, in 16 bytes."""
    text = f"{len(document.title)}:{document.title}{document.text}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _is_path(name: str) -> bool:
    try:
        return Path(name).exists()
    except ValueError:  # a name with a zero byte
        return False


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
            raise InputError(f"{_name(path)} line {number}: {reason}")
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
                yield number, _item(line, number, _name(path))
        return
    raw = raw if path == "-" else _read(path)
    name = _name(path)
    is_page = kind in (".html", ".htm")
    encoding = charset(raw) if is_page else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        rule = "UTF-8" if encoding == "utf-8-sig" else f"{encoding}, as it declares"
        byte = raw[error.start]
        raise InputError(f"{name} must be {rule}, byte {error.start} is {byte:#04x}") from error
    title, text = page_text(text, name=name) if is_page else ("", text)
    yield 1, Document(path, text, title, source=name)


def _item(line: bytes, number: int, name: str) -> Document | Example:
    """A line of JSONL, which is a document if it has a text."""
    try:
        record = parse_json(line)
        if "documents" in record and "text" not in record:
            return parse_record(line)
        unnamed = record.get("id") in (None, "")
        return as_documents([{**record, "id": f"{name}:{number}"} if unnamed else record])[0]
    except InputError as error:
        raise InputError(f"{name} line {number}: {error}") from error


def _name(path: str) -> str:
    return "standard input" if path == "-" else path


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _guess(raw: bytes) -> str:
    begin = raw.removeprefix(_BOM)[:1024].lstrip()
    return next((kind for kind, pattern in _KINDS if pattern.match(begin)), ".txt")
