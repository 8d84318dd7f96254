"""Make documents from strings, mappings or documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragsieve.errors import InputError
from ragsieve.trace import note
from ragsieve.types import Document

AnyDocument = Document | Mapping[str, Any] | str


def as_documents(documents: Sequence[AnyDocument] | None) -> tuple[Document, ...]:
    """Documents from what a caller has, ranked as given, with unique ids; see `System.__call__`."""
    if isinstance(documents, str | Mapping) or not isinstance(documents, Iterable):
        raise InputError(f"documents must be a list, got one {type(documents).__name__}")
    seen: Counter[str] = Counter()
    taken = []
    for rank, value in enumerate(documents):
        document = replace(_as_document(value, rank), rank=rank)
        seen[document.id] += 1
        if seen[document.id] > 1:
            renamed = f"{document.id}#{seen[document.id]}"
            while seen[renamed]:
                renamed += "'"
            seen[renamed] += 1
            note(f"document id {document.id!r} occurs again: renamed {renamed!r}")
            document = replace(document, id=renamed)
        taken.append(document)
    return tuple(taken)


def _as_document(value: AnyDocument, rank: int) -> Document:
    if isinstance(value, Document):
        return value
    if isinstance(value, str):
        return Document(str(rank), value)
    if not isinstance(value, Mapping) or "text" not in value:
        raise InputError(f"a document must have a text, got {value!r:.80} at place {rank}")
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InputError(f"a document's metadata must be a mapping, got {metadata!r:.80}")
    known = ("id", "text", "title", "source", "metadata")
    rest = {k: v for k, v in value.items() if k not in known}
    return Document(
        id=str(rank if value.get("id") is None else value["id"]),
        text=value["text"],
        title=value.get("title") or "",
        source=str(value.get("source") or value.get("url") or ""),
        metadata={**metadata, **rest},
    )
