"""Markdown headings: which of them lead to a place of a text, and what joins kept spans."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

_HEADING = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|<!--(?s:.*?)(?:-->|\Z)"
    r"|^(?P<signs>#{1,6})[ \t].*"
    r"|^[^\s>|#=+*-][^\n]{0,99}\n {0,3}(?P<rule>=+|-{3,})[ \t]*$"
    r"|^(?P<bold>\*\*|__)(?=\w)[^\n*_]{1,80}(?<![.!?,;])(?P=bold):?[ \t]*$",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")


class Heading(NamedTuple):
    """A heading: its first character, its level from 1 to 6, 7 of a bold line, and its lines."""

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


def between(text: str, end: int, start: int, mark: str) -> str:
    """What joins a kept span to the next: the white space there, a mark, or a blank line.

    Below the blank line stand the headings that are left out and lead to what follows.
    """
    low, high = min(end, start), max(end, start)
    gap = text[low:high]
    if end <= start and not gap.strip():
        return gap
    if "\n" not in gap:
        return f" {mark} "
    begins = not text[text.rfind("\n", 0, start) + 1 : start].strip()
    blank = re.search(r"\n[ \t\r]*\n", gap)
    above = left_out(text, end, start)
    return f"\n\n{above}" if begins or blank or above else f" {mark} "


def left_out(text: str, end: int, start: int, title: str = "") -> str:
    """The headings between two places that lead to the second, a blank line below each.

    Those whose words are all in a title say nothing below it.
    """
    above = (one.text for one in headings(text, start) if end <= one.start < start)
    told = {*_WORD.findall(title.casefold())}
    return "".join(f"{one}\n\n" for one in above if {*_WORD.findall(one.casefold())} - told)


@lru_cache(maxsize=8)
def _chains(text: str) -> tuple[list[int], list[tuple[Heading, ...]]]:
    chain: tuple[Heading, ...] = ()
    starts, chains = [], []
    for match in _HEADING.finditer(text):
        signs, rule = match["signs"], match["rule"]
        if signs or rule or match["bold"]:
            level = len(signs) if signs else 1 + (rule[0] == "-") if rule else 7
            own = Heading(match.start(), level, match[0].rstrip())
            chain = (*(one for one in chain if one.level < level), own)
            starts.append(own.start)
            chains.append(chain)
    return starts, chains
