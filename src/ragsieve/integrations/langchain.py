"""LangChain: a document compressor, for `ContextualCompressionRetriever` and wherever one fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragsieve.errors import MissingExtra
from ragsieve.integrations.base import KEY, Door, Kept, read_document
from ragsieve.pipeline import OnError, Result, System

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from pydantic import Field, PrivateAttr
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "langchain-core", extra="langchain") from error


class RagsieveCompressor(BaseDocumentCompressor):
    """Keeps of the retrieved documents what matters to the question.

    Documents keep id and metadata; ``metadata["ragsieve"]`` says which spans of the text that came
    in were kept, with their scores (`ragsieve.integrations.base.Kept`). Documents of which nothing
    is kept are left out. Asynchronous calls run in a thread.

    Args:
        on_result: Called with each question's `ragsieve.Result`: what was dropped, why, and what
            all cost; in the thread that filters. Not called where the filter failed.
        system: This and the others as in `ragsieve.integrations.base.Door`.

    Raises:
        InputError: If an option breaks its rule.
    """

    system: Any  # a System or a name, which Door checks: pydantic would look into its fields
    llm: str | None
    embedder: str | None
    options: Mapping[str, Any]
    max_tokens: int | None
    on_error: OnError
    on_result: Callable[[Result], object] | None = Field(exclude=True)
    _door: Door = PrivateAttr()

    def __init__(
        self,
        system: System | str = "finefilter",
        llm: str | None = None,
        embedder: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        on_error: OnError = "keep",
        on_result: Callable[[Result], object] | None = None,
    ) -> None:
        door = Door(system, llm, embedder, options or {}, max_tokens, on_error)
        super().__init__(**{**door.arguments, "on_result": on_result})
        self._door = door

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """What is kept of ``documents``, in the order in which it is to be read."""
        return self._door(query, documents, _read, _write, self.on_result).documents


def _read(document: Document) -> dict[str, Any] | None:
    return read_document(document.id, document.page_content, document.metadata)


def _write(document: Document | None, kept: Kept) -> Document:
    if document is None:
        document = Document(id=kept.document.id, page_content="", metadata=kept.metadata)
    metadata = {**document.metadata, KEY: kept.about}
    return document.model_copy(update={"page_content": kept.text, "metadata": metadata})
