"""Kept spans in the forms in which others cite: Anthropic's, OpenAI's, LangChain's; and back."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from ragsieve.errors import InputError
from ragsieve.prompts import paragraph
from ragsieve.result import Result
from ragsieve.types import Segment

_KEY = "ragsieve"


def anthropic(result: Result) -> list[dict[str, Any]]:
    """`search_result` content blocks for Anthropic's Messages API: one a document, one text a span.

    They stand in a user's message or a tool's result, in place of the context. Since a model cites
    blocks of text, a citation names spans of a document: see `cited`.

    Args:
        result: Documents come in the order in which they are read, those with kept spans alone.
    """
    blocks = []
    for spans in _read(result):
        one = spans[0].document
        named = {"source": one.source or one.id, "title": one.title or one.id}
        content = [{"type": "text", "text": span.text} for span in spans]
        block = {"type": "search_result", **named, "content": content}
        blocks.append({**block, "citations": {"enabled": True}})
    return blocks


def openai(result: Result) -> list[dict[str, Any]]:
    """`file_citation` annotations of ``result.text``, as OpenAI's Responses have them: one a span.

    ``file_id`` is the document's id, ``filename`` its title, source or id, and ``index`` the place
    in ``result.text`` behind the span. Beside OpenAI's fields ``start`` and ``end`` are the span's
    place in the document, in characters, ``text`` what stands there, and ``score`` its score, None
    where nothing scored it.
    """
    citations = []
    for span, _, end in _placed(result):
        one = span.document
        named = {"file_id": one.id, "filename": one.title or one.source or one.id}
        citations.append({"type": "file_citation", **named, "index": end, **_place(span)})
    return citations


def langchain(result: Result) -> list[dict[str, Any]]:
    """`citation` annotations of ``result.text``, as LangChain's text blocks have them: one a span.

    ``start_index`` and ``end_index`` are places in ``result.text``; they are missing where the span
    does not stand there as in its document, as parts of JSON may. ``extras["ragsieve"]`` has the
    ``document`` by its id, and ``start``, ``end``, ``text`` and ``score`` as in `openai`.
    """
    citations = []
    for span, start, end in _placed(result):
        one = span.document
        named = {**({"url": one.source} if one.source else {}), "title": one.title or one.id}
        place = {} if start is None else {"start_index": start, "end_index": end}
        extras = {_KEY: {"document": one.id, **_place(span)}}
        said = {**place, "cited_text": span.text, "extras": extras}
        citations.append({"type": "citation", **named, **said})
    return citations


def cited(result: Result, citation: Mapping[str, Any]) -> list[Segment]:
    """Kept spans that a citation names: of a reply of Anthropic's, or one of those made here.

    Args:
        result: The run whose blocks or text was cited. Where a request has `search_result` blocks
            before these, subtract their number from ``search_result_index``.
        citation: Of type ``search_result_location``, ``file_citation`` or ``citation``.

    Raises:
        InputError: If it is none of these, or names what is not there.
    """
    try:
        if citation["type"] == "search_result_location":
            number, first = citation["search_result_index"], citation["start_block_index"]
            blocks, last = _read(result)[number], citation["end_block_index"]
            there = min(number, first) >= 0 and first < last <= len(blocks)
            spans = blocks[first:last] if there else []
        else:
            own = citation if citation["type"] == "file_citation" else citation["extras"][_KEY]
            name = own["file_id"] if own is citation else own["document"]
            wanted = name, own["start"], own["end"]
            spans = [span for span in result.kept if span.key == wanted]
    except (LookupError, TypeError):
        spans = []
    if not spans:
        raise InputError(f"citation must name kept spans, got {citation!r:.200}")
    return spans


def _read(result: Result) -> list[list[Segment]]:
    """Kept spans of each document that has some, in the order in which they are read."""
    return [spans for spans in result.by_document().values() if spans]


def _place(span: Segment) -> dict[str, Any]:
    score = span.score if span.scores else None
    return {"start": span.start, "end": span.end, "text": span.text, "score": score}


def _placed(result: Result) -> list[tuple[Segment, int | None, int]]:
    """Kept spans, each with its place in the text; without a start where it is not found there."""
    placed: list[tuple[Segment, int | None, int]] = []
    at = 0
    for _, group in groupby(result.kept, key=lambda span: span.document.id):
        spans = [*group]
        title, text = paragraph(spans)
        begin = result.text.find(title + text, at)  # nowhere, where a reader writes it otherwise
        end = at if begin < 0 else begin + len(title)
        stop = len(result.text) if begin < 0 else end + len(text)
        for span in spans:
            start = result.text.find(span.text, end, stop)
            end = end if start < 0 else start + len(span.text)
            placed.append((span, None if start < 0 else start, end))
        at = end if begin < 0 else stop
    return placed
