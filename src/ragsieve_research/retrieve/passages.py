"""Passages retrieved beforehand, by question."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ragsieve.documents import as_documents
from ragsieve.system import Source
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.retrieve.pages import Pages


@dataclass(frozen=True)
class Passages:
    """A source over questions with their documents in hand; for other questions it finds nothing.

    A search in other words finds a question's documents by its id.

    Args:
        examples: Questions with documents; where one comes twice, the first counts.
        only: Where not empty, only documents whose ``source`` it is.
        html: Whether they are pages: their metadata ``html``, or their text, as `Pages` reads it.

    Raises:
        InputError: If a page has no HTML.
    """

    examples: Iterable[Example] = field(repr=False)
    only: str = field(default="", kw_only=True)
    html: bool = field(default=False, kw_only=True)
    _known: dict[str, Source] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by text, and by id behind a NUL

    def __post_init__(self) -> None:
        for example in self.examples:
            question = example.query.text
            if question not in self._known:
                kept = [d for d in example.documents if self.only in ("", d.source)]
                source = _pages(kept) if self.html else _as_segments(kept)
                self._known[question] = source
                self._known.setdefault(f"\0{example.query.id}", source)
        object.__setattr__(self, "examples", ())

    def __call__(self, query: Query, /) -> list[Segment]:
        source = self._known.get(query.text)
        if source is None and query.id:
            source = self._known.get(f"\0{query.id}")
        return source(query) if source else []


def _as_segments(documents: list[Document]) -> Source:
    segments = [Segment.whole(document) for document in as_documents(documents)]
    return lambda _query: [*segments]


def _pages(documents: list[Document]) -> Source:
    return Pages(
        [
            {"html": d.text, **d.metadata, "id": d.id, "title": d.title, "url": _url(d)}
            for d in documents
        ]
    )


def _url(document: Document) -> str:
    return str(document.metadata.get("url") or document.source)
