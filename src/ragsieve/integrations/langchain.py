"""LangChain: a compressor of retrieved documents, and a filter of what tools return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragsieve.errors import MissingExtra
from ragsieve.integrations.base import KEY, Adapter, Kept, read_document
from ragsieve.integrations.tools import ToolText, filtered, is_chosen, texts, with_texts
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
    kept, with their scores, and how probable it is that some document answers
    (`ragsieve.integrations.base.Kept`). A splitter's ``start_index`` becomes that of the kept text,
    None where several parts are kept. Documents of which nothing is kept are left out. Asynchronous
    calls run in a thread. Arguments and errors are `AdapterFields`'s.
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
    metadata = kept.marked(document.metadata, "start_index")
    return document.model_copy(update={"page_content": kept.text, "metadata": metadata})


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
    ``start``, ``end``, ``text`` and ``score``, of those dropped also ``stage`` and ``reason``; and
    ``answerable``, the probability that some of all results answers, None where nothing tells it.
    A text that a model wrote from several results stands at the end of the last one, whose
    ``written`` says what it was written from (`ragsieve.integrations.base.Kept`).

    Args:
        messages: The conversation; none is changed.
        sieve: The filter. Where it fails, and has ``on_error="keep"``, all messages are returned as
            they were, and one warning is logged.
        tools: Patterns of the names of tools whose results are filtered, as ``web_*``.
        on_result: Called with the filter's result, whose documents have the ids of the calls.
    """
    calls = [call for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    called = {call["id"]: call["name"] for call in calls}
    tool_texts = [
        ToolText(number, place, m.tool_call_id, text)
        for number, m in enumerate(messages)
        if isinstance(m, ToolMessage) and m.status != "error"
        if is_chosen(m.name or called.get(m.tool_call_id, ""), tools)
        for place, text in texts(m.content)
        if text.strip()
    ]
    question = next((m.text for m in reversed(messages) if isinstance(m, HumanMessage)), "")
    changes = filtered(tool_texts, str(question), sieve, on_result)
    return [_changed(m, changes[n]) if n in changes else m for n, m in enumerate(messages)]


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
