"""An MCP server: filter documents, search indexes, and give back what was dropped.

A model that calls `filter_documents` or `search_index` reads the kept text only. Each result has a
handle; `show_dropped` with it gives the whole documents back, span by span, with the reason of each
that was left out. Handles are random, so that no client can guess another's.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ragsieve.errors import InputError, RagsieveError, needs_extra, one_line
from ragsieve.models.lru import LRU
from ragsieve.pipeline import System
from ragsieve.result import Result
from ragsieve.retrieve.corpus import Corpus, Search

with needs_extra("mcp"):
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

_HANDLES = 256  # results that are remembered
_INSTRUCTIONS = (
    "Pass long documents through filter_documents before you read them, or ask search_index. "
    "Both return verbatim sentences that matter to the question. What they left out is behind "
    "show_dropped, by the handle of the result."
)


@dataclass(frozen=True)
class FilteredDocuments:
    """Documents as filtered.

    ``answerable`` is the probability that some document answers; None where nothing tells it.
    """

    handle: str
    text: str
    tokens_before: int
    tokens_after: int
    answerable: float | None


@dataclass(frozen=True)
class DocumentSpan:
    """A span of a document, ``text[start:end]``; ``reason`` is empty where it was kept."""

    document: str
    start: int
    end: int
    text: str
    kept: bool
    reason: str


def create_server(system: System, indexes: Mapping[str, Corpus] | None = None) -> MCPServer[Any]:
    """An MCP server with the tools of this module's docstring; `MCPServer.run` serves it.

    Args:
        system: Filters.
        indexes: What `search_index` may search, by name; each is a resource,
            ``ragsieve://indexes/NAME``. The tool is there where an index is.
    """
    server: MCPServer[Any] = MCPServer("ragsieve", instructions=_INSTRUCTIONS, log_level="ERROR")
    tools = _Tools(system, indexes or {})
    server.tool()(tools.filter_documents)
    server.tool()(tools.show_dropped)
    if indexes:
        server.tool()(tools.search_index)
        for name, corpus in indexes.items():
            _add_resource(server, name, corpus)
    return server


class _Tools:
    def __init__(self, system: System, indexes: Mapping[str, Corpus]) -> None:
        self._system = system
        self._indexes = indexes
        self._results: LRU[str, Result] = LRU(_HANDLES)

    async def filter_documents(
        self, question: str, documents: list[str], max_tokens: int | None = None
    ) -> FilteredDocuments:
        """Keep the sentences of documents that matter to a question, verbatim.

        Args:
            question: What the documents are read for.
            documents: Their texts, best first.
            max_tokens: The kept text is never longer.
        """
        return await self._filtered(self._system, question, documents, max_tokens)

    async def search_index(
        self, question: str, index: str, k: int = 20, max_tokens: int | None = None
    ) -> FilteredDocuments:
        """Search an index, and keep the sentences of what is found that matter to the question.

        Args:
            question: The question.
            index: Its name, as in the resources.
            k: Passages that are searched for.
            max_tokens: The kept text is never longer.
        """
        if (corpus := self._indexes.get(index)) is None:
            raise ToolError(f"index must be one of {', '.join(self._indexes)}, got {index!r}")
        by = "hybrid" if corpus.about().embedder else "bm25"
        try:
            system = self._system.with_source(Search(corpus, k, by))  # type: ignore[arg-type]
        except InputError as error:
            raise ToolError(str(error)) from error
        return await self._filtered(system, question, None, max_tokens)

    async def show_dropped(self, handle: str, document: str = "") -> list[DocumentSpan]:
        """Show all spans of the documents of a result, with why each was left out.

        Args:
            handle: Of the result.
            document: Only this document, by its id.
        """
        if (result := self._results.find([handle]).get(handle)) is None:
            raise ToolError(f"handle must be of one of the last {_HANDLES} results, got {handle!r}")
        rows = [row for row in result.rows if not document or row["document"] == document]
        if not rows:
            ids = ", ".join(one.id for one in result.documents)
            raise ToolError(f"document must be one of {ids}, got {document!r}")
        return [
            DocumentSpan(**{field.name: row[field.name] for field in fields(DocumentSpan)})
            for row in rows
        ]

    async def _filtered(
        self, system: System, question: str, documents: list[str] | None, max_tokens: int | None
    ) -> FilteredDocuments:
        try:
            result = await system.with_budget(max_tokens).acall(question, documents)
        except RagsieveError as error:
            raise ToolError(one_line(error)) from error
        handle = secrets.token_hex(8)
        self._results.keep({handle: result})
        return FilteredDocuments(
            handle=handle,
            text=result.text,
            tokens_before=result.tokens.before,
            tokens_after=result.tokens.after,
            answerable=result.answerable,
        )


def _add_resource(server: MCPServer[Any], name: str, corpus: Corpus) -> None:
    def about() -> str:
        contents = corpus.about()
        return json.dumps({"documents": contents.documents, "passages": contents.chunks})

    uri = f"ragsieve://indexes/{name}"
    described = f"The index {name!r}, which search_index searches."
    server.resource(uri, name=name, description=described, mime_type="application/json")(about)
