"""LangChain: a document compressor, for `ContextualCompressionRetriever` and wherever one fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragsieve.errors import MissingExtra
from ragsieve.integrations.base import KEY, Kept, read_document

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "langchain-core", extra="langchain") from error

from ragsieve.integrations.fields import AdapterFields


class RagsieveCompressor(AdapterFields, BaseDocumentCompressor):
    """Keeps of the retrieved documents what matters to the question.

    Documents keep id and metadata; ``metadata["ragsieve"]`` says which spans of the text that came
    in were kept, with their scores (`ragsieve.integrations.base.Kept`). Documents of which nothing
    is kept are left out. Asynchronous calls run in a thread. Arguments and errors
    are `AdapterFields`'s.
    """

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Filter ``documents``; return what is kept, in reading order."""
        return self._adapter(query, documents, _read, _write, self.on_result).documents


def _read(document: Document) -> dict[str, Any] | None:
    return read_document(document.id, document.page_content, document.metadata)


def _write(document: Document | None, kept: Kept) -> Document:
    if document is None:
        document = Document(id=kept.document.id, page_content="", metadata=kept.metadata)
    metadata = {**document.metadata, KEY: kept.about}
    return document.model_copy(update={"page_content": kept.text, "metadata": metadata})
