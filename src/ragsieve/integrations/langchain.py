"""LangChain: a compressor of retrieved documents, and a filter of what tools return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ragsieve.errors import MissingExtra
from ragsieve.integrations.base import KEY, Adapter, Kept, read_document
from ragsieve.integrations.tools import NOTHING, is_chosen, texts, with_texts
from ragsieve.result import Result

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "langchain-core", extra="langchain") from error

from ragsieve.integrations.fields import AdapterFields


class RagsieveCompressor(AdapterFields, BaseDocumentCompressor):
    """Keeps of retrieved documents what matters to the question.

    A document compressor, for `ContextualCompressionRetriever` and wherever one fits. Documents
    keep id and metadata; ``metadata["ragsieve"]`` says which spans of the text that came in were
    kept, with their scores (`ragsieve.integrations.base.Kept`). Documents of which nothing is kept
    are left out. Asynchronous calls run in a thread. Arguments and errors are `AdapterFields`'s.
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


class _Part(NamedTuple):
    """A text of a tool message: places of the message and in its content; -1 of a new text."""

    message: int
    place: int | None
    text: str
    about: Mapping[str, Any]


def filter_tool_messages(
    messages: Sequence[BaseMessage],
    sieve: Adapter,
    *,
    tools: Sequence[str] = ("*",),
    on_result: Callable[[Result], object] | None = None,
) -> list[BaseMessage]:
    """Keep of what tools returned what matters to the last human message.

    All messages stay, in order and with their ids. The texts of a tool message are cut to their
    kept spans, or to `ragsieve.integrations.tools.NOTHING`; errors of tools, images and the like
    pass as they are. All results are filtered at once: ``max_tokens`` of the filter bounds the kept
    text of the whole conversation. At each turn pass the messages as the tools returned them.

    A filtered message's artifact has, beside what it held, ``"ragsieve"``: ``kept`` and
    ``dropped``, spans with ``part`` (the place in a content of several parts, else None),
    ``start``, ``end``, ``text`` and ``score``, of those dropped also ``stage`` and ``reason``.
    A text that a model wrote from several results stands at the end of the last one, whose
    ``written`` says what it was written from (`ragsieve.integrations.base.Kept`).

    Args:
        messages: The conversation; none is changed.
        sieve: The filter. Where it fails, and has ``on_error="keep"``, all messages are returned as
            they were, and one warning is logged.
        tools: Patterns of the names of tools whose results are filtered, as ``web_*``.
        on_result: Called with the filter's result.
    """
    calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    called = {call["id"]: call["name"] for call in calls}
    parts = [
        _Part(number, place, text, {})
        for number, m in enumerate(messages)
        if isinstance(m, ToolMessage) and m.status != "error"
        if is_chosen(m.name or called.get(m.tool_call_id, ""), tools)
        for place, text in texts(m.content)
        if text.strip()
    ]
    if not parts:
        return [*messages]
    question = next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")
    filtered = sieve(str(question), parts, _read_part, _write_part, on_result)
    if filtered.result is None:
        return [*messages]
    changes = _changes(parts, filtered.documents, filtered.result)
    return [_changed(m, changes[n]) if n in changes else m for n, m in enumerate(messages)]


def _read_part(part: _Part) -> dict[str, Any]:
    return {"text": part.text}


def _write_part(part: _Part | None, kept: Kept) -> _Part:
    message, place, _, _ = part or (-1, None, "", {})
    return _Part(message, place, kept.text, kept.about)


def _changes(
    parts: Sequence[_Part], kept: Sequence[_Part], result: Result
) -> dict[int, tuple[dict[int | None, str], dict[str, Any]]]:
    """By the messages' places: the texts of their contents, and the provenance."""
    own = {(part.message, part.place): part.text for part in kept}
    rows = sorted(result.rows, key=itemgetter("document"))
    spans = {name: [*group] for name, group in groupby(rows, itemgetter("document"))}
    changes: dict[int, tuple[dict[int | None, str], dict[str, Any]]] = {}
    for part, document in zip(parts, result.documents, strict=False):  # stages may find more
        contents, about = changes.setdefault(part.message, ({}, {"kept": [], "dropped": []}))
        contents[part.place] = own.get((part.message, part.place), NOTHING)
        for row in spans.get(document.id, ()):
            more = () if row["kept"] else ("stage", "reason")
            span = {name: row[name] for name in ("start", "end", "text", "score", *more)}
            about["kept" if row["kept"] else "dropped"].append({"part": part.place, **span})
    if new := [part for part in kept if part.message < 0]:
        last = parts[-1]
        contents, about = changes[last.message]
        before = [own[key] for key in [(last.message, last.place)] if key in own]
        contents[last.place] = "\n\n".join([*before, *(part.text for part in new)])
        about["written"] = [part.about for part in new]
    return changes


def _changed(
    message: BaseMessage, change: tuple[Mapping[int | None, str], Mapping[str, Any]]
) -> BaseMessage:
    contents, about = change
    held = getattr(message, "artifact", None)
    others = held if isinstance(held, Mapping) else {} if held is None else {"artifact": held}
    update = {
        "content": with_texts(message.content, contents),
        "artifact": {**others, KEY: about},
    }
    return message.model_copy(update=update)
