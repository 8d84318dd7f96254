"""How many tokens the texts of a request have, counted no further than a limit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ragsieve.timeouts import check_time, deadline

_BYTES = 8  # of a token, in the mean over a request, at most
_FIELDS = {"id", "title", "text", "source", "metadata"}
_PIECE = 1 << 16  # characters that are counted at a time


def over_tokens(value: Any, most: int, count: Callable[[Sequence[str]], list[int]]) -> str:
    """What a JSON value has of bytes or tokens where its texts have more tokens than may be.

    Args:
        value: Strings, lists and mappings.
        most: Tokens at most.
        count: Tokens of texts.
    """
    texts = [*_strings(value)]
    text = "\n".join(texts)
    if (size := sum(len(one.encode("utf-8", "replace")) for one in texts)) > _BYTES * most + _PIECE:
        return f"{size} bytes"
    tokens = 0
    for start in range(0, len(text) if size > most else 0, _PIECE):  # a token has a byte or more
        check_time(deadline())
        tokens += sum(count([text[start : start + _PIECE]]))
        if tokens > most:
            return f"{tokens}{' or more' if start + _PIECE < len(text) else ''}"
    return ""


def _strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value, names of unknown fields among them."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            left += [*value.values(), *(key for key in value if key not in _FIELDS)]
        elif isinstance(value, Sequence):
            left += value
