"""Results of tools in a conversation, and the question that each of them answers.

Messages are mappings as chat completions have them (``role: tool``), items of OpenAI's Responses
(``type: function_call_output``, or of another call), or Anthropic's messages, whose content has
several results (``type: tool_result``); objects of their clients, which dump as these, are read as
such.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ragsieve.agents.rules import says_failed
from ragsieve.text import json_value

_Path = tuple[int | str, ...]

Spot = int | _Path | None
"""Place of a text in a content: of its part; deeper in it, with the keys; None of a string."""

Texts = Mapping[Spot, str]
"""Texts of a message's content by their places in it."""

Run = Sequence[tuple[Spot, str]]
"""The same, in order."""

Place = int | tuple[int, int]
"""Place of a result: its message's, and where it is a part of that one's content, the part's."""

_CALLS = ("tool_call_id", "call_id", "tool_use_id")  # fields with the id of a result's call
_ELEMENT = re.compile(  # nothing but elements, as <system-reminder>…</system-reminder>
    r"(?:\s*+<([A-Za-z][\w-]*+)(?:\s[^<>]*+)?>(?>.*?</\1>))+\s*", re.DOTALL
)
_SAID = 600  # last characters of what an assistant says before a call
_ARGUMENTS = 600  # characters of a call's arguments
_TITLE = 200  # characters of what a call names
_LINE = 200  # characters of a line that is an item of a list
_DEEP = 5  # levels of a part that are looked at
_WORDS, _WORD = 20, 40  # words of a text that reads, at least, and characters of each, on average
_PLACE = re.compile(r"[/\\]|^~|^\w[\w-]*\.\w{1,5}$|^\.")  # a path or an address
_PLAIN = re.compile(r"\W{0,2}[^\W\d_]{2,}(?:['’-][^\W\d_]+)*\W{0,2}|[aI0-9][,.]?")
_FLAG = re.compile(r"-{1,2}[A-Za-z]|[|&;<>]+$|\d?>")  # of a command
_LANGUAGE = 0.6  # share of plain words in what reads like language, from which on it does
USER = 1200
"""Last characters of what a user says that are read."""


class ToolResult(NamedTuple):
    """What a tool returned.

    Args:
        place: Where it stands.
        call: The id of the tool's call; empty where the message has none.
        tool: The tool's name; empty where nobody says it.
        question: What it is read for: see `question_of`.
        title: What its call names it by, as a path or a command: see `title_of`.
        texts: Its texts that are not blank, with their places in the content; a string's is None.
        failed: Whether the message says that the tool failed.
        titles: Of each of its texts that of the part it stands in, else ``title``.
    """

    place: Place
    call: str
    tool: str
    question: str
    texts: Run
    failed: bool = False
    title: str = ""
    titles: Run = ()


class _Call(NamedTuple):
    tool: str
    arguments: str
    said: str


def tool_results(messages: Sequence[Any]) -> Iterator[ToolResult]:
    """The results of a conversation in order, each with the question of its own call.

    The question depends on messages before the result alone: a later turn does not change it. What
    an agent's program adds to a user's words, texts in tags, is no question where there is another.
    """
    calls: dict[str, _Call] = {}
    user = said = ""
    for n, message in enumerate(map(plain, messages)):
        if not isinstance(message, dict):
            continue
        for place, result in results_in(n, message):
            name = _name(next((result[key] for key in _CALLS if key in result), None))
            call = calls.get(name, _Call("", "", ""))
            tool = str(result.get("name") or call.tool)
            parts = result.get(content_field(result))
            content = tuple(one for one in returned(parts) if one[1].strip())
            question = question_of(user, call.said, call.arguments)
            bad = result.get("is_error") is True or result.get("status") == "error"
            bad = bad or any(map(says_failed, _objects(listed(parts))))
            own = title_of(call.arguments), [*_titles(listed(parts), content)]
            yield ToolResult(place, name, tool, question, content, bad, *own)
        spoken = [text for _, text in texts(message.get("content"))]
        if message.get("role") == "user":
            user, said = without_elements(spoken) or user or "\n".join(spoken), ""
        elif message.get("role") == "assistant":
            said = "\n".join(spoken)
        calls |= {name: _Call(tool, own, said) for name, tool, own in _calls(message)}


def without_elements(spoken: Sequence[str]) -> str:
    """What a message says but for texts in tags alone, as an agent's program adds them."""
    return "\n".join(text for text in spoken if not _ELEMENT.fullmatch(text)).strip()


def question_of(user: str, said: str, arguments: str) -> str:
    """What a result is read for: the words before the call, its arguments, the user's message.

    In this order, as the first two say more of what a single call looks for. Of its arguments those
    that read like language or a search count; a path or a command names the result: see `title_of`.

    Args:
        user: The last message of the user before the call.
        said: What the assistant said as it called.
        arguments: The call's arguments, as JSON.
    """
    sought = "\n".join(value for value in _values(arguments) if not _names(value))
    parts = (said[-_SAID:], sought[:_ARGUMENTS], user[-USER:])
    return "\n".join(part.strip() for part in parts if part.strip())


def title_of(arguments: str) -> str:
    """What a call's arguments name, on a line: paths, addresses and commands.

    Args:
        arguments: The call's arguments, as JSON.
    """
    return " ".join(" ".join(filter(_names, _values(arguments))).split())[:_TITLE]


def _names(value: str) -> bool:
    """Whether an argument names what it is about: a path, an address, a command."""
    words = value.split()
    if len(words) < 2:
        return bool(_PLACE.search(value))
    plain = sum(bool(_PLAIN.fullmatch(word)) for word in words)
    return any(_FLAG.match(word) for word in words[1:]) or plain <= _LANGUAGE * len(words)


def results_in(n: int, message: Mapping[str, Any]) -> list[tuple[Place, dict[str, Any]]]:
    """What tools returned, by its place: a message itself, or parts of its content.

    Args:
        n: The message's place.
        message: The message, as `plain` gives it.
    """
    if content_field(message):
        return [(n, dict(message))]
    parts = enumerate(map(plain, listed(message.get("content"))))
    return [((n, place), part) for place, part in parts if content_field(part)]


def with_contents(messages: Sequence[Any], contents: Mapping[Place, Texts]) -> list[Any]:
    """The messages with other texts in results of tools, by the results' places; a text as it is.

    A message with a result that is changed is a mapping, all other messages are the same objects.
    """
    changed: Any = messages if isinstance(messages, str) else [*messages]
    for place, own in contents.items():
        n, part = place if isinstance(place, tuple) else (place, None)
        message = plain(changed[n])
        if part is None:
            changed[n] = _with_result(message, own)
        else:
            parts = [*message["content"]]
            parts[part] = _with_result(plain(parts[part]), own)
            changed[n] = {**message, "content": parts}
    return changed  # type: ignore[no-any-return]


def _with_result(result: dict[str, Any], own: Texts) -> dict[str, Any]:
    field = content_field(result)
    return {**result, field: with_texts(result[field], own)}


def plain(value: Any) -> Any:
    """A mapping of what an object of a client says, as of ``openai``; others as they are."""
    dump = getattr(value, "model_dump", None)
    return dump(exclude_none=True, warnings=False) if callable(dump) else value


def listed(value: object) -> list[Any]:
    """A list as it is; of whatever else an empty one."""
    return value if isinstance(value, list) else []


def content_field(message: object) -> str:
    """The field of what a tool returned; empty of other messages."""
    if not isinstance(message, dict):
        return ""
    if str(message.get("type")).endswith("_call_output"):  # of a function, a custom tool, a shell
        return "output"
    is_result = message.get("role") == "tool" or message.get("type") == "tool_result"
    return "content" if is_result else ""


def texts(content: object) -> list[tuple[int | None, str]]:
    """Texts of a message's content, with their places in it; a string's is None.

    Content is a string, or a list of strings and of parts, of which those of a type of text count.
    """
    if isinstance(content, str):
        return [(None, content)]
    text_parts = [(place, _text(part)) for place, part in enumerate(listed(content))]
    return [(place, text) for place, text in text_parts if isinstance(text, str)]


def returned(content: object) -> list[tuple[Spot, str]]:
    """The same of what a tool returned, where parts of other types hold texts, too.

    As a result of a search, a document, a resource or what a shell printed do: whatever string in
    them reads, as addresses, ids and pictures do not.
    """
    own: dict[Spot, str] = dict(texts(content))
    if None in own:
        return [*own.items()]
    found: list[tuple[Spot, str]] = []
    for n, part in enumerate(listed(content)):
        inside = [(n, own[n])] if n in own else _inside(part, (n,))
        found += ((at, one) for at, one in inside if n in own or _reads(one))
    return found


def _reads(value: Any) -> bool:
    words = value.split() if isinstance(value, str) else []
    return len(words) >= _WORDS and len(value) < _WORD * len(words)


def _titles(parts: list[Any], content: Run) -> Iterator[tuple[Spot, str]]:
    """What the parts are called in which texts of a content stand."""
    for n, part in enumerate(map(plain, parts)):
        title = part.get("title") if isinstance(part, dict) else ""
        if isinstance(title, str) and title:
            inside = (spot for spot, _ in content if isinstance(spot, tuple) and spot[0] == n)
            yield from ((spot, title) for spot in inside)


def _objects(content: list[Any]) -> list[dict[str, Any]]:
    """The objects in a content, those inside others too."""
    return [one for _, one in _inside(content, ()) if isinstance(one, dict)]


def _inside(value: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    """Whatever a value holds, with the way to it."""
    value = plain(value)
    items = enumerate(value) if isinstance(value, list) else ()
    for key, one in value.items() if isinstance(value, dict) else items:
        yield (*path, key), plain(one)
        if len(path) < _DEEP:
            yield from _inside(one, (*path, key))


def runs_of(content: Run) -> Sequence[Run]:
    """Runs of texts, of which those of several are items of one list, to be read as its lines.

    MCP gives each item that a tool returns a part of its own: a record in JSON, or a line.
    """
    runs: list[list[tuple[Spot, str]]] = []
    for place, text in content:
        at, last = runs[-1][-1] if runs else (None, "")
        if isinstance(at, int) and place == at + 1 and "" != _kind(last) == _kind(text):
            runs[-1].append((place, text))
        else:
            runs.append([(place, text)])
    return runs


def _kind(text: str) -> str:
    """Of which kind an item is: ``{``, ``[`` or, of a line, ``_``; empty of any other text."""
    text = text.strip()
    if text[:1] + text[-1:] in ("{}", "[]"):
        return text[0]
    return "_" if "\n" not in text and len(text) <= _LINE else ""


def with_texts(content: Any, texts: Texts) -> Any:
    """A copy of content with other texts in some places; a part of no text is one with the next."""
    if None in texts:
        return texts[None]
    for path, text in texts.items():
        content = _put(content, path, text) if isinstance(path, tuple) else content
    parts, more = [], dict[str, Any]()
    for n, part in enumerate(listed(content)):
        if texts.get(n) == "":
            more |= {} if isinstance(part, str) else plain(part)
        else:
            parts.append(_replaced(part, texts[n], more) if n in texts else part)
            more = {}
    return parts


def _put(value: Any, path: _Path, text: str) -> Any:
    """A copy of a value with another text at the end of a way into it."""
    if not path:
        return text
    inner: Any = [*value] if isinstance(value, list) else {**plain(value)}
    inner[path[0]] = _put(inner[path[0]], path[1:], text)
    return inner


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Ids of a message's calls, each with the name of its tool and its arguments."""
    some = [one for one in map(plain, listed(message.get("tool_calls"))) if isinstance(one, dict)]
    found = [(one.get("id"), one.get("function") or one.get("custom")) for one in some]
    if (kind := str(message.get("type"))).endswith("_call") and "call_id" in message:
        made = {"name": kind.removesuffix("_call"), "arguments": as_json(message.get("action"))}
        found.append((message.get("call_id"), {**made, **message}))
    for part in map(plain, listed(message.get("content"))):
        if isinstance(part, dict) and part.get("type") == "tool_use":
            own = as_json(part.get("input"))
            found.append((part.get("id"), {"name": part.get("name"), "arguments": own}))
    for name, function in found:
        if isinstance(function, dict):
            own = _name(function.get("input") or function.get("arguments"))
            yield _name(name), _name(function.get("name")), own


def as_json(value: object) -> str:
    """A value as JSON; what is none of it as a string."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _name(value: object) -> str:
    return "" if value is None else str(value)


@lru_cache(maxsize=4)  # many results can name one call
def _values(arguments: str) -> tuple[str, ...]:
    """The texts in arguments in JSON, a list of words as one; what is no object as it is."""
    left = [json_value(arguments, arguments)]
    values: list[str] = []
    while left:
        value = left.pop()
        if value and isinstance(value, list) and all(isinstance(one, str) for one in value):
            values.append(" ".join(value))
        elif isinstance(value, dict | list):
            left += reversed([*value.values()] if isinstance(value, dict) else value)
        elif isinstance(value, str):
            values.append(value)
    return (*values,)


def _replaced(part: Any, text: str, more: Mapping[str, Any]) -> Any:
    """A part with another text, and with fields that it lacks."""
    return text if isinstance(part, str) else {**more, **plain(part), "text": text}


def _text(part: object) -> object:
    """The text of a part; None of one without."""
    if isinstance(part := plain(part), dict):
        kinds = ("text", "input_text", "output_text")
        return part.get("text") if part.get("type") in kinds else None
    return part
