"""Documents of files, folders and data sets, those of questions pooled: what an index holds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragsieve.errors import InputError
from ragsieve.read.files import items_of, name_of
from ragsieve.types import Document, Example
from ragsieve_research import datasets
from ragsieve_research.retrieve.index.store import digest_of

_OF_QUESTION = (  # metadata of a passage in the list of one question, not its own
    *("is_positive", "has_answer", "supporting_sentences", "relevance", "answer_part"),
    *("retriever", "rank", "score", "duplicate_of"),
)


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
        names: Files, folders, names of `ragsieve_research.datasets`; ``-`` is standard input.
        data: Folder of data sets; see `ragsieve_research.datasets.load`.
        without: A folder to leave out, such as the one that an index lies in.
        warn: See `read_documents`.
        repeated: Documents of questions that had come before; grows while reading.

    Raises:
        InputError: If there is no such file, folder or data set; while reading, as
            `read_documents` and the data sets do, and if two documents of one id differ.
    """

    names: Sequence[str]
    data: Path | None = None
    without: Path | None = None
    warn: Callable[[str], object] | None = None
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
                yield from self._files(name)
            else:
                dataset = _known(name, self.data)
                yield from self._pooled(dataset.examples(), dataset.name)

    def _files(self, name: str) -> Iterator[Document]:
        for path, number, item in items_of(name, self.warn, self.without):
            if isinstance(item, Document):
                yield self._named(item, path, number)
            else:
                yield from self._pooled([(number, item)], path)

    def _named(self, document: Document, name: str, line: int) -> Document:
        digest = digest_of(document)
        if self._ids.setdefault(document.id, digest) != digest:
            place = f"{name_of(name)} line {line}"
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
                pooled = replace(document, id=id_, rank=0, metadata={"dataset": name, **own})
                yield self._named(pooled, name, number)


def _is_file(name: str) -> bool:
    return name == "-" or Path(name).exists()


def _known(name: str, data: Path | None) -> datasets.Dataset:
    if name not in datasets.DATASETS:
        raise InputError(f"a source must be a file, a folder or a data set's name, got {name!r}")
    return datasets.load(name, folder=data)
