"""Open an index by its folder, with the options that it was built with."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ragsieve import models, schema
from ragsieve.errors import InputError, naming
from ragsieve.models.base import Embedder
from ragsieve.schema import Count, Schema, Similarity, check_number, check_options
from ragsieve.system import Stage
from ragsieve_research.retrieve.corpus import By, Corpus, Search
from ragsieve_research.retrieve.index.store import FILE, LOCK, meta
from ragsieve_research.split.semantic import Semantic
from ragsieve_research.split.windows import Windows

Chunks = Literal["semantic", "windows", "whole"]

NO_EMBEDDER = "none"
_FIELDS: dict[str, tuple[str, ...]] = {  # what counts, by the kind of chunks
    "semantic": ("min_similarity", "max_chars"),
    "windows": ("max_tokens",),
    "whole": (),
}
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff]"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff]+|[^\w\s]"
)


@dataclass(frozen=True)
class WordCount:
    """Counts words and punctuation marks as tokens, so that windows need no model.

    Scripts written without spaces go by character.
    """

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Words and marks of each text."""
        return [sum(1 for _ in _WORD.finditer(text)) for text in texts]


class IndexOptions(Schema, frozen=True, kw_only=True):
    """Options of an index, kept in it.

    Args:
        embedder: A bi-encoder by name, see `ragsieve.models.load`; ``"none"`` for BM25 alone.
        chunks: ``"semantic"``: `split.Semantic`; ``"windows"``: `split.Windows` over `WordCount`;
            ``"whole"``: documents as they are.
        min_similarity: Of semantic chunks: cosine from which neighbouring sentences are joined.
        max_chars: Of semantic chunks: characters at most.
        max_tokens: Of windows: words and punctuation marks at most.

    Raises:
        InputError: If there is no such embedder or kind of chunks, or an option is out of range.
    """

    embedder: str = "minilm"
    chunks: Chunks = "semantic"
    min_similarity: float = 0.7
    max_chars: int = 500
    max_tokens: int = 200

    def __post_init__(self) -> None:
        if self.embedder != NO_EMBEDDER:
            models.check(self.embedder, "embedder")
        check_options(self)
        if self.chunks == "semantic" and self.embedder == NO_EMBEDDER:
            raise InputError("semantic chunks need an embedder: take windows or whole, or name one")
        check_number("min_similarity", self.min_similarity, Similarity)
        check_number("max_chars", self.max_chars, Count)
        check_number("max_tokens", self.max_tokens, Count)

    def to_dict(self) -> dict[str, Any]:
        """The options that count for this kind of chunks."""
        names = ("embedder", "chunks", *_FIELDS[self.chunks])
        return {name: getattr(self, name) for name in names}

    def splitter(self, embedder: Embedder | None) -> Stage | None:
        """The splitter of documents into chunks; None for whole ones."""
        if self.chunks == "windows":
            return Windows(WordCount(), max_tokens=self.max_tokens)
        if self.chunks == "semantic" and embedder is not None:
            similar, chars = self.min_similarity, self.max_chars
            return Semantic(embedder, min_similarity=similar, max_chars=chars)
        return None


def create_index(
    folder: Path | str, options: IndexOptions | None = None, *, embedder: Embedder | None = None
) -> Corpus:
    """A new index in a folder, or the one there if it was built with the same options.

    Nothing is written before `Corpus.add`. Where no build came to its end yet, these options take
    the place of others.

    Args:
        folder: Made where it does not exist; else empty, or an index.
        options: How it is built; those of `IndexOptions` where None.
        embedder: The model that ``options.embedder`` names, where there is one at hand.

    Raises:
        InputError: If the folder holds an index of other options or anything else.
        StoreError: If an index there cannot be read.
    """
    folder, options = Path(folder), options or IndexOptions()
    _check_folder(folder, options)  # before a model is loaded
    return _opened(folder, options, embedder)


def open_index(folder: Path | str, *, embedder: Embedder | None = None) -> Corpus:
    """The index in a folder, as `create_index` or ``ragsieve index build`` left it.

    Args:
        folder: Where it lies.
        embedder: The model it was built with, where there is one at hand; else it is loaded.

    Raises:
        InputError: If there is no index, or it was built with another embedder.
    """
    return _opened(Path(folder), index_options(folder), embedder)


def open_words(folder: Path | str) -> Corpus:
    """The same without its embedder, which saves loading one: for search by BM25, and to look at.

    Raises:
        InputError: If there is no index.
    """
    index_options(folder)
    return Corpus(folder)


def index_source(
    folder: Path | str, load: Callable[[str], Embedder], *, k: int = 20, by: By | None = None
) -> Search:
    """The index in a folder as a source: its best ``k`` chunks for a question.

    Args:
        folder: Where it lies.
        load: Loads its embedder by name, where one is needed.
        k: How many chunks; at least 1.
        by: How they are ranked; hybrid, or by BM25 where the index has no embedder, where None.

    Raises:
        InputError: If there is no index, its first build did not end, or an option breaks its rule.
    """
    ready(folder)
    name = index_options(folder).embedder
    by = by or ("bm25" if name == NO_EMBEDDER else "hybrid")
    if by == "bm25":
        return Search(open_words(folder), k, by)
    if name == NO_EMBEDDER:
        raise InputError(f"by must be bm25 for index {folder}, which has no embedder, got {by!r}")
    return Search(open_index(folder, embedder=load(name)), k, by)


def index_embedder(folder: Path | str, by: By | None) -> list[str]:
    """The embedder by name that an index is searched with; none where it is searched by words."""
    name = index_options(folder).embedder
    return [] if by == "bm25" or name == NO_EMBEDDER else [name]


def ready(folder: Path | str) -> None:
    """Raise `InputError` where there is no index, or one whose first build did not end."""
    index_options(folder)
    if not _built(Path(folder)):
        raise InputError(
            f"index {folder} was not built to its end: the same `ragsieve index build` goes on"
        )


def content(folder: Path | str) -> str:
    """Digest of an index's contents and of how they were cut, 64 hex digits.

    Raises:
        InputError: If there is no index, or its first build did not end.
        StoreError: If it cannot be read.
    """
    ready(folder)
    with open_words(folder) as corpus:
        about, digests = corpus.about(), sorted(corpus.digests())
    built = json.dumps([about.embedder, about.splitter])
    return hashlib.sha256(built.encode() + b"".join(digests)).hexdigest()


def index_options(folder: Path | str) -> IndexOptions:
    """Options with which the index in a folder was built.

    Raises:
        InputError: If there is no index, or what it says of itself cannot be read.
        StoreError: If nothing of it can be read.
    """
    known = meta(Path(folder))
    if known is None:
        raise InputError(f"{folder} holds no index: `ragsieve index build` makes one")
    with naming(f"index {folder} does not say how it was built"):
        if not known.settings.options:
            raise InputError("it was made by Corpus alone")
        return schema.read(IndexOptions, known.settings.options)


def _opened(folder: Path, options: IndexOptions, embedder: Embedder | None) -> Corpus:
    if embedder is None and options.embedder != NO_EMBEDDER:
        embedder = models.defer(options.embedder)
    splitter = options.splitter(embedder)
    return Corpus(folder, embedder, splitter=splitter, options=options.to_dict())


def _built(folder: Path) -> bool:
    known = meta(folder)
    return known is not None and known.builds > 0


def _check_folder(folder: Path, options: IndexOptions) -> None:
    """Raise `InputError` where a folder holds what these options may not build on."""
    files = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if FILE not in files:  # what a killed build left does not count
        others = [name for name in files if name != LOCK and not name.startswith(FILE)]
        if others or (folder.exists() and not folder.is_dir()):
            raise InputError(
                f"{folder} must be an index or an empty folder, it holds something else"
            )
    elif _built(folder):
        before, after = index_options(folder).to_dict(), options.to_dict()
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if names:
            old, new = (
                ", ".join(f"{name}={values.get(name, '')!r}" for name in names)
                for values in (before, after)
            )
            raise InputError(
                f"index {folder} was built with {old}, got {new}: "
                "build into another folder, or delete this one first"
            )
