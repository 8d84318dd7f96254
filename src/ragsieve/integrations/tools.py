"""Results of tools in a conversation, and the question that each of them answers.

Messages are mappings as chat completions have them (``role: tool``), or items of OpenAI's Responses
(``type: function_call_output``); objects of its client, which dump as these, are read as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ragsieve.text import json_value

Texts = Mapping[int | None, str]
"""Texts of a message's content by their places in it; a string's is None."""

_SAID = 600  # last characters of what an assistant says before a call
_ARGUMENTS = 600  # characters of a call's arguments
USER = 1200
"""Last characters of what a user says that are read."""


class ToolResult(NamedTuple):
    """What a tool returned.

    Args:
        message: The place of its message.
        call: The id of the tool's call; empty where the message has none.
        tool: The tool's name; empty where nobody says it.
        question: What it is read for: see `question_of`.
        texts: Its texts that are not blank, with their places in the content; a string's is None.
        failed: Whether the message says that the tool failed.
    """

    message: int
    call: str
    tool: str
    question: str
    texts: tuple[tuple[int | None, str], ...]
    failed: bool = False


class _Call(NamedTuple):
    tool: str
    arguments: str
    said: str


def tool_results(messages: Sequence[Any]) -> Iterator[ToolResult]:
    """The results of a conversation in order, each with the question of its own call.

    The question depends on messages before the result alone: a later turn does not change it.
    """
    calls: dict[str, _Call] = {}
    user = said = ""
    for place, message in enumerate(map(plain, messages)):
        if not isinstance(message, dict):
            continue
        if field := content_field(message):
            name = _name(message.get("call_id" if field == "output" else "tool_call_id"))
            call = calls.get(name, _Call("", "", ""))
            tool = str(message.get("name") or call.tool)
            content = tuple(one for one in texts(message.get(field)) if one[1].strip())
            question = question_of(user, call.said, call.arguments)
            bad = message.get("is_error") is True or message.get("status") == "error"
            yield ToolResult(place, name, tool, question, content, bad)
            continue
        spoken = "\n".join(text for _, text in texts(message.get("content")))
        if message.get("role") == "user":
            user, said = spoken, ""
        elif message.get("role") == "assistant":
            said = spoken
        calls |= {name: _Call(tool, own, said) for name, tool, own in _calls(message)}


def question_of(user: str, said: str, arguments: str) -> str:
    """What a result is read for: the words before the call, its arguments, the user's message.

    In this order, as the first two say more of what a single call looks for.

    Args:
        user: The last message of the user before the call.
        said: What the assistant said as it called.
        arguments: The call's arguments, as JSON.
    """
    parts = (said[-_SAID:], _values(arguments)[:_ARGUMENTS], user[-USER:])
    return "\n".join(part.strip() for part in parts if part.strip())


def with_contents(messages: Sequence[Any], contents: Mapping[int, Texts]) -> list[Any]:
    """The messages with other texts in results of tools, by the messages' places; a text as it is.

    A result that is changed is a mapping, all other messages are the same objects.
    """
    changed: Any = messages if isinstance(messages, str) else [*messages]
    for n, own in contents.items():
        message = plain(messages[n])
        field = content_field(message)
        changed[n] = {**message, field: with_texts(message[field], own)}
    return changed  # type: ignore[no-any-return]


def plain(value: Any) -> Any:
    """A mapping of what an object of a client says, as of ``openai``; others as they are."""
    dump = getattr(value, "model_dump", None)
    return dump(exclude_none=True, warnings=False) if callable(dump) else value


def content_field(message: object) -> str:
    """The field of what a tool returned; empty of other messages."""
    if not isinstance(message, dict):
        return ""
    if message.get("type") == "function_call_output":
        return "output"
    return "content" if message.get("role") == "tool" else ""


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
    parts = enumerate(content if isinstance(content, list) else ())
    return [_replaced(part, texts[n]) if n in texts else part for n, part in parts]


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Ids of a message's calls, each with the name of its tool and its arguments."""
    calls = message.get("tool_calls")
    some = map(plain, calls if isinstance(calls, list) else ())
    found = [(call.get("id"), call.get("function")) for call in some if isinstance(call, dict)]
    if message.get("type") == "function_call":
        found.append((message.get("call_id"), message))
    for name, function in found:
        if isinstance(function, dict):
            yield _name(name), _name(function.get("name")), _name(function.get("arguments"))


def _name(value: object) -> str:
    return "" if value is None else str(value)


@lru_cache(maxsize=4)  # many results can name one call
def _values(arguments: str) -> str:
    """The values of arguments in JSON, one a line; what is no object is shown as it is."""
    left = [json_value(arguments, arguments)]
    values: list[str] = []
    while left:
        value = left.pop()
        if isinstance(value, dict | list):
            left += reversed([*value.values()] if isinstance(value, dict) else value)
        elif isinstance(value, str):
            values.append(value)
    return "\n".join(values)


def _replaced(part: Any, text: str) -> Any:
    """A part with another text."""
    return text if isinstance(part, str) else {**plain(part), "text": text}


def _text(part: object) -> object:
    """The text of a part; None of one without."""
    if isinstance(part := plain(part), dict):
        kinds = ("text", "input_text", "output_text")
        return part.get("text") if part.get("type") in kinds else None
    return part
