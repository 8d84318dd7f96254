"""An index by its folder: how it was built stands in it, so that opening it needs no options."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ragsieve import models
from ragsieve.datasets.local import parse_json
from ragsieve.errors import InputError, StoreError
from ragsieve.models.base import Embedder
from ragsieve.pipeline import Stage
from ragsieve.retrieve.corpus import By, Corpus, Search
from ragsieve.split import Semantic, Windows

Chunks = Literal["semantic", "windows", "whole"]

NAME = "index.json"
_HALF = "index.half"  # is being written; renamed when it is whole
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


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """How an index is built; kept in its folder.

    Args:
        embedder: A bi-encoder by name, see `ragsieve.models.load`; ``"none"`` for BM25 alone.
        chunks: ``"semantic"``: `split.Semantic`; ``"windows"``: `split.Windows` over `WordCount`;
            ``"whole"``: documents as they are.
        min_similarity: Of semantic chunks: cosine from which neighbouring sentences are joined.
        max_chars: Of semantic chunks: characters at most.
        max_tokens: Of windows: words and punctuation marks at most.
        url: Of a Chroma server that holds the vectors; empty where the folder does.

    Raises:
        InputError: If there is no such embedder or kind of chunks, or an option is out of range.
    """

    embedder: str = "minilm"
    chunks: Chunks = "semantic"
    min_similarity: float = 0.7
    max_chars: int = 500
    max_tokens: int = 200
    url: str = ""

    def __post_init__(self) -> None:
        for name in ("embedder", "chunks", "url"):  # a file that says them may say anything
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} must be a string, got {getattr(self, name)!r}")
        if self.embedder != NO_EMBEDDER:
            models.check(self.embedder, "embedder")
        if self.chunks not in get_args(Chunks):
            known = ", ".join(get_args(Chunks))
            raise InputError(f"chunks must be one of {known}, got {self.chunks!r}")
        if self.chunks == "semantic" and self.embedder == NO_EMBEDDER:
            raise InputError("semantic chunks need an embedder: take windows or whole, or name one")
        if not -1 <= self.min_similarity <= 1:
            raise InputError(f"min_similarity must lie in [-1, 1], got {self.min_similarity!r}")
        for name in ("max_chars", "max_tokens"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)!r}")

    def to_dict(self) -> dict[str, Any]:
        """The options that count for this kind of chunks."""
        names = ("embedder", "chunks", *_FIELDS[self.chunks], *(["url"] if self.url else []))
        return {name: getattr(self, name) for name in names}

    def splitter(self, embedder: Embedder | None) -> Stage | None:
        """What cuts documents into chunks; None for whole ones."""
        if self.chunks == "windows":
            return Windows(WordCount(), max_tokens=self.max_tokens)
        if self.chunks == "semantic" and embedder is not None:
            similar, chars = self.min_similarity, self.max_chars
            return Semantic(embedder, min_similarity=similar, max_chars=chars)
        return None


def create_index(
    folder: Path | str, options: IndexOptions | None = None, *, embedder: Embedder | None = None
) -> Corpus:
    """A new index in a folder, or the one there if it was begun with the same options.

    Args:
        folder: Made where it does not exist; else empty, or an index.
        options: How it is built; those of `IndexOptions` where None.
        embedder: The model that ``options.embedder`` names, where there is one at hand.

    Raises:
        InputError: If the folder holds an index of other options or anything else.
        StoreError: If it cannot be written.
        MissingExtra: If the index needs packages that are not installed.
    """
    folder, options = Path(folder), options or IndexOptions()
    begun = (folder / NAME).is_file()
    if begun:
        if differing := _differing(index_options(folder), options):
            raise InputError(
                f"index {folder} was built with {differing[0]}, got {differing[1]}: "
                "build into another folder, or delete this one first"
            )
    elif folder.exists() and not _is_empty(folder):
        raise InputError(f"{folder} must be an index or an empty folder, it holds something else")
    corpus = _opened(folder, options, embedder)
    if not begun:
        _write(folder, options)
    return corpus


def open_index(folder: Path | str, *, embedder: Embedder | None = None) -> Corpus:
    """The index in a folder, as `create_index` or ``ragsieve index build`` left it.

    Args:
        folder: Where it lies.
        embedder: The model it was built with, where there is one at hand; else it is loaded.

    Raises:
        InputError: If there is no index, or it was built with another embedder.
        MissingExtra: If the index needs packages that are not installed.
    """
    return _opened(Path(folder), index_options(folder), embedder)


def open_words(folder: Path | str) -> Corpus:
    """The same without its embedder, which saves loading one: for search by BM25, and to look at.

    Raises:
        InputError: If there is no index.
    """
    folder = Path(folder)
    return Corpus(folder, url=index_options(folder).url)


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
        InputError: If there is no index, or an option breaks its rule.
    """
    name = index_options(folder).embedder
    by = by or ("bm25" if name == NO_EMBEDDER else "hybrid")
    if by == "bm25":
        return Search(open_words(folder), k, by)
    if name == NO_EMBEDDER:
        raise InputError(f"by must be bm25 for index {folder}, which has no embedder, got {by!r}")
    return Search(open_index(folder, embedder=load(name)), k, by)


def index_options(folder: Path | str) -> IndexOptions:
    """How the index in a folder was built.

    Raises:
        InputError: If there is no index, or what it says of itself cannot be read.
    """
    path = Path(folder, NAME)
    try:
        return IndexOptions(**parse_json(path.read_bytes()))
    except FileNotFoundError as error:
        raise InputError(f"{folder} holds no index: `ragsieve index build` makes one") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (InputError, TypeError) as error:
        raise InputError(f"{path} does not say how an index was built: {error}") from error


def _opened(folder: Path, options: IndexOptions, embedder: Embedder | None) -> Corpus:
    if embedder is None and options.embedder != NO_EMBEDDER:
        embedder = models.load(options.embedder)
    return Corpus(folder, embedder, splitter=options.splitter(embedder), url=options.url)


def _differing(old: IndexOptions, new: IndexOptions) -> tuple[str, str] | None:
    """Old and new options, where they are not the same."""
    before, after = old.to_dict(), new.to_dict()
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]

    def said(options: dict[str, Any]) -> str:
        return ", ".join(f"{name}={options.get(name, '')!r}" for name in names)

    return (said(before), said(after)) if names else None


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and all(path.name == _HALF for path in folder.iterdir())


def _write(folder: Path, options: IndexOptions) -> None:
    path = folder / NAME
    half = folder / _HALF
    try:
        folder.mkdir(parents=True, exist_ok=True)
        half.write_text(json.dumps(options.to_dict(), indent=2) + "\n", encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
