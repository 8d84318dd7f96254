"""Retrievers of LangChain, LlamaIndex and their like, and functions, as sources."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from numbers import Real
from typing import Any, Protocol

from ragsieve.documents import Documents, documents_and_places, listed
from ragsieve.errors import InputError, SourceError, typed_line
from ragsieve.schema import Count, Options
from ragsieve.types import Document, Query, Segment, StageResult

SCORE = "retriever"
"""Name of the score that a retriever gives its documents."""

SOURCE_KEY = "ragsieve.source"
"""Key of a document's metadata: the name of the source that gave it, where several were asked."""


class Invoked(Protocol):
    """A retriever of LangChain, or a chain of it from a question to documents."""

    def invoke(self, input: str, /) -> Any:
        """Documents, best first."""


class Retrieving(Protocol):
    """A retriever of LlamaIndex."""

    def retrieve(self, question: str, /) -> Any:
        """Nodes with scores, best first."""


AnySource = (
    Callable[[Query], list[Segment]] | Callable[[str, int], Documents] | Invoked | Retrieving
)


@dataclass(frozen=True, repr=False)
class Retriever(Options):
    """A source of another library's retriever, or of a function from question and number.

    Where every document has a finite ``score``, as LlamaIndex's and Haystack's have, it is the
    segments' score.

    Args:
        retriever: It has ``invoke`` or ``retrieve``, or is called with the question and ``k``.
        k: Documents that count, the first ones; at least 1. How many a retriever of LangChain or
            LlamaIndex searches for is its own option (``search_kwargs``, ``similarity_top_k``).

    Raises:
        InputError: If ``k`` is below 1.
        SourceError: On a question, if the retriever fails, or what it gives are no documents.
    """

    retriever: Any
    k: Count = 20

    def __repr__(self) -> str:
        return f"Retriever({self._name}, k={self.k})"

    def __call__(self, query: Query, /) -> list[Segment]:
        try:
            results = listed(self._search(query.text))
            documents, places = documents_and_places(results)
            segments = [Segment.whole(document) for document in documents[: self.k]]
            first = dict(zip(reversed(places), reversed(results), strict=True))
            values = [getattr(first[n], "score", None) for n in range(len(segments))]
            scores = [float(n) for n in values if isinstance(n, Real) and math.isfinite(n)]
        except Exception as error:  # somebody's own retriever may raise anything
            raise SourceError(f"{self._name} failed: {typed_line(error, 300)}") from error
        if len(scores) < len(segments):
            return segments
        return [s.scored(SCORE, score) for s, score in zip(segments, scores, strict=True)]

    @property
    def _name(self) -> str:
        return str(getattr(self.retriever, "__qualname__", type(self.retriever).__qualname__))

    def _search(self, question: str) -> Any:
        for method in ("invoke", "retrieve"):
            if search := getattr(self.retriever, method, None):
                return search(question)
        return self.retriever(question, self.k)


def as_source(source: AnySource, k: int = 20) -> Callable[[Query], list[Segment]]:
    """A source from a retriever of another library, or from a function; a source as it is.

    Args:
        source: A source; a retriever with ``invoke``, as LangChain's, or ``retrieve``, as
            LlamaIndex's; or a function ``(question, k) -> documents``, which has two arguments
            without a default, or calls its second one ``k``. Documents are of any kind that
            `ragsieve.System` takes.
        k: See `Retriever`.

    Raises:
        InputError: If it is none of these, or ``k`` is below 1.
    """
    if callable(source) and not _takes_k(source):
        return source  # type: ignore[return-value]
    if callable(source) or hasattr(source, "invoke") or hasattr(source, "retrieve"):
        return Retriever(source, k)
    forms = "a function of a query, or of a question and k, or have invoke() or retrieve()"
    raise InputError(f"a source must be {forms}, got {source!r:.80}")


def _takes_k(call: Callable[..., Any]) -> bool:
    """Whether a function takes a question and a number, and not a query alone."""
    try:
        parameters = signature(call).parameters.values()
    except (TypeError, ValueError):  # some written in C tell nothing
        return False
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    places = [p for p in parameters if p.kind in by_place]
    needed = [p for p in places if p.default is Parameter.empty]
    return len(needed) > 1 or [p.name for p in places[1:2]] == ["k"]


def segments_of(source: Callable[[Query], list[Segment]], query: Query) -> StageResult:
    """What ``source`` finds.

    Raises:
        InputError: If it is anything but segments.
    """
    forms = "segments of a query, or documents of (question, k)"
    return StageResult.of(source(query), source, forms)


def evidence_of(source: Callable[[Query], list[Segment]], query: Query) -> StageResult:
    """Return the segments that ``source`` finds, of documents with unique ids.

    Raises:
        InputError: If it finds anything else.
    """
    results = segments_of(source, query)
    documents: dict[str, Document] = {}
    for segment in results:
        name = segment.document.id
        if documents.setdefault(name, segment.document) != segment.document:
            raise InputError(f"{source!r} must give documents of unique ids, got two of {name!r}")
    return results
