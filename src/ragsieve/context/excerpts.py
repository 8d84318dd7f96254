"""Excerpts of documents, the best first: what search APIs return beside a page's address."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ragsieve import structure
from ragsieve.context.limits import ReaderLike
from ragsieve.result import Result
from ragsieve.structure.tree import Node, in_runs
from ragsieve.text import safe
from ragsieve.types import Answer, Document, Query, Segment, grouped


class Excerpt(NamedTuple):
    """What is kept of one place of a document.

    Args:
        text: As it is read, see `ragsieve.structure.joined`: of prose ``document.text[start:end]``,
            of structured text inside its keys, header or signature.
        start: First character of the place in the document.
        end: One past its last.
        score: The best score of its spans; None where nothing scored them.
    """

    text: str
    start: int
    end: int
    score: float | None


@dataclass(frozen=True)
class DocumentExcerpts:
    """The excerpts of one document, the best first.

    Args:
        document: The document.
        excerpts: At least one.
    """

    document: Document
    excerpts: tuple[Excerpt, ...]

    @property
    def score(self) -> float | None:
        """The best of the excerpts' scores; None where they have none."""
        return self.excerpts[0].score

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: ``id``, ``url``, ``title``; lists ``excerpts``, ``scores``, ``places``.

        Control characters and lone surrogates of the texts are U+FFFD.
        """
        document = self.document
        return {
            "id": document.id,
            "url": document.source,
            "title": safe(document.title),
            "excerpts": [safe(one.text) for one in self.excerpts],
            "scores": [one.score for one in self.excerpts],
            "places": [[one.start, one.end] for one in self.excerpts],
        }


@dataclass(frozen=True)
class ExcerptReader:
    """A reader of excerpts: what a budget measures are their texts, without titles.

    Args:
        reader: Counts the tokens.
    """

    reader: ReaderLike

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> Answer:
        return self.reader(query, segments)

    def context(self, segments: Sequence[Segment], /) -> str:
        """Texts of all excerpts, one behind the other."""
        texts = (one.text for document in _grouped(segments) for one in document.excerpts)
        return "\n".join(texts)

    def count(self, texts: Sequence[str], /) -> list[int]:
        """Tokens of each text in the reader's own tokenizer."""
        return self.reader.count(texts)


def excerpts_of(result: Result) -> list[DocumentExcerpts]:
    """What is kept of each document, those with the best score first; without a score, as read."""
    return sorted(_grouped(result.kept), key=lambda one: _rank(one.score))


def _grouped(segments: Sequence[Segment]) -> list[DocumentExcerpts]:
    documents = grouped(segments, lambda s: (s.document.id, s.document.written_by))
    return [_of(sorted(some, key=lambda s: (s.start, s.end))) for some in documents.values()]


def _of(segments: Sequence[Segment]) -> DocumentExcerpts:
    """Excerpts of a document: its spans, together where nothing is left out between them.

    So are those of one table, record or function, and parts of one span that a budget has cut.
    """
    document = segments[0].document
    roots = structure.outline(document.text)
    together = in_runs(segments, partial(_together, roots))
    excerpts = sorted(map(_excerpt, together), key=lambda one: _rank(one.score))
    return DocumentExcerpts(document, (*excerpts,))


def _together(roots: Sequence[Node], one: Segment, other: Segment) -> bool:
    apart = one.document.text[one.end : other.start].strip()
    parts = bool(one.scores) and one.scores is other.scores  # a budget's parts have their whole's
    return not apart or parts or any(r.start < one.end and other.start < r.end for r in roots)


def _excerpt(run: Sequence[Segment]) -> Excerpt:
    best = max((s.score for s in run if s.scores), default=None)
    return Excerpt(structure.text_of(run), run[0].start, max(s.end for s in run), best)


def _rank(score: float | None) -> float:
    return 0.0 if score is None else -score
