"""The loop of frameworks that search more than once, or by another query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from ragsieve import score, select
from ragsieve.answer import Reader
from ragsieve.documents import unused_id
from ragsieve.errors import typed_line
from ragsieve.models.base import LLM, Embedder
from ragsieve.models.cache import Cached
from ragsieve.retriever import SOURCE_KEY, AnySource, as_source
from ragsieve.schema import Count, Options
from ragsieve.system import OnError, Pipeline, Source, Stage, System
from ragsieve.text import safe
from ragsieve.trace import log_event, step
from ragsieve.types import Document, Query, Segment, StageResult
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.pruningrag import Within

CHUNK = 200  # tokens of a chunk of documents in hand: PruningRAG, table 6
SHOWN = 200  # characters of a model's text in a line for people


Search = Callable[[Query, Query], list[Segment]]
"""Evidence that a search by the first query finds, filtered for the second one."""


class Strategy(Protocol):
    """Searches as often as it likes, and says what is kept."""

    def __call__(self, query: Query, search: Search, /) -> list[Segment]:
        """Segments kept for ``query``; a `StageResult` where it has answered."""


@dataclass
class _Results:
    """Results of the searches of a question so far, the documents by their ids."""

    documents: dict[str, Document] = field(default_factory=dict)
    segments: list[Segment] = field(default_factory=list)


@dataclass(frozen=True)
class Iterate(Options):
    """A stage that searches as its strategy asks; whatever a search finds is filtered.

    What comes in is searched by its embeddings, where there is anything: documents in hand. Else
    the source is. Results that it ranks itself, as an index does, count in its order; whole
    documents, and results of several sources, are cut into chunks and ranked by the embedder. Each
    search is an event of the trace.

    Args:
        strategy: Says what is searched.
        embedder: Ranks documents.
        cut: Cuts whole documents that the source finds.
        source: Searched where there are no documents in hand.
        prune: Filters what a search finds for the question that it is about; nothing where None.
        k: The best so many segments of each source, and records of an API, count in a search,
            before they are filtered; at least 1.
        on_error: ``"raise"``, or ``"keep"``: a source that fails has no results in that search.

    Raises:
        InputError: If ``k`` is below 1.
        ModelError: If a model fails; and what the source raises.
    """

    strategy: Strategy
    embedder: Embedder
    cut: Stage
    source: Source | None = None
    prune: Stage | None = None
    k: Count = 5
    on_error: OnError = "raise"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        if not segments and self.source is None:
            return StageResult()
        seen: dict[tuple[str, int, int], Segment] = {}
        results = _Results()

        def search(by: Query, about: Query) -> list[Segment]:
            by = replace(query, text=by.text)
            evidence = self._evidence(by, about, segments, results)
            seen.update({segment.key: segment for segment in evidence})
            return evidence

        chosen = StageResult.of(self.strategy(query, search), self.strategy)
        kept = list({segment.key: segment for segment in chosen}.values())
        if not segments:  # results that are not kept are dropped in a step of their own
            with step(repr(self.strategy), list(seen.values())) as record:
                record.after = tuple(kept)
        return StageResult(kept, answer=chosen.answer, found=results.segments)

    def lenient(self) -> Iterate:
        """The same, but a filter that fails is skipped, and a source that fails has no results."""
        prune = Pipeline(self.prune).lenient() if self.prune else None
        return replace(self, prune=prune, on_error="keep")

    def _evidence(
        self, by: Query, about: Query, segments: Sequence[Segment], results: _Results
    ) -> list[Segment]:
        retrieved = self._search(by, segments, results)
        pruned = Pipeline(*([self.prune] if self.prune else []))(about, retrieved)
        results.segments.extend(pruned.found)
        kept = list(pruned)  # a filter's answer is none to the question
        text = " ".join(safe(by.text).split())
        log_event(
            f"searched by {text[:SHOWN]!r}: {len(retrieved)} found, {len(kept)} kept",
            "search",
            query=text,
            found=[list(segment.key) for segment in retrieved],
            kept=[list(segment.key) for segment in kept],
        )
        return kept

    def _search(
        self, query: Query, segments: Sequence[Segment], results: _Results
    ) -> list[Segment]:
        near, best = score.Cosine(self.embedder), Within(select.TopK(self.k))
        if segments or self.source is None:
            return best(query, near(query, segments))
        retrieved = self._retrieve(self.source, query, results)
        sources = {segment.document.metadata.get(SOURCE_KEY) for segment in retrieved}
        ranked = len(sources) == 1 and all(segment.scores for segment in retrieved)
        return Pipeline(*(() if ranked else (self.cut, near)), best)(query, retrieved)

    def _retrieve(self, source: Source, query: Query, results: _Results) -> list[Segment]:
        with step(repr(source)) as record:
            try:
                retrieved = [_apart(segment, results.documents) for segment in source(query)]
            except Exception as error:  # anyone's source: "keep" promises the answer
                if self.on_error == "raise":
                    raise
                record.error = typed_line(error)
                retrieved = []
            record.after = tuple(retrieved)
        results.segments.extend(retrieved)
        return retrieved


def _apart(segment: Segment, documents: dict[str, Document]) -> Segment:
    """The same, its document with a unique id: a source may number them anew each search."""
    document = segment.document
    content = _content(document)
    for known in documents.values():
        if _content(known) == content:
            return replace(segment, document=known)
    name = unused_id(document.id, Counter([*documents]))
    documents[name] = replace(document, id=name)
    return replace(segment, document=documents[name])


def _content(document: Document) -> tuple[object, ...]:
    """Identity of a document's content, whatever its id."""
    return document.metadata.get(SOURCE_KEY), document.source, document.title, document.text


@dataclass(frozen=True)
class DeferredSource:
    """A source that finds nothing by itself: the stage asks ``source``, in words of its own."""

    source: Source

    def __call__(self, query: Query, /) -> list[Segment]:
        return []


def iterating(
    strategy: Strategy,
    llm: LLM,
    embedder: Embedder,
    source: AnySource | None,
    prune: Stage | None,
    k: int,
) -> System:
    """A system that searches as ``strategy`` says; documents in hand are cut into chunks first.

    Records of an API are one chunk each: half a record names nothing.
    """
    chunks = Within(Windows(llm, max_tokens=CHUNK))
    search = None if source is None else as_source(source)
    return System(
        Pipeline(chunks, Iterate(strategy, Cached(embedder), chunks, search, prune, k)),
        Reader(llm),
        DeferredSource(search) if search else None,
    )
