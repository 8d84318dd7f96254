"""The loop of frameworks that search in other words than the question's, or more than once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.memory import MemoryCached
from ragsieve.pipeline import OnError, Pipeline, Source, Stage, System
from ragsieve.retrieve.route import ASKED
from ragsieve.systems.pruningrag import Within
from ragsieve.text import safe
from ragsieve.trace import log_event, step, unanswered
from ragsieve.types import Document, Query, Segment

CHUNK = 200  # tokens of a chunk of documents in hand: PruningRAG, table 6
SHOWN = 200  # characters of a model's text in a line for people


class Search(NamedTuple):
    """What is searched ``by``, and the question that the evidence is ``about``."""

    by: Query
    about: Query


Searching = Generator[Search, list[Segment], Sequence[Segment]]


class Strategy(Protocol):
    """Yields searches one by one, is sent the evidence of each, and returns what is kept."""

    def __call__(self, query: Query, /) -> Searching:
        """The searches for ``query``; before it returns it may `set_answer`."""


@dataclass(frozen=True)
class Iterate:
    """A stage that searches as its strategy asks; whatever a search finds is filtered.

    What comes in is searched by its embeddings, where there is anything: documents in hand. Else
    the source is asked. What it ranks itself, as an index does, counts in its order; whole
    documents, and what several sources found, are cut into chunks and ranked by the embedder. Each
    search is told in the trace.

    Args:
        strategy: Says what is searched.
        embedder: Ranks documents.
        cut: Cuts whole documents that the source finds.
        source: What is asked where there are none in hand.
        prune: Filters what a search finds for the question that it is about; nothing where None.
        k: The best so many segments of each source count in a search, before they are filtered, and
            all records of an API; at least 1.
        on_error: ``"raise"``, or ``"keep"``: a source that fails has found nothing in that search.

    Raises:
        InputError: If ``k`` is below 1.
        ModelError: If a model fails; and what the source raises.
    """

    strategy: Strategy
    embedder: Embedder
    cut: Stage
    source: Source | None = None
    prune: Stage | None = None
    k: int = 5
    on_error: OnError = "raise"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k must be at least 1, got {self.k!r}")

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments and self.source is None:
            return []
        searching = self.strategy(query)
        seen: dict[tuple[str, int, int], Segment] = {}
        documents: dict[str, Document] = {}
        search = _next(searching)
        while isinstance(search, Search):
            search = search._replace(by=replace(search.by, id=query.id))
            evidence = self._evidence(search, segments, documents)
            seen |= {segment.key: segment for segment in evidence}
            search = _next(searching, evidence)
        kept = list({segment.key: segment for segment in search}.values())
        if not segments:  # what was found and is not kept is let go in a step of its own
            with step(repr(self.strategy), list(seen.values())) as record:
                record.after = tuple(kept)
        return kept

    def lenient(self) -> Iterate:
        """The same, but a filter that fails is skipped, and a source that fails found nothing."""
        prune = Pipeline(self.prune).lenient() if self.prune else None
        return replace(self, prune=prune, on_error="keep")

    def _evidence(
        self, search: Search, given: Sequence[Segment], documents: dict[str, Document]
    ) -> list[Segment]:
        found = self._found(search.by, given, documents)
        with unanswered():
            kept = Pipeline(self.prune)(search.about, found) if self.prune else found
        text = " ".join(safe(search.by.text).split())
        log_event(
            f"searched by {text[:SHOWN]!r}: {len(found)} found, {len(kept)} kept",
            "search",
            query=text,
            found=[list(segment.key) for segment in found],
            kept=[list(segment.key) for segment in kept],
        )
        return kept

    def _found(
        self, query: Query, given: Sequence[Segment], documents: dict[str, Document]
    ) -> list[Segment]:
        near, best = score.Cosine(self.embedder), Within(select.TopK(self.k))
        if given or self.source is None:
            return best(query, near(query, given))
        found = self._asked(self.source, query, documents)
        asked = {segment.document.metadata.get(ASKED) for segment in found}
        ranked = len(asked) == 1 and all(segment.scores for segment in found)
        return Pipeline(*(() if ranked else (self.cut, near)), best)(query, found)

    def _asked(self, source: Source, query: Query, documents: dict[str, Document]) -> list[Segment]:
        with step(repr(source)) as record:  # nothing before: the system counts it as given
            try:
                found = [_apart(segment, documents) for segment in source(query)]
            except Exception as error:  # anyone's source: "keep" promises the answer
                if self.on_error == "raise":
                    raise
                record.error = " ".join(f"{type(error).__name__}: {error}".split())
                found = []
            record.after = tuple(found)
        return found


def _next(
    searching: Searching, evidence: list[Segment] | None = None
) -> Search | Sequence[Segment]:
    """The next search, or after the last what is kept."""
    try:
        return next(searching) if evidence is None else searching.send(evidence)
    except StopIteration as end:
        kept: Sequence[Segment] = end.value
        return kept


def _apart(segment: Segment, documents: dict[str, Document]) -> Segment:
    """The same, of a document by a name of its own: a source may number them anew each search."""
    document, number = segment.document, 1
    name = document.id
    said = _said(document)
    for known in documents.values():
        if _said(known) == said:
            return replace(segment, document=known)
    while name in documents:
        number += 1
        name = f"{document.id}#{number}"
    documents[name] = replace(document, id=name)
    return replace(segment, document=documents[name])


def _said(document: Document) -> tuple[object, ...]:
    """What makes two documents one, whatever their ids."""
    return document.metadata.get(ASKED), document.source, document.title, document.text


@dataclass(frozen=True)
class Deferred:
    """A source that finds nothing by itself: the stage asks ``source``, in words of its own."""

    source: Source

    def __call__(self, query: Query, /) -> list[Segment]:
        return []


def iterating(
    strategy: Strategy,
    llm: LLM,
    embedder: Embedder,
    *,
    source: Source | None,
    prune: Stage | None,
    k: int,
    max_tokens: int | None,
) -> System:
    """A system that searches as ``strategy`` says; documents in hand are cut into chunks first.

    Records of an API are one chunk each: half a record names nothing.
    """
    chunks = Within(split.Windows(llm, max_tokens=CHUNK))
    return System(
        Pipeline(chunks, Iterate(strategy, MemoryCached(embedder), chunks, source, prune, k)),
        Reader(llm),
        max_tokens,
        Deferred(source) if source else None,
    )
