"""Replies in named parts: a line ``Name: value`` for each, or a JSON object; nothing in between."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ragsieve.errors import BadReply

NONE = ("", "-", "none", "n/a", "null")
_FENCED = re.compile(r"\s*```\w*[ \t]*\n(.*)```\s*", re.DOTALL)
_WRAPPED = re.compile(r"(\*{1,3}|_{1,3}|[\"`])((?:(?!\1).)+)\1|\[([^\[\]]+)\]", re.DOTALL)
_MARKS = re.compile(r"[*_`\"'#]|\b(?:response|answer|agent)s?\b", re.IGNORECASE)
_BETWEEN = re.compile(  # the last two numbers, or two lists
    r",? *(?:\band|&) *(?=\d+ *(?:\]|$)|\[)|(?<=\])[ ;•*-]+(?=\[)", re.IGNORECASE
)


def schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of an object with these parts, all of them, in this order."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def parts(reply: str, names: Sequence[str]) -> dict[str, Any]:
    """The parts of a reply by name: what a JSON object says, or the text behind each name.

    A name opens a part at the start of a line; a part goes on until the next one. What a document
    says cannot pass for a part: a name that comes twice or out of order makes the whole unreadable.

    Raises:
        BadReply: If a part is missing, comes twice or out of order.
    """
    fenced = _FENCED.fullmatch(reply)
    said = fenced[1] if fenced else reply
    found = _members(said) if said.lstrip().startswith("{") else _lines(said, names)
    if [name.lower() for name, _ in found] != [name.lower() for name in names]:
        raise BadReply(f"the parts {', '.join(names)}, each once and in this order", reply)
    return {name: value for name, (_, value) in zip(names, found, strict=True)}


def _members(said: str) -> list[tuple[str, Any]]:
    """Names and values of a JSON object; none where it is no such object."""
    try:
        value = json.loads(said, object_pairs_hook=_unique, strict=False)
    except (ValueError, RecursionError):
        return []
    return list(value.items())


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) < len(members):
        raise ValueError("a name comes twice")
    return dict(members)


def _lines(said: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Names that open a line, each with the text until the next one; a line may be in bold."""
    pattern = re.compile(
        r"^(?:[ \t#>-]|\*[ \t])*+(?:\d+[.)][ \t]*)?([*_]*)[ \t]*"
        rf"({'|'.join(map(re.escape, names))})([ \t*_]*:[*_]*)",
        re.MULTILINE | re.IGNORECASE,
    )
    found = list(pattern.finditer(said))
    ends = [*(match.start() for match in found), len(said)][1:]
    values = []
    for match, end in zip(found, ends, strict=True):
        value = " ".join(said[match.end() : end].split())
        bold = match[1] if match[3].strip() == ":" else ""  # opened before the name, still open
        values.append((match[2], value.removesuffix(bold)))
    return values


def text(value: Any, name: str, reply: str) -> str:
    """A part that is text, on one line.

    Raises:
        BadReply: If it is anything else.
    """
    if not isinstance(value, str):
        raise BadReply(f"text as {name}", reply)
    return " ".join(value.split())


def bare(value: str) -> str:
    """A text without the quotes, brackets or Markdown that enclose all of it."""
    value = value.strip()
    while found := _WRAPPED.fullmatch(value):
        value = (found[2] or found[3]).strip()
    return value


def number_lists(value: Any, name: str, reply: str, most: int) -> list[list[int]]:
    """A part that is a list of lists of numbers from 1 to ``most``; one flat list is one of them.

    Brackets around all, words such as "Response" before a number and Markdown may be there or not.

    Raises:
        BadReply: If it is anything else.
    """
    rule = f"JSON lists of numbers from 1 to {most} as {name}"
    try:
        written = value if isinstance(value, str) else json.dumps(value)
        plain = " ".join(_MARKS.sub(" ", written).split()).strip(" .:").removeprefix("- ")
        if bare(plain).lower() in NONE:
            return []
        lists = json.loads(f"[{_BETWEEN.sub(',', plain)}]")
    except (ValueError, RecursionError) as error:
        raise BadReply(rule, reply) from error
    if len(lists) == 1 and isinstance(lists[0], list):
        lists = lists[0]
    if not all(isinstance(part, list) for part in lists):
        lists = [lists]
    for part in lists:
        for number in part:
            if type(number) is not int or not 1 <= number <= most:
                raise BadReply(rule, reply)
    return [part for part in lists if part]
