"""Markdown headings: which of them lead to a place of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

_HEADING = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|<!--(?s:.*?)(?:-->|\Z)"
    r"|^(?P<signs>#{1,6})[ \t].*"
    r"|^[^\s>|#=+*-][^\n]{0,99}\n {0,3}(?P<rule>=+|-{3,})[ \t]*$",
    re.MULTILINE,
)


class Heading(NamedTuple):
    """A heading: its first character, its level from 1 to 6, and its lines."""

    start: int
    level: int
    text: str


def headings(text: str, place: int) -> tuple[Heading, ...]:
    """The headings that lead to a place, outermost first; one that begins there is the last.

    What stands in fences and comments is none.
    """
    starts, chains = _chains(text)
    at = bisect_right(starts, place)
    return chains[at - 1] if at else ()


@lru_cache(maxsize=8)
def _chains(text: str) -> tuple[list[int], list[tuple[Heading, ...]]]:
    chain: tuple[Heading, ...] = ()
    starts, chains = [], []
    for match in _HEADING.finditer(text):
        if match["signs"] or match["rule"]:
            level = len(match["signs"]) if match["signs"] else 1 + (match["rule"][0] == "-")
            own = Heading(match.start(), level, match[0].rstrip())
            chain = (*(one for one in chain if one.level < level), own)
            starts.append(own.start)
            chains.append(chain)
    return starts, chains
