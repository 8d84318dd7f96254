"""Results of tools in a conversation: which are filtered, and what is kept of each.

Messages are mappings as chat completions have them (``role: tool``), or items of OpenAI's Responses
(``type: function_call_output``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ragsieve.documents import unused_id
from ragsieve.integrations.base import Adapter, Kept, probability
from ragsieve.result import Result

NOTHING = "[nothing in this result matters to the question]"
"""Text in the place of a result of which nothing is kept."""

Texts = Mapping[int | None, str]
"""Texts of a message's content by their places in it; a string's is None."""


class ToolText(NamedTuple):
    """A text that a tool returned.

    Args:
        message: The place of its message; -1 of a text that a model wrote.
        place: Its place in the message's content; None where that is a string.
        call: The id of the tool's call; of a further text of the same call ``ID#2`` …
        text: The text.
        about: What was kept of it; see `ragsieve.integrations.base.Kept`.
    """

    message: int
    place: int | None
    call: str
    text: str
    about: Mapping[str, Any] = {}  # it is never written to


def filter_results(
    messages: Sequence[Any],
    sieve: Adapter,
    *,
    tools: Sequence[str] = ("*",),
    on_result: Callable[[Result], object] | None = None,
) -> list[Any]:
    """Keep of what tools returned what matters to the last user message.

    All messages stay, in order and with their ids. The texts that a tool returned are cut to their
    kept spans, or to `NOTHING`; images and the like pass as they are. All results are filtered at
    once: ``max_tokens`` of the filter bounds the kept text of the whole conversation. At each turn
    pass the messages as the tools returned them.

    Args:
        messages: The conversation; none is changed.
        sieve: The filter. Where it fails, and has ``on_error="keep"``, all messages are returned as
            they were, and one warning is logged.
        tools: Patterns of the names of tools whose results are filtered, as ``web_*``.
        on_result: Called with the filter's result, whose documents have the ids of the calls; a
            second text of the same call is ``ID#2``.
    """
    tool_texts = results_of(messages, tools)
    users = [m["content"] for m in messages if isinstance(m, dict) and m.get("role") == "user"]
    question = "\n".join(text for _, text in texts(users[-1])) if users else ""
    changes = filtered(tool_texts, question, sieve, on_result)
    return with_contents(messages, {n: contents for n, (contents, _) in changes.items()})


def results_of(messages: Sequence[Any], patterns: Sequence[str]) -> list[ToolText]:
    """Texts of tools whose names match one of some patterns; blank ones are none."""
    names = dict(_calls(messages))
    return [
        ToolText(n, place, call, text)
        for n, message in enumerate(messages)
        if (field := _content_field(message))
        for call in [str(message.get("call_id" if field == "output" else "tool_call_id"))]
        if is_chosen(names.get(call, ""), patterns)
        for place, text in texts(message.get(field))
        if text.strip()
    ]


def with_contents(messages: Sequence[Any], contents: Mapping[int, Texts]) -> list[Any]:
    """The messages with other texts in results of tools, by the messages' places."""
    changed = [*messages]
    for n, own in contents.items():
        field = _content_field(messages[n])
        changed[n] = {**messages[n], field: with_texts(messages[n][field], own)}
    return changed


def filtered(
    tool_texts: Sequence[ToolText],
    question: str,
    sieve: Adapter,
    on_result: Callable[[Result], object] | None,
) -> dict[int, tuple[dict[int | None, str], dict[str, Any]]]:
    """Kept texts of results, by the places of their messages; empty where the filter failed.

    Of each message, texts by their places, and its provenance as `filter_tool_messages` of
    `ragsieve.integrations.langchain` says.
    """
    if not tool_texts:
        return {}
    used: Counter[str] = Counter()  # each has its own: a copy of a text is a result, too
    named = [part._replace(call=unused_id(part.call, used)) for part in tool_texts]
    passed = sieve(question, named, _read, _write, on_result)
    return _changes(named, passed.documents, passed.result) if passed.result else {}


def is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """Whether a tool's name matches one of some patterns, as ``search`` or ``web_*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def texts(content: object) -> list[tuple[int | None, str]]:
    """Texts of a message's content, with their places in it; a string's is None.

    Content is a string, or a list of strings and of parts, of which those of a type of text count.
    """
    if isinstance(content, str):
        return [(None, content)]
    parts = content if isinstance(content, list) else []
    text_parts = [(place, _text(part)) for place, part in enumerate(parts)]
    return [(place, text) for place, text in text_parts if isinstance(text, str)]


def with_texts(content: Any, texts: Texts) -> Any:
    """A copy of content with other texts in some places."""
    if None in texts:
        return texts[None]
    parts = enumerate(content)
    return [_replaced(part, texts[n]) if n in texts else part for n, part in parts]


def _calls(messages: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Ids of calls, each with the name of its tool."""
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("type") == "function_call":
            yield str(message.get("call_id")), str(message.get("name"))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                yield str(call.get("id")), str(call["function"].get("name"))


def _content_field(message: object) -> str:
    """The field of what a tool returned; empty of other messages."""
    if not isinstance(message, dict):
        return ""
    if message.get("type") == "function_call_output":
        return "output"
    return "content" if message.get("role") == "tool" else ""


def _changes(
    tool_texts: Sequence[ToolText], kept: Sequence[ToolText], result: Result
) -> dict[int, tuple[dict[int | None, str], dict[str, Any]]]:
    own = {(part.message, part.place): part.text for part in kept}
    rows = sorted(result.rows, key=itemgetter("document"))
    spans = {name: [*group] for name, group in groupby(rows, itemgetter("document"))}
    changes: dict[int, tuple[dict[int | None, str], dict[str, Any]]] = {}
    for part, document in zip(tool_texts, result.documents, strict=False):  # stages may find more
        empty: dict[str, Any] = {"kept": [], "dropped": [], "answerable": probability(result)}
        contents, about = changes.setdefault(part.message, ({}, empty))
        contents[part.place] = own.get((part.message, part.place), NOTHING)
        for row in spans.get(document.id, ()):
            more = () if row["kept"] else ("stage", "reason")
            span = {name: row[name] for name in ("start", "end", "text", "score", *more)}
            about["kept" if row["kept"] else "dropped"].append({"part": part.place, **span})
    if new := [part for part in kept if part.message < 0]:
        last = tool_texts[-1]
        contents, about = changes[last.message]
        before = [own[key] for key in [(last.message, last.place)] if key in own]
        contents[last.place] = "\n\n".join([*before, *(part.text for part in new)])
        about["written"] = [part.about for part in new]
    return changes


def _read(part: ToolText) -> dict[str, Any]:
    return {"id": part.call, "text": part.text}


def _write(part: ToolText | None, kept: Kept) -> ToolText:
    message, place, call, *_ = part or (-1, None, "")
    return ToolText(message, place, call, kept.text, kept.about)


def _replaced(part: Any, text: str) -> Any:
    """A part with another text."""
    return text if isinstance(part, str) else {**part, "text": text}


def _text(part: object) -> object:
    """The text of a part; None of one without."""
    if isinstance(part, dict):
        kinds = ("text", "input_text", "output_text")
        return part.get("text") if part.get("type") in kinds else None
    return part
