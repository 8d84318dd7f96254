"""Haystack: a component between retriever and prompt builder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ragsieve.adapter import Adapter, Kept, read_document
from ragsieve.errors import needs_extra

with needs_extra("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class RagsieveFilter(Adapter):
    """Keeps of the retrieved documents what matters to the question.

    Documents keep id, meta and what else they hold; ``meta["ragsieve"]`` says which spans of the
    content that came in were kept, with their scores, and how probable it is that some document
    answers (`ragsieve.adapter.Kept`). A splitter's ``split_idx_start`` becomes that of the kept
    text, None where several parts are kept. A document's score is the best of its spans', the
    retriever's is ``meta["retriever_score"]``. Documents of which nothing is kept are left out;
    those without content come last, as they were.

    From Haystack 3 on, a pipeline that was written down is read by
    ``Pipeline.loads(text, allowed_modules=["ragsieve.integrations.haystack"])``.

    Arguments and errors are `ragsieve.adapter.Adapter`'s.
    """

    @component.output_types(documents=list[Document], report=dict[str, Any])
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Filter ``documents``; return what is kept, in reading order.

        Beside it a ``report``: ``tokens`` before and after, ``answerable`` (the probability that
        some document answers, None where nothing tells it), the ``trace`` of what was dropped, why,
        and what all cost, and how the filter failed, an ``error`` in a line.
        """
        filtered = self(query, documents, _read, _write)
        return {"documents": filtered.documents, "report": filtered.report}

    def to_dict(self) -> dict[str, Any]:
        """The component as JSON values.

        Raises:
            InputError: If the system is none by name.
        """
        return default_to_dict(self, **Adapter.to_dict(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RagsieveFilter:
        """The component that `to_dict` wrote down."""
        return default_from_dict(cls, data)


def _read(document: Document) -> dict[str, Any] | None:
    text = None if document.blob and not document.content else document.content
    return read_document(document.id, text, document.meta)


def _write(document: Document | None, kept: Kept) -> Document:
    original = document or Document(id=kept.document.id, meta=kept.metadata)
    score = original.score if kept.score is None else kept.score
    meta = kept.marked(original.meta or {}, "split_idx_start", retrieved=original.score)
    return replace(original, content=kept.text, meta=meta, score=score)
