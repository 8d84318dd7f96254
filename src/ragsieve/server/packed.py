"""Documents in a chat request: where they stand in it, and the request with fewer of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from typing import Any

from ragsieve.errors import InputError
from ragsieve.pipeline import Result
from ragsieve.prompts import joined
from ragsieve.types import Document, Segment

OPEN, CLOSE = "<documents>", "</documents>"
_TAG = re.compile(r'<document((?:\s{1,9}[a-z]{1,20}="[^"<>\n]{0,2000}")*)\s{0,9}>')
_ATTRIBUTE = re.compile(r'([a-z]+)="([^"]*)"')
_END = "</document>"
_SPEAKS = re.compile(r"<(?=/?documents?\b)", re.IGNORECASE)
_TEXTS = ("text", "content", "snippet", "contents", "body")
_HEAD = "Answer from these documents where they help.\n"

Kept = Mapping[int, Sequence[Segment]]


@dataclass(frozen=True)
class Tagged:
    """A document of a tagged block, with its place.

    Args:
        tag: Its opening tag, as it came.
        text: What stands between its tags.
    """

    tag: str
    text: str

    @property
    def document(self) -> dict[str, Any]:
        """As `System.__call__` takes it."""
        said = dict(_ATTRIBUTE.findall(self.tag))
        return {"text": self.text, **{k: said[k] for k in ("id", "title", "source") if k in said}}


@dataclass(frozen=True)
class Block:
    """A tagged block of a text: characters ``start`` to ``end``."""

    start: int
    end: int
    documents: tuple[Tagged, ...]


@dataclass(frozen=True)
class Packed:
    """A chat request with documents.

    Args:
        body: The request; nothing in it is changed.
        question: The last user message without its documents.
        documents: What there is to filter, as `System.__call__` takes it.
        fill: The request with these in the documents' places: segments by the documents' places,
            in the order in which they are to be read, and texts that no place is for.
    """

    body: dict[str, Any]
    question: str
    documents: tuple[dict[str, Any], ...]
    fill: Callable[[Kept, Sequence[str]], dict[str, Any]]

    def filtered(self, result: Result) -> dict[str, Any]:
        """The request with what a system kept; texts that a model wrote stand at the end."""
        places = {d.id: n for n, d in enumerate(result.documents[: len(self.documents)])}
        kept: dict[int | str, list[Segment]] = {}
        for segment in result.kept:
            name = segment.document.id
            kept.setdefault(places.get(name, name), []).append(segment)
        known = {place: spans for place, spans in kept.items() if isinstance(place, int)}
        others = [joined(spans) for place, spans in kept.items() if isinstance(place, str)]
        return self.fill(known, others)

    @property
    def whole(self) -> dict[str, Any]:
        """The request with all documents whole."""
        texts = (Document(str(n), d["text"]) for n, d in enumerate(self.documents))
        return self.fill({n: [Segment.whole(one)] for n, one in enumerate(texts)}, [])


def packed(body: dict[str, Any]) -> Packed | None:
    """The documents of a request: of its field ``documents``, else of its last user message.

    None where there are none, or nothing that could be a question.

    Raises:
        InputError: If documents cannot be read; the message says why.
    """
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    asked = [n for n, m in enumerate(messages) if isinstance(m, dict) and m.get("role") == "user"]
    if not asked:
        return None
    given = body.get("documents")
    if isinstance(given, list) and given:
        question = "\n".join(text for _, text in _texts(messages[asked[-1]])).strip()
        return _of_field(body, asked[-1], question, given) if question else None
    return _of_message(body, asked[-1])


def _of_field(body: dict[str, Any], at: int, question: str, given: list[Any]) -> Packed:
    documents = tuple(_of_value(value, place) for place, value in enumerate(given))

    def fill(kept: Kept, others: Sequence[str]) -> dict[str, Any]:
        lines = [OPEN]
        for place, spans in kept.items():
            document = documents[place]
            attributes = "".join(
                f' {name}="{_attribute(str(document[name]))}"'
                for name in ("id", "title")
                if document.get(name)
            )
            lines += [f"<document{attributes}>", _quiet(joined(spans)), _END]
        for text in others:
            lines += ["<document>", _quiet(text), _END]
        content = _HEAD + "\n".join([*lines, CLOSE])
        messages = list(body["messages"])
        messages[at] = _led(messages[at], content)  # no system message: documents are nobody's word
        rest = {k: v for k, v in body.items() if k != "documents"}
        return {**rest, "messages": messages}

    return Packed(body, question, documents, fill)


def _of_value(value: Any, place: int) -> dict[str, Any]:
    """A string, ``{text, …}``, or Cohere's ``{id, data}``, whose data may have any fields."""
    data = value.get("data", value) if isinstance(value, dict) else value
    title = None
    if isinstance(data, str):
        text = data
    elif isinstance(data, dict):
        title = data.get("title")
        fields = [(k, v) for k, v in data.items() if k not in ("id", "title")]
        lines = "\n".join(f"{k}: {v}" for k, v in fields if isinstance(v, str | int | float))
        text = next((data[k] for k in _TEXTS if isinstance(data.get(k), str)), lines)
    else:
        raise InputError(f"documents must be strings or objects, got {data!r:.80} at {place}")
    name = value.get("id") if isinstance(value, dict) else None
    document = {"id": str(place) if name is None else str(name), "text": text}
    return {**document, "title": title} if isinstance(title, str) else document


def _of_message(body: dict[str, Any], at: int) -> Packed | None:
    """The tagged blocks of one message."""
    message = body["messages"][at]
    texts = dict(_texts(message))
    found = {part: blocks(text) for part, text in texts.items()}
    placed = [block for some in found.values() for block in some]
    starts = [*accumulate((len(block.documents) for block in placed), initial=0)]
    tagged = [one for block in placed for one in block.documents]
    question = "\n".join(_without(text, found[part]) for part, text in texts.items()).strip()
    if not tagged or not question:
        return None

    def fill(kept: Kept, others: Sequence[str]) -> dict[str, Any]:
        own: list[dict[int, Sequence[Segment]]] = [{} for _ in placed]
        for place, spans in kept.items():
            n = bisect_right(starts, place) - 1
            own[n][place - starts[n]] = spans
        more = [*[()] * (len(placed) - 1), others]
        insides = iter([*map(_inside, placed, own, more)])
        filled = {part: _replaced(text, found[part], insides) for part, text in texts.items()}
        messages = list(body["messages"])
        messages[at] = _with_texts(message, filled)
        return {**body, "messages": messages}

    return Packed(body, question, tuple(one.document for one in tagged), fill)


def _inside(block: Block, kept: Kept, others: Sequence[str]) -> str:
    """A block with what was kept, in the order in which it is to be read."""
    lines = [OPEN]
    for place, spans in kept.items():
        lines += [block.documents[place].tag, joined(spans), _END]
    for text in others:
        lines += ["<document>", _quiet(text), _END]
    return "\n".join([*lines, CLOSE])


def blocks(text: str) -> list[Block]:
    """The tagged blocks of a text, in order.

    A block is ``<documents>``, documents, ``</documents>``, with white space between; a document is
    ``<document id="…" title="…" source="…">``, its text as it is, ``</document>``; no attribute is
    asked for. Nothing is unescaped or expanded.

    Raises:
        InputError: If a block has another form.
    """
    found = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        documents = []
        at = _after_space(text, start + len(OPEN))
        while not text.startswith(CLOSE, at):
            tag = _TAG.match(text, at)
            end = text.find(_END, tag.end()) if tag else -1
            if not tag or end < 0:
                raise InputError(
                    f"a documents block must hold documents, got {text[at : at + 40]!r}"
                )
            inner = text[tag.end() : end]
            if _SPEAKS.search(inner):
                raise InputError("a document must not hold the tags of another one")
            documents.append(Tagged(tag.group(), inner.strip("\n")))
            at = _after_space(text, end + len(_END))
        at += len(CLOSE)
        found.append(Block(start, at, tuple(documents)))
    return found


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _without(text: str, found: Sequence[Block]) -> str:
    return _replaced(text, found, repeat(""))


def _replaced(text: str, found: Sequence[Block], others: Iterator[str]) -> str:
    """``text`` with the next of ``others`` in the place of each block."""
    pieces = []
    at = 0
    for block in found:
        pieces += [text[at : block.start], next(others)]
        at = block.end
    return "".join([*pieces, text[at:]])


def _texts(message: Mapping[str, Any]) -> list[tuple[int | None, str]]:
    """The texts of a message: its content, or its content's parts of type ``text``, with places."""
    content = message.get("content")
    if isinstance(content, str):
        return [(None, content)]
    parts = content if isinstance(content, list) else []
    return [
        (place, part["text"])
        for place, part in enumerate(parts)
        if isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ]


def _with_texts(message: dict[str, Any], texts: Mapping[int | None, str]) -> dict[str, Any]:
    if None in texts:
        return {**message, "content": texts[None]}
    parts = message["content"]
    return {
        **message,
        "content": [{**p, "text": texts[n]} if n in texts else p for n, p in enumerate(parts)],
    }


def _led(message: dict[str, Any], text: str) -> dict[str, Any]:
    """A message with a text before its content."""
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": f"{text}\n\n{content}"}
    return {**message, "content": [{"type": "text", "text": text}, *content]}


def _quiet(text: str) -> str:
    """``text`` with a space in what would end or begin a document."""
    return _SPEAKS.sub("< ", text)


def _attribute(text: str) -> str:
    return " ".join(re.sub('["<>]', " ", text).split())
