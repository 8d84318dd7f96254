"""Documents in a chat request: find them, and replace them by less."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, NamedTuple

from ragsieve.adapter import kept
from ragsieve.agents.conversation_query import turns_of
from ragsieve.agents.messages import listed, results_in, texts, with_texts
from ragsieve.documents import as_documents, listed_in_json
from ragsieve.errors import InputError
from ragsieve.result import Result

OPEN, CLOSE = "<documents>", "</documents>"
_CONTENT, _CONTENT_END, _END = "<document_content>", "</document_content>", "</document>"
_TAG = re.compile(
    r'\s*+(<document(?:\s{1,9}[a-z]{1,20}="[^"<>\n]{0,2000}")*\s{0,9}>'
    rf"(?:\s*(?:<((?!document)[a-z_]{{1,20}})>[^<>]{{0,2000}}</\2>\s*){{0,9}}{_CONTENT})?)"
)
_CLOSE = re.compile(rf"\s*+{CLOSE}")
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_ELEMENT = re.compile(r"<([a-z]+)>([^<]*)</")
_MARKUP = re.compile(r"<(?=/?document(?:s|_content)?\b)", re.IGNORECASE)
_HEAD = "Answer from these documents where they help.\n"

Kept = Mapping[int, str]
"""Kept texts by the documents' places, in the order in which they are to be read."""


class Tagged(NamedTuple):
    """A document of a tagged block: its opening tags as they came, and its text."""

    tag: str
    text: str


class ContextBlock(NamedTuple):
    """A tagged block of a text: characters ``start`` to ``end``."""

    start: int
    end: int
    documents: tuple[Tagged, ...]


@dataclass(frozen=True)
class ChatDocuments:
    """A chat request with documents.

    Args:
        query: The last turns, up to the last user message, without documents.
        documents: What there is to filter, as `System.__call__` takes it.
        fill: A request, as it came or with other messages changed, with kept texts in the
            documents' places, and texts that no place is for.
        unread: Names of fields of documents that neither the filter nor the upstream reads.
    """

    query: str
    documents: tuple[dict[str, Any], ...]
    fill: Callable[[dict[str, Any], Kept, Sequence[str]], dict[str, Any]]
    unread: tuple[str, ...] = ()

    def filtered(self, body: dict[str, Any], result: Result) -> dict[str, Any]:
        """A request with what a system kept; texts that a model wrote stand at the end."""
        parts = kept(result, [document.rank for document in as_documents(self.documents)])
        known = {part.place: part.text for part in parts if part.place is not None}
        return self.fill(body, known, [part.text for part in parts if part.place is None])

    def unfiltered(self, body: dict[str, Any]) -> dict[str, Any]:
        """A request with all documents whole."""
        return self.fill(body, {n: one["text"] for n, one in enumerate(self.documents)}, [])


def documents_of(body: dict[str, Any], at: int | None = None) -> ChatDocuments | None:
    """The documents of a request: of its field ``documents``, else of a user's message.

    None where there are none, or nothing that could be a question.

    Args:
        body: The request.
        at: The message's place; the last one's where None, to which the field belongs.

    Raises:
        InputError: If documents cannot be read; the message says why.
    """
    messages = body.get("messages")
    values = None
    if at is None:
        at, values = max(users_of(messages), default=None), body.get("documents")
    if not isinstance(messages, list) or at is None:
        return None
    if values and not isinstance(values, list):
        raise InputError(f"documents must be a list, got {values!r:.80}")
    if values:
        question = _asked(messages, at)
        return _of_field(at, question, values) if question else None
    return _of_message(body, at)


def users_of(messages: object) -> list[int]:
    """The places of a user's messages, without those that only have results of tools."""
    some = enumerate(listed(messages))
    users = [(n, m) for n, m in some if isinstance(m, dict) and m.get("role") == "user"]
    return [n for n, m in users if texts(m.get("content")) or not results_in(n, m)]


def _asked(messages: Sequence[Any], at: int) -> str:
    """The last turns up to a message, which is one of a user, without documents."""
    last = without_documents(messages[at])
    said = "".join(text for _, text in texts(last["content"]))
    before = (without_documents(messages[n]) for n in range(at - 1, -1, -1))
    return turns_of(chain([last], before)) if said.strip() else ""


def without_documents(message: Any) -> Any:
    """A message of a user without its tagged blocks; any other as it is."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return message
    content = message.get("content")
    return {**message, "content": with_texts(content, {n: _without(t) for n, t in texts(content)})}


def _without(text: str) -> str:
    """A text without its tagged blocks; as it is where they have another form."""
    try:
        return _replaced(text, blocks(text), repeat(""))
    except InputError:
        return text


def _of_field(at: int, question: str, values: list[Any]) -> ChatDocuments:
    documents = tuple(listed_in_json(values))
    said = {name for one in documents for name, value in one.items() if value is not None}
    unread = sorted(said - {"id", "title", "text", "metadata"})

    def fill(body: dict[str, Any], kept: Kept, others: Sequence[str]) -> dict[str, Any]:
        tagged = [(_tag(documents[n]), _escaped(text)) for n, text in kept.items()]
        messages = list(body["messages"])
        # no system message: documents are nobody's word
        messages[at] = _with_lead(messages[at], _HEAD + _block(tagged, others))
        return {**{k: v for k, v in body.items() if k != "documents"}, "messages": messages}

    return ChatDocuments(question, documents, fill, tuple(unread))


def _of_message(body: dict[str, Any], at: int) -> ChatDocuments | None:
    """The tagged blocks of one message."""
    message = body["messages"][at]
    own = dict(texts(message.get("content")))
    parts = {part: blocks(text) for part, text in own.items()}
    placed = [block for some in parts.values() for block in some]
    owners = [n for n, block in enumerate(placed) for _ in block.documents]
    tagged = [one for block in placed for one in block.documents]
    question = _asked(body["messages"], at) if tagged else ""
    if not question:
        return None

    def fill(body: dict[str, Any], kept: Kept, others: Sequence[str]) -> dict[str, Any]:
        inside: list[list[tuple[str, str]]] = [[] for _ in placed]
        for place, text in kept.items():
            inside[owners[place]].append((tagged[place].tag, text))
        insides = map(_block, inside, [*[()] * (len(placed) - 1), others])
        filled = ((part, _replaced(text, parts[part], insides)) for part, text in own.items())
        messages = list(body["messages"])
        messages[at] = {**message, "content": with_texts(message["content"], dict(filled))}
        return {**body, "messages": messages}

    return ChatDocuments(question, tuple(map(_document, tagged)), fill)


def _document(tagged: Tagged) -> dict[str, Any]:
    """As `System.__call__` takes it."""
    attributes = dict(_ATTRIBUTE.findall(tagged.tag) + _ELEMENT.findall(tagged.tag))
    named = {k: v for k, v in attributes.items() if k in ("id", "title", "source")}
    return {"text": tagged.text, **named}


def _block(tagged: Iterable[tuple[str, str]], others: Sequence[str]) -> str:
    """A tagged block: opening tags with their texts, then texts without attributes."""
    documents = [*tagged, *(("<document>", _escaped(text)) for text in others)]
    return "\n".join([OPEN, *(f"{tag}\n{text}\n{_end(tag)}" for tag, text in documents), CLOSE])


def _end(tag: str) -> str:
    return f"{_CONTENT_END}\n{_END}" if tag.endswith(_CONTENT) else _END


def _tag(document: Mapping[str, Any]) -> str:
    said = [(n, re.sub('["<>]', " ", str(document.get(n) or ""))) for n in ("id", "title")]
    attributes = (f' {name}="{" ".join(text.split())}"' for name, text in said if text)
    return f"<document{''.join(attributes)}>"


def blocks(text: str) -> list[ContextBlock]:
    """The tagged blocks of a text, in order.

    A block is ``<documents>``, documents, ``</documents>``, with white space between; a document is
    ``<document id="…" title="…" source="…">``, its text as it is, ``</document>``; no attribute is
    needed. Its text may stand in ``<document_content>``, behind elements as ``<source>``. Nothing
    is unescaped or expanded.

    Raises:
        InputError: If a block has another form.
    """
    result = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        documents = []
        at = start + len(OPEN)
        while not (close := _CLOSE.match(text, at)):
            tag = _TAG.match(text, at)
            end = text.find(_END, tag.end()) if tag else -1
            if not tag or end < 0:
                got = repr(text[at : at + 40].lstrip())
                raise InputError(f"a documents block must hold documents, got {got}")
            inner = text[tag.end() : end]
            if tag[1].endswith(_CONTENT):
                inner = inner.rstrip().removesuffix(_CONTENT_END).rstrip()
            if _MARKUP.search(inner):
                raise InputError("a document must not hold the tags of another one")
            documents.append(Tagged(tag[1], inner.strip("\n")))
            at = end + len(_END)
        at = close.end()
        result.append(ContextBlock(start, at, tuple(documents)))
    return result


def _replaced(text: str, places: Sequence[ContextBlock], others: Iterator[str]) -> str:
    """``text`` with the next of ``others`` in the place of each block."""
    pieces = []
    at = 0
    for block in places:
        pieces += [text[at : block.start], next(others)]
        at = block.end
    return "".join([*pieces, text[at:]])


def _with_lead(message: dict[str, Any], text: str) -> dict[str, Any]:
    """A message with a text before its content, but behind results of tools, which come first."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": f"{text}\n\n{content}"}
    kinds = {part.get("type") for part in content if isinstance(part, dict)}
    kind = "input_text" if "input_text" in kinds else "text"
    at = len(results_in(0, message))
    return {**message, "content": [*content[:at], {"type": kind, "text": text}, *content[at:]]}


def _escaped(text: str) -> str:
    """``text`` with a space in what would end or begin a document."""
    return _MARKUP.sub("< ", text)
