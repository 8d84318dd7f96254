"""Numbers in replies: fenced or not, in Markdown or not, with words before them and behind."""

from __future__ import annotations

import json
import re

_FENCED = re.compile(r"\s*```\w*[ \t]*\n(.*)```\s*", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"[*_`\"'#]|\b(?:response|answer|agent)s?\b", re.IGNORECASE)
_BETWEEN = re.compile(  # the last two numbers, or two lists
    r",? *(?:\band|&) *(?=\d+ *(?:\]|$)|\[)|(?<=\])[ ;•*-]+(?=\[)", re.IGNORECASE
)
_ASIDE = re.compile(  # behind a number: whose answer it is
    r"(?<=[\d\]])[ \t]*+(?:\([^()]*+\)|: [^\d\[\]\n]*+$)", re.MULTILINE
)
_BULLET = re.compile(r"[ \t]*(?:[-*•]|\d+[.)])[ \t]+")


def strip_fence(reply: str) -> str:
    """A reply without the lines that fence it, or parts of it."""
    fenced = _FENCED.fullmatch(reply)
    return fenced[1] if fenced else _FENCE.sub("", reply)


def strip_marks(reply: str) -> str:
    """The numbers of a reply without fence, Markdown, words such as "Response" and asides."""
    marked = _MARKS.sub(" ", _ASIDE.sub("", _listed(strip_fence(reply))))
    return " ".join(marked.split()).lstrip(" :").rstrip(" .:").removeprefix("- ")


def _listed(value: str) -> str:
    """Lines of bullets as lists in a row; other text as it is."""
    lines = [line for line in value.splitlines() if line.strip()]
    if not lines or not all(map(_BULLET.match, lines)):
        return value
    items = [_ASIDE.sub("", _BULLET.sub("", line, count=1)) for line in lines]
    return ", ".join(item if "[" in item else f"[{item}]" for item in items)


def parse_lists(numbers: str) -> list[list[int]]:
    """Lists of numbers from 1, as `strip_marks` leaves them; one flat list is one of them.

    Raises:
        ValueError: If they are anything else.
    """
    try:
        lists = json.loads(f"[{_BETWEEN.sub(',', numbers)}]")
    except RecursionError as error:
        raise ValueError("lists must not nest so deep") from error
    if len(lists) == 1 and isinstance(lists[0], list):
        lists = lists[0]
    if not all(isinstance(part, list) for part in lists):
        lists = [lists]
    if any(type(number) is not int or number < 1 for part in lists for number in part):
        raise ValueError("lists must be of whole numbers from 1")
    return list(lists)
