"""Results of tools in a conversation: which are filtered, and the texts of a message's content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

NOTHING = "[nothing in this result matters to the question]"
"""What a model reads in the place of a result of which nothing is kept."""


def is_chosen(name: str, patterns: Sequence[str]) -> bool:
    """Whether a tool's name matches one of some patterns, as ``search`` or ``web_*``."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def texts(content: object) -> list[tuple[int | None, str]]:
    """Texts of a message's content, with their places in it; a string's is None.

    Content is a string, or a list of strings and of parts, of which those of type ``text`` count.
    """
    if isinstance(content, str):
        return [(None, content)]
    parts = content if isinstance(content, list) else []
    found = [(place, _text(part)) for place, part in enumerate(parts)]
    return [(place, text) for place, text in found if isinstance(text, str)]


def with_texts(content: Any, texts: Mapping[int | None, str]) -> Any:
    """A copy of content with other texts in some places."""
    if None in texts:
        return texts[None]
    parts = enumerate(content)
    return [_replaced(part, texts[n]) if n in texts else part for n, part in parts]


def _replaced(part: Any, text: str) -> Any:
    """A part with another text."""
    return text if isinstance(part, str) else {**part, "text": text}


def _text(part: object) -> object:
    """The text of a part; None of one without."""
    if isinstance(part, dict):
        return part.get("text") if part.get("type") == "text" else None
    return part
