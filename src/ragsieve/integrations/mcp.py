"""An MCP server: filter documents, search indexes, and give back what was dropped.

A model that calls `filter_documents` or `search_index` reads the kept text only. Each result has a
handle; `show_dropped` with it gives back what was left out, with the reasons, page by page or by
words that are looked for. Handles are random, so that no client can guess another's.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any

from msgspec.structs import replace

from ragsieve import models
from ragsieve.errors import InputError, RagsieveError, needs_extra, one_line
from ragsieve.integrations.dropped import DroppedPage, dropped_page, dropped_spans
from ragsieve.many import in_thread
from ragsieve.models.lru import LRU
from ragsieve.pipeline import System
from ragsieve.result import Result
from ragsieve.sources import SourceKind
from ragsieve.text import safe

with needs_extra("mcp"):
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

_HANDLES = 256  # results that are remembered
_PAGE = 8000  # tokens
_INSTRUCTIONS = (
    "Pass long documents through filter_documents before you read them, or ask search_index. "
    "Both return verbatim sentences that matter to the question. What they left out is behind "
    "show_dropped, by the handle of the result: page by page, or what has the words of a query."
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


class PassedDocument(BaseModel):
    """A document: its text, and where it has them, its id and title."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    text: str
    id: str | None = None
    title: str = ""


def _as_object(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


AnyPassed = Annotated[
    PassedDocument, BeforeValidator(_as_object, json_schema_input_type=str | PassedDocument)
]
"""A document as a text alone, or as an object."""


def create_server(
    system: System, sources: Mapping[str, SourceKind] | None = None
) -> MCPServer[Any]:
    """An MCP server with the tools of this module's docstring; `MCPServer.run` serves it.

    Args:
        system: Filters.
        sources: What `search_index` may search, by name, as `ragsieve.sources.named_source` gives
            them; each is a resource, ``ragsieve://indexes/NAME``. The tool is there where one is.
    """
    server = _Server(
        "ragsieve", version=version("ragsieve"), instructions=_INSTRUCTIONS, log_level="ERROR"
    )
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for DEBUG, which MCP would print
    tools = _Tools(system, sources or {})
    server.tool()(tools.filter_documents)
    server.tool()(tools.show_dropped)
    if sources:
        server.tool()(tools.search_index)
        for name, source in sources.items():
            _add_resource(server, name, source)
    return server


class _Server(MCPServer[Any]):
    """A server that refuses arguments which a tool does not have, and says what is wrong in a line.

    MCP's own passes over such arguments.
    """

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        """See `MCPServer`."""
        tools = {tool.name: tool.input_schema["properties"] for tool in await self.list_tools()}
        known = tools.get(name, arguments)
        if unknown := [argument for argument in arguments if argument not in known]:
            raise ToolError(f"{unknown[0]:.80} is not known; known are {', '.join(known)}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_line(error.__cause__)) from error.__cause__
            raise


class _Tools:
    def __init__(self, system: System, sources: Mapping[str, SourceKind]) -> None:
        self._system = system
        self._sources = sources
        self._load = cache(models.defer)
        self._results: LRU[str, Result] = LRU(_HANDLES)

    async def filter_documents(
        self, question: str, documents: list[AnyPassed], max_tokens: int | None = None
    ) -> FilteredDocuments:
        """Keep the sentences of documents that matter to a question, verbatim.

        Args:
            question: What the documents are read for.
            documents: Texts, or objects with text, id and title; best first.
            max_tokens: The kept text is never longer.
        """
        passed = [document.model_dump(exclude_none=True) for document in documents]
        return await self._filtered(self._system, question, passed, max_tokens)

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
        if (source := self._sources.get(index)) is None:
            raise ToolError(f"index must be one of {', '.join(self._sources)}, got {index!r}")
        if hasattr(source, "k"):
            source = replace(source, k=k)  # type: ignore[type-var]
        llm = getattr(self._system.reader, "llm", None)
        try:
            found = source.open(llm, self._load, lambda model: model)
        except InputError as error:
            raise ToolError(str(error)) from error
        system = self._system.with_source(found)
        return await self._filtered(system, question, None, max_tokens)

    async def show_dropped(
        self,
        handle: str,
        query: str = "",
        document: str = "",
        cursor: str = "",
        max_tokens: int = _PAGE,
    ) -> DroppedPage:
        """Show what was left out of the documents of a result, and why: a page of it.

        Args:
            handle: Of the result.
            query: Show only what has a word of this, the best first.
            document: Show only what is of this document, by its id.
            cursor: Of the page before, to read on.
            max_tokens: The page is never longer.
        """
        if (result := self._results.find([handle]).get(handle)) is None:
            rule = f"handle must be of one of the last {_HANDLES} results"
            raise ToolError(f"{rule}, got {handle!r:.80}")

        def tokens(page: DroppedPage) -> int:
            text = json.dumps(asdict(page), indent=2, ensure_ascii=False)
            return self._system.reader.count([text])[0]

        def page() -> DroppedPage:
            spans = dropped_spans(result, document, query)
            return dropped_page(spans, cursor, max_tokens, tokens)

        try:
            return await in_thread(page)
        except RagsieveError as error:
            raise ToolError(one_line(error)) from error

    async def _filtered(
        self,
        system: System,
        question: str,
        documents: Sequence[Mapping[str, Any]] | None,
        max_tokens: int | None,
    ) -> FilteredDocuments:
        try:
            result = await system.with_budget(max_tokens).acall(question, documents)
        except RagsieveError as error:
            raise ToolError(one_line(error)) from error
        handle = secrets.token_hex(8)
        self._results.keep({handle: result})
        return FilteredDocuments(
            handle=handle,
            text=safe(result.text),
            tokens_before=result.tokens.before,
            tokens_after=result.tokens.after,
            answerable=result.answerable,
        )


def _line(error: ValidationError) -> str:
    """The first rules that arguments break, each with its place and the value."""
    lines = []
    for one in error.errors()[:3]:
        where = ".".join(map(str, one["loc"]))
        value = "" if isinstance(one["input"], dict | list) else f", got {one['input']!r:.80}"
        lines.append(f"{where}: {one['msg']}{value}")
    return one_line("; ".join(lines))


def _add_resource(server: MCPServer[Any], name: str, source: SourceKind) -> None:
    def about() -> str:
        return json.dumps(source.about())

    uri = f"ragsieve://indexes/{name}"
    described = f"The index {name!r}, which search_index searches."
    server.resource(uri, name=name, description=described, mime_type="application/json")(about)
