"""LangChain: a compressor of retrieved documents, and a filter of what tools return."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.adapter import KEY, Kept, read_document
from ragsieve.agents.filter import Outcome, ToolFilter
from ragsieve.agents.messages import with_texts
from ragsieve.errors import needs_extra

with needs_extra("langchain"):
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ragsieve.integrations.fields import AdapterFields


class RagsieveCompressor(AdapterFields, BaseDocumentCompressor):
    """Keeps of retrieved documents what matters to the question.

    A document compressor, for `ContextualCompressionRetriever` and wherever one fits. Documents
    keep id and metadata; ``metadata["ragsieve"]`` says which spans of the text that came in were
    kept, with their scores, and how probable it is that some document answers
    (`ragsieve.adapter.Kept`). A splitter's ``start_index`` becomes that of the kept text,
    None where several parts are kept. Documents of which nothing is kept are left out. Asynchronous
    calls run in a thread. Arguments and errors are `AdapterFields`'s.
    """

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Filter ``documents``; return what is kept, in reading order."""
        return self.adapter(query, documents, _read, _write, self.on_result).documents


def _read(document: Document) -> dict[str, Any] | None:
    return read_document(document.id, document.page_content, document.metadata)


def _write(document: Document | None, kept: Kept) -> Document:
    if document is None:
        document = Document(id=kept.document.id, page_content="", metadata=kept.metadata)
    metadata = kept.marked(document.metadata, "start_index")
    return document.model_copy(update={"page_content": kept.text, "metadata": metadata})


def filter_tool_messages(messages: Sequence[BaseMessage], results: ToolFilter) -> list[BaseMessage]:
    """Keep of what tools returned what their calls asked for.

    All messages stay, in order and with their ids. The texts of a tool message are cut to their
    kept spans, or to `ragsieve.agents.filter.NOTHING`; errors of tools, images and the
    like pass as they are. At each turn pass the messages as the tools returned them, to the same
    filter: what was cut reads the same again.

    A message that was cut has in its artifact, beside what it held, ``"ragsieve"``: ``kept`` and
    ``dropped``, spans with ``part`` (the place in a content of several parts, else None),
    ``start``, ``end``, ``text`` and ``score``, of those dropped also ``stage`` and ``reason``;
    ``question``, what it was read for; ``handle``; and ``answerable``, the probability that the
    result answers, None where nothing tells it. A text that a model wrote from several parts stands
    at the end of the last one; ``written`` says what it was written from
    (`ragsieve.adapter.Kept`).

    Args:
        messages: The conversation; none is changed.
        results: The filter of results. Where it fails on one, and has ``on_error="keep"``, that one
            is returned as it was, and a warning is logged.
    """
    cut = results([_as_chat(message) for message in messages])
    changed = [*messages]
    for n, outcome in cut.outcomes.items():
        if outcome.texts and isinstance(n, int):
            changed[n] = _changed(messages[n], outcome)
    return changed


def _as_chat(message: BaseMessage) -> dict[str, Any]:
    """A message as chat completions have it."""
    chat: dict[str, Any] = {"role": message.type, "content": message.content}
    if isinstance(message, HumanMessage):
        return {**chat, "role": "user"}
    if isinstance(message, ToolMessage):
        more = {"tool_call_id": message.tool_call_id, "name": message.name}
        return {**chat, "role": "tool", **more, "status": message.status}
    if isinstance(message, AIMessage):
        made = message.tool_calls
        named = [{"name": c["name"], "arguments": json.dumps(c["args"], default=str)} for c in made]
        calls = [{"id": c["id"], "function": one} for c, one in zip(made, named, strict=True)]
        return {**chat, "role": "assistant", "tool_calls": calls}
    return chat


def _changed(message: BaseMessage, outcome: Outcome) -> BaseMessage:
    held = getattr(message, "artifact", None)
    others = held if isinstance(held, Mapping) else {} if held is None else {"artifact": held}
    content, artifact = with_texts(message.content, outcome.texts), {**others, KEY: outcome.about}
    return message.model_copy(update={"content": content, "artifact": artifact})
