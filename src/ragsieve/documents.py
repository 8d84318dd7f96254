"""Make documents from strings, mappings, and documents of ours or of other frameworks."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from ragsieve.errors import InputError, one_line
from ragsieve.schema import check_values
from ragsieve.trace import note
from ragsieve.types import Document

TEXT_KEYS = ("text", "page_content", "content", "snippet", "contents", "body")
"""Keys of a mapping, and fields of another framework's document, under which its text may be."""

_ABOUT = {"id", "_id", "title", "source", "url", "metadata"}


@runtime_checkable
class PageDocument(Protocol):
    """A document of LangChain."""

    page_content: str
    metadata: dict[str, Any]


@runtime_checkable
class ContentDocument(Protocol):
    """A document of Haystack."""

    content: str | None
    meta: dict[str, Any]


@runtime_checkable
class TextNode(Protocol):
    """A node of LlamaIndex."""

    node_id: str
    metadata: dict[str, Any]

    def get_content(self) -> str:
        """Its text."""


@runtime_checkable
class ScoredNode(Protocol):
    """A node of LlamaIndex with its score."""

    node: Any
    score: float | None


AnyDocument = (
    Document | Mapping[str, Any] | str | PageDocument | ContentDocument | TextNode | ScoredNode
)
Documents = Sequence[AnyDocument]


def as_documents(documents: Documents | None) -> tuple[Document, ...]:
    """Documents from what a caller has, ranked as given, with unique ids; see `System.__call__`."""
    return documents_and_places(documents)[0]


def documents_and_places(documents: Documents | None) -> tuple[tuple[Document, ...], list[int]]:
    """`as_documents`, and for each that the caller has its place among them.

    A document's ``rank`` is the place, among those of the caller, of the first that it is.
    """
    used: Counter[str] = Counter()
    known: dict[tuple[str, str], int] = {}
    ranked: list[Document] = []
    places, named = [], False
    for rank, value in enumerate(listed(documents)):
        document = replace(_as_document(value, rank), rank=rank)
        named = named or bool(document.metadata)
        place = known.setdefault((document.id, document.text), len(ranked))
        places.append(place)
        if place < len(ranked):
            note(f"document id {document.id!r} occurs again with the same text: read once")
            ranked[place] = _filled(ranked[place], document)
            continue
        name = unused_id(document.id, used)
        if name != document.id:
            note(f"document id {document.id!r} occurs again: renamed {name!r}")
            document = replace(document, id=name)
        ranked.append(document)
    if named:
        from ragsieve.text.passage_names import with_names  # of metadata alone

        return with_names(ranked), places
    return (*ranked,), places


def listed(documents: Documents | None) -> list[AnyDocument]:
    """Documents as a list, also those of an iterator, or of a column of a data frame.

    Raises:
        InputError: If they are none.
    """
    if hasattr(documents, "columns"):  # whose items are names or columns
        kind = type(documents).__name__
        raise InputError(f"documents must be a list, got a {kind}: pass its rows")
    if isinstance(documents, str | Mapping) or not isinstance(documents, Iterable):
        raise InputError(f"documents must be a list, got {documents!r:.60}")
    return [*documents]


def from_json(value: Any, text: str = "") -> dict[str, Any]:
    """Any JSON value as a document that `as_documents` takes.

    A string is its text; so is that of an object under the first of `TEXT_KEYS` that has one, or
    a null where nothing else is said; Cohere's ``{id, data}`` is its data. An object of plain
    values becomes a line ``key: value`` for each; whatever else, as an API's reply, is JSON as it
    stands.

    Args:
        value: The value, as `json.loads` gives it.
        text: Its JSON as it stands; made of ``value`` where empty.

    Raises:
        InputError: If it nests too deep to be written down.
    """
    named: dict[str, Any] = {}
    if isinstance(value, dict) and value.keys() <= {"id", "data"} and "data" in value:
        named = {key: own for key, own in value.items() if key == "id"}
        value, text = value["data"], ""
    if isinstance(value, str):
        return {"text": value, **named}
    own = _own_fields(value) if isinstance(value, dict) else {}
    if "text" not in own:
        try:
            own["text"] = text or json.dumps(value, ensure_ascii=False)
        except RecursionError as error:
            raise InputError("JSON of a document must not nest so deep") from error
    return {**own, **named}


def _own_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of an object as those of a document; no ``text`` where that is to be all of it."""
    title = str(title) if isinstance(title := value.get("title"), str | int) else ""
    own = {"id": value.get("id", value.get("_id")), "title": title}
    said = {name for name, inner in value.items() if inner is not None}
    kinds: Any = str | None if said <= _ABOUT else str  # where nothing else is said, a null is ""
    texts = {k: value[k] for k in TEXT_KEYS if k in value and isinstance(value[k], kinds)}
    if key := next((k for k, text in texts.items() if text), next(iter(texts), None)):
        about = value.get("metadata") or {}
        metadata = about if isinstance(about, dict) else {"metadata": about}
        rest = {name: inner for name, inner in value.items() if name != key}
        return {**rest, **own, "text": value[key] or "", "metadata": metadata}
    fields = {name: inner for name, inner in value.items() if name != "title"}
    if not fields or any(isinstance(inner, dict | list) for inner in fields.values()):
        return own
    lines = {n: one if isinstance(one, str) else json.dumps(one) for n, one in fields.items()}
    return {**own, "text": "\n".join(f"{name}: {one}" for name, one in lines.items())}


def listed_in_json(values: Sequence[Any]) -> list[dict[str, Any]]:
    """A JSON list of documents, each as `from_json` gives it; its place is the id of one without.

    Raises:
        InputError: If one is neither a string nor an object.
    """
    documents = []
    for place, value in enumerate(values):
        if not isinstance(value, str | dict):
            raise InputError(f"documents must be strings or objects, got {value!r:.80} at {place}")
        document = from_json(value)
        name = document.get("id")
        documents.append({**document, "id": str(place) if name is None else str(name)})
    return documents


def site(document: Document) -> str:
    """Who a document comes from: the domain of its URL, else its source, else itself.

    The URL is its ``source`` or, in its metadata, ``source``, ``url`` or ``link``. Hosts of one
    registered domain are one site: its last two labels, or three where these are as short as in
    ``co.uk``.
    """
    places = (document.source, *(document.metadata.get(key) for key in ("source", "url", "link")))
    named = [place.strip() for place in places if isinstance(place, str) and place.strip()]
    for place in named:
        try:
            host = (urlsplit(place).hostname or "").rstrip(".")
        except ValueError:  # brackets that hold no address
            continue
        labels = host.split(".")
        if len(labels) > 2 and not labels[-1].isdecimal():
            short = len(labels[-1]) == 2 and len(labels[-2]) <= 3
            host = ".".join(labels[-3 if short else -2 :])
        if host:
            return host
    return named[0] if named else f"#{document.id}"


def _filled(document: Document, copy: Document) -> Document:
    """A document with what a copy says of it beside its text, where it says nothing itself."""
    metadata = {**copy.metadata, **document.metadata}
    title, source = document.title or copy.title, document.source or copy.source
    return replace(document, title=title, source=source, metadata=metadata)


def unused_id(name: str, used: Counter[str]) -> str:
    """``name``, or ``name#2``, ``name#3`` … where it is in use; in use from now on."""
    unused = name
    while used[unused]:
        used[name] += 1
        unused = f"{name}#{used[name]}"
    used[unused] = 1
    return unused


def _as_document(value: AnyDocument, rank: int) -> Document:
    if isinstance(value, Document):
        return value
    if isinstance(value, str) or _is_missing(value):  # a null in a column of texts
        return Document(str(rank), value if isinstance(value, str) else "")
    values = value if isinstance(value, Mapping) else _fields(value)
    check_values([value, values], f"the document at place {rank}")
    named = [key for key in TEXT_KEYS if key in values]
    if not named:
        got = one_line(repr(value), 80)
        raise InputError(f"a document must have a text, got {got} at place {rank}")
    try:
        metadata = dict(values.get("metadata") or {})  # a map of Arrow is pairs
    except (TypeError, ValueError) as error:
        got = f"got {values['metadata']!r:.80}"
        raise InputError(f"a document's metadata must be a mapping, {got}") from error
    said = {name: own for name, own in values.items() if not _is_missing(own)}
    texts = {name: 1 + bool(own) for name, own in said.items() if isinstance(own, str)}
    key = max(named, key=lambda name: (texts.get(name, 0), name in said))
    known = ("id", key, "text", "title", "source", "metadata")
    rest = {k: v for k, v in values.items() if k not in known}
    name, title = str(said.get("id", rank)), said.get("title") or ""
    source = str(said.get("source") or said.get("url") or "")
    return Document(name, said.get(key, ""), title, source, metadata={**metadata, **rest})


def _is_missing(value: object) -> bool:
    """Whether a value is null, or a NaN, NaT or NA of a data frame."""
    if isinstance(value, Sized):
        return False
    try:
        return value is None or bool(value != value)
    except TypeError:  # of NA, which is neither
        return True


def _fields(value: object) -> dict[str, Any]:
    """Fields of another framework's document, with title and source of its metadata."""
    if isinstance(value, ScoredNode):
        value = value.node
    if isinstance(value, TextNode):
        fields: dict[str, Any] = {"id": value.node_id, "text": value.get_content()}
        metadata: Any = value.metadata or {}
    elif isinstance(value, PageDocument):
        metadata = value.metadata or {}
        own = getattr(value, "id", None)
        fields = {"id": metadata.get("_id") if own is None else own, "text": value.page_content}
    elif isinstance(value, ContentDocument):
        fields = {"id": getattr(value, "id", None), "text": value.content or ""}
        metadata = value.meta or {}
    else:
        return {}
    named = {key: str(metadata[key]) for key in ("title", "source", "url") if metadata.get(key)}
    return {**named, **fields, "metadata": metadata}
