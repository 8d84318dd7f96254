"""An MCP server: filter documents, search indexes, and give back what was dropped.

A model that calls `filter_documents` or `search_index` reads the kept text only. Each result has a
handle; `show_dropped` with it gives back what was left out, with the reasons, page by page or by
words that are looked for. A handle is made of what was filtered: the same question and documents
get the same bytes again, and whoever could guess a handle knows the documents already.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from operator import not_
from typing import Any, TextIO, cast
from urllib.request import Request

import msgspec
from msgspec.structs import replace

from ragsieve import models
from ragsieve.adapter import over_limits
from ragsieve.agents.omitted import PAGE, ROOM, DroppedPage, handle_of, room_of, shown
from ragsieve.documents import Documents
from ragsieve.errors import InputError, RagsieveError, needs_extra, one_line, typed_line
from ragsieve.integrations.mcp_opening import Opening
from ragsieve.models import addresses
from ragsieve.models.fetch import fetch
from ragsieve.models.lru import LRU
from ragsieve.models.protocol import check_secret
from ragsieve.models.wrap import unwrap
from ragsieve.result import Result
from ragsieve.run.concurrency import in_thread
from ragsieve.schema import broken_rules
from ragsieve.server.settings import Limits
from ragsieve.server.sizes import over_tokens
from ragsieve.sources import SourceKind
from ragsieve.system import System
from ragsieve.text import safe
from ragsieve.timeouts import until

with needs_extra("mcp"):
    from anyio import wrap_file
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
    from mcp.server.stdio import stdio_server
    from pydantic import BaseModel, ConfigDict, Field, ValidationError

_log = logging.getLogger(__name__)

_HANDLES = 256  # results that are remembered
_INSTRUCTIONS = (
    "Pass long documents through filter_documents before you read them, or ask search_index. "
    "Both return verbatim sentences that matter to the question. What they left out is behind "
    "show_dropped, by the handle of the result: page by page, or what has the words of a query."
)


LIMITS = Limits()
"""Those of `ragsieve serve` where nobody says otherwise."""

WAIT_S = 30.0
"""Seconds for a server's page, to its last byte."""


class FilteredDocuments(BaseModel):
    """Documents as filtered.

    ``answerable`` is the probability that some document answers; None where nothing tells it.
    ``warnings`` are there where the filter has some.
    """

    handle: str
    text: str
    tokens_before: int
    tokens_after: int
    answerable: float | None
    warnings: list[str] = Field([], exclude_if=not_)


class PassedDocument(BaseModel):
    """A document: its text, and where it has them, its id and title."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    text: str
    id: str | None = None
    title: str | None = None


class PassedLimits(BaseModel):
    """Other numbers at which the text is cut, all of which hold.

    The least probability that a span is evidence (or keep_answer, that the evidence survives) and
    that some document answers; limits of all text, of each document, and a site's share of them.
    """

    model_config = ConfigDict(extra="forbid")
    keep_answer: float | None = None
    min_score: float | None = None
    min_answerable: float | None = None
    max_chars: int | None = None
    max_tokens_per_document: int | None = None
    max_chars_per_document: int | None = None
    max_share: float | None = None


def create_server(
    system: System,
    sources: Mapping[str, SourceKind] | None = None,
    server: str = "",
    token: str = "",
    limits: Limits = LIMITS,
) -> Server:
    """An MCP server with the tools of this module's docstring; `MCPServer.run` serves it.

    Args:
        system: Filters.
        sources: What `search_index` may search, by name, as `ragsieve.sources.named_source` gives
            them; each is a resource, ``ragsieve://indexes/NAME``. The tool is there where one is.
        server: Address of a `ragsieve serve` that filters results of tools: ``show_dropped`` takes
            its handles, too.
        token: A bearer token of that server, where it asks for one.
        limits: Of a call: its ``max_documents``, ``max_tokens`` and ``timeout_s``.

    Raises:
        InputError: If the token is not printable ASCII without spaces; it is not shown.
    """
    if token:
        check_secret("token", token)
    mcp = Server(
        "ragsieve", version=version("ragsieve"), instructions=_INSTRUCTIONS, log_level="ERROR"
    )
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for DEBUG, which MCP would print
    ask = partial(_asked, server, token) if server else None
    tools = _Tools(system, sources or {}, ask, limits)
    mcp.tool()(tools.filter_documents)
    mcp.tool()(tools.show_dropped)
    if sources:
        mcp.tool()(tools.search_index)
        for name, source in sources.items():
            _add_resource(mcp, name, source)
    return mcp


class Server(MCPServer[Any]):
    """A server that refuses arguments which a tool does not have, and says what is wrong in a line.

    MCP's own passes over such arguments. A result's ``_meta``, which no model reads, says what the
    filter saved and took; a new result breaks no cache, so that ``cache_broken`` is 0.
    """

    def serve(self, session: Opening) -> None:
        """Serve the client of a session."""

        async def serving() -> None:
            low, file = self._lowlevel_server, wrap_file(cast(TextIO, session))
            async with stdio_server(file, file) as (lines, replies):
                await low.run(lines, replies, low.create_initialization_options())

        asyncio.run(serving())

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:
        """See `MCPServer`."""
        tools = {tool.name: tool.input_schema["properties"] for tool in await self.list_tools()}
        known = tools.get(name, arguments)
        began = time.perf_counter()
        if unknown := [argument for argument in arguments if argument not in known]:
            raise ToolError(f"{unknown[0]:.80} is not known; known are {', '.join(known)}")
        try:
            result: Any = await super().call_tool(name, arguments, context)
        except ToolError as error:  # whose own line leaves out what is wrong
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                line = one_line(broken_rules(cause.errors()))
            elif isinstance(cause, RagsieveError):
                line = one_line(cause)
            elif isinstance(error, UnexpectedToolError) and isinstance(cause, Exception):
                _log.exception("%s failed", name)  # of anyone's source
                line = typed_line(cause)
            else:
                raise
            raise ToolError(line) from cause
        values = result.structured_content or {}
        if "tokens_after" in values:  # beside what a model reads
            tokens = {name: values[name] for name in ("tokens_before", "tokens_after")}
            seconds = round(time.perf_counter() - began, 4)
            result.meta = {"ragsieve": {**tokens, "seconds": seconds, "cache_broken": 0}}
        return result


@dataclass
class _Tools:
    system: System
    sources: Mapping[str, SourceKind]
    ask: Callable[[Mapping[str, Any]], DroppedPage] | None
    limits: Limits

    def __post_init__(self) -> None:
        self.llm = getattr(self.system.reader, "llm", None)
        self.declared = addresses.known() or addresses.written([unwrap(self.llm)])
        self.load = cache(models.defer)
        self.results: LRU[str, Result] = LRU(_HANDLES, room_of, ROOM)

    async def filter_documents(
        self,
        question: str,
        documents: list[str | PassedDocument],
        max_tokens: int | None = None,
        limits: PassedLimits | None = None,
    ) -> FilteredDocuments:
        """Keep the sentences of documents that matter to a question, verbatim.

        Args:
            question: What the documents are read for.
            documents: Texts, or objects with text, id and title; best first.
            max_tokens: The kept text is never longer.
            limits: Other numbers at which it is cut.
        """
        passed = [d if isinstance(d, str) else d.model_dump(exclude_none=True) for d in documents]
        return await self._filtered(_cut(self.system, max_tokens, limits), question, passed)

    async def search_index(
        self,
        question: str,
        index: str,
        k: int = 20,
        max_tokens: int | None = None,
        limits: PassedLimits | None = None,
    ) -> FilteredDocuments:
        """Search an index, and keep the sentences of what is found that matter to the question.

        Args:
            question: The question.
            index: Its name, as in the resources.
            k: Passages that are searched for.
            max_tokens: The kept text is never longer.
            limits: Other numbers at which it is cut.
        """
        if (source := self.sources.get(index)) is None:
            raise ToolError(f"index must be one of {', '.join(self.sources)}, got {index!r}")
        most = self.limits.max_documents
        if not 1 <= k <= most:
            raise InputError(f"k must be from 1 to max_documents, {most}, got {k!r:.80}")
        if hasattr(source, "k"):
            source = replace(source, k=k)  # type: ignore[type-var]
        with addresses.declared(self.declared):
            found = source.open(self.llm, self.load, lambda model: model)
        system = self.system.with_source(found)
        return await self._filtered(_cut(system, max_tokens, limits), question, None)

    async def show_dropped(
        self,
        handle: str,
        query: str = "",
        document: str = "",
        cursor: str = "",
        max_tokens: int = PAGE,
    ) -> DroppedPage:
        """Show what was left out of the documents of a result, and why: a page of it.

        Args:
            handle: Of the result.
            query: Show only what has a word of this, the best first.
            document: Show only what is of this document, by its id.
            cursor: Of the page before, to read on.
            max_tokens: The page is never longer.
        """
        result = self.results.find([handle]).get(handle)
        if self.ask and result is None:
            if document:
                raise ToolError(f"document goes with no handle of a proxy, got {document!r:.80}")
            asked = {"handle": handle, "query": query, "cursor": cursor, "max_tokens": max_tokens}
            return await in_thread(self.ask, asked)
        options = {"query": query, "cursor": cursor, "document": document}
        return await in_thread(shown, handle, result, self.system.reader, max_tokens, **options)

    async def _filtered(
        self, system: System, question: str, documents: Documents | None
    ) -> FilteredDocuments:
        seconds = self.limits.timeout_s
        try:
            async with asyncio.timeout(seconds):
                with until(time.monotonic() + seconds):  # the work ends, too
                    await in_thread(self._check, question, documents)
                    result = await system.acall(question, documents)
        except TimeoutError as error:
            late = f"timeout_s must not pass, got over {seconds:g} s"
            raise ToolError(one_line(error) or late) from error
        searched = [one.error for one in result.trace.steps[:1] if documents is None and one.error]
        if searched:  # a filter that fails keeps documents, a search has none
            raise ToolError(one_line(f"the search failed: {searched[0]}", 300))
        texts = [(one.id, one.title, one.text) for one in result.documents]
        handle = handle_of(repr(system.stage), question, repr(system.budget), texts)
        self.results.keep({handle: result})
        return FilteredDocuments(
            handle=handle,
            text=safe(result.text) or next(iter(over_limits(result).values()), ""),
            tokens_before=result.tokens.before,
            tokens_after=result.tokens.after,
            answerable=result.answerable,
            warnings=[safe(warning) for warning in result.trace.warnings],
        )

    def _check(self, question: str, documents: Documents | None) -> None:
        """Raise `InputError` where a call has more than it may."""
        count, most = len(documents or ()), self.limits.max_documents
        if count > most:
            raise InputError(f"max_documents must be at most {most}, got {count}")
        most = self.limits.max_tokens
        if got := over_tokens([question, documents or ()], most, self.system.reader.count):
            raise InputError(f"max_tokens must be at most {most}, got {got} in the documents")


def _cut(system: System, max_tokens: int | None, limits: PassedLimits | None) -> System:
    """The system, cutting at other numbers."""
    return system.at(max_tokens=max_tokens, **(limits.model_dump() if limits else {}))


def _asked(server: str, token: str, values: Mapping[str, Any]) -> DroppedPage:
    """A page of what a server left out of a tool's result, in `WAIT_S`."""
    headers = {"Content-Type": "application/json"}
    request = Request(f"{server.rstrip('/')}/v1/dropped", json.dumps(values).encode(), headers)
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        status, text = fetch(request, WAIT_S)
        if status != 200:
            raise ToolError(one_line(f"the server said {status}: {text}", 300))
        return msgspec.json.decode(text, type=DroppedPage)
    except (OSError, msgspec.MsgspecError) as error:
        why = one_line(error, 300) or f"it takes over {WAIT_S} s"
        raise ToolError(f"the server cannot be asked: {why}") from error


def _add_resource(server: MCPServer[Any], name: str, source: SourceKind) -> None:
    uri = f"ragsieve://indexes/{name}"
    described = f"The index {name!r}, which search_index searches."
    resource = server.resource(uri, name=name, description=described, mime_type="application/json")
    resource(lambda: json.dumps(source.about()))
