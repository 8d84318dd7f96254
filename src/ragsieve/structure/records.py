"""Records of fields, ``name: value``: each field stands below the first one of its record."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragsieve.structure.said import HEADER, NAME, NO_SPEAKERS, STICKY, filled, said
from ragsieve.structure.tree import Node, leaf, over, stripped

_APART = re.compile(r"\n(?:[ \t]*(?:[-=*_]{3,}[ \t]*)?\r?\n)+")  # blank lines and rules
_KEY = re.compile(
    r"^(?:\*\*)?(?P<name>commit(?= [0-9a-f]{4,64}\b)"
    rf"|{NAME}(?=(?:\*\*)?[ \t]*+(?:::?(?:\*\*)?\s|：)))[*:： \t]*",
    re.MULTILINE,
)
_ROW = re.compile(r"^(?:-\[ RECORD \d+ \][-+]*|\*{3,} \d+\. row \*{3,})[ \r]*$", re.MULTILINE)
_COLUMN = re.compile(r"^[ \t]*[^\s:|][^:|\n]{0,63}[:|](?=\s)", re.MULTILINE)
_COUNT = re.compile(r"\n[ \t]*\(?\d+ rows?\b|\Z")  # behind the last row
_TITLE = re.compile(r"#{1,6} |[\w*][^\n]{0,80}(?<![.!?;…\s])\s*\Z")  # a paragraph
_ENDED = re.compile(r"[.!?…。！？][\"'”’)*]*\s*$", re.MULTILINE)


class _Paragraph(NamedTuple):
    start: int
    end: int
    keys: list[re.Match[str]]
    name: str  # of the field with which it begins, also below a line without one

    @property
    def names(self) -> set[str]:
        return {key["name"] for key in self.keys}


def records(text: str, roots: Sequence[Node]) -> Iterator[Node]:
    """Records one below the other, up to a heading; none where somebody speaks."""
    if rows := [*_upright(text)]:
        yield over(rows, kind="table", mark="…", whole=0, each=True)
        return
    paragraphs = [*_divided(text)]
    begins = [one.name for one in paragraphs if one.name and len(one.names) > 1]
    first, times = Counter(begins).most_common(1)[0] if begins else ("", 0)
    again = any(key["name"] == first for one in paragraphs for key in one.keys[1:])
    if times < 2 or again or NO_SPEAKERS.match(first) or _spoken(text, first, paragraphs):
        return
    firsts = {first, *(a for a, b in pairwise(begins) if a == b)}
    runs: list[list[list[_Paragraph]]] = [[]]
    record: list[_Paragraph] = []
    names: set[str] = set()  # of its fields
    for one, following in pairwise([*paragraphs, paragraphs[-1]]):
        titles = len(record) < 2 and following.name in firsts
        if one.name and (one.name in firsts or names & one.names):
            record, names = [one], one.names
            runs[-1].append(record)
        elif _TITLE.match(text, one.start, one.end) and (titles or text[one.start] == "#"):
            record, names = [], set()
            runs.append([])
        elif record:
            record.append(one)
            names |= one.names
    for run in filter(None, runs):
        most = max((len(record) for record in run[:-1]), default=1)
        while len(run[-1]) > most and not text[run[-1][-1].start].isspace():
            run[-1].pop()  # prose behind the last one
        records = [_record(text, one, roots) for one in run]
        yield over(records, kind="table", mark="…", whole=0, each=True)


def _upright(text: str) -> Iterator[Node]:
    """Rows as ``psql`` and ``mysql`` print them, a column a line, each below its number."""
    begins = [row.start() for row in _ROW.finditer(text)]
    count = _COUNT.search(text, begins[-1]) if begins else None
    for first, last in pairwise([*begins, count.start()] if count else ()):
        start, end = stripped(text, first, last)
        columns = [column.start() for column in _COLUMN.finditer(text, start, end)]
        if columns:
            one, *more = (leaf(*stripped(text, *span)) for span in pairwise([*columns, end]))
            yield Node(start, one.end, end, end, mark="… {}", whole=HEADER, children=more)


def _divided(text: str) -> Iterator[_Paragraph]:
    """Paragraphs with their fields, which have none in a fence."""
    start = fences = 0
    for match in [*_APART.finditer(text), None]:
        end = match.start() if match else len(text)
        found = text.count("```", start, end)
        keys = [] if found or fences % 2 else [*_KEY.finditer(text, start, end)]
        groups = _by_record(text, keys, end)
        stops = [start, *_begins(text, groups)[1:], end]
        for own, (a, b) in zip(groups, pairwise(stops), strict=True):
            lead = text[a : own[0].start()] if own else "\n\n"
            begins = len(lead) <= STICKY and lead.count("\n") < 2
            if text[a:b].strip():
                yield _Paragraph(a, b, own, own[0]["name"] if begins else "")
        fences += found
        start = match.end() if match else end


def _by_record(text: str, keys: list[re.Match[str]], end: int) -> list[list[re.Match[str]]]:
    """Fields of records with nothing between: three in one order, or two that say no sentences."""
    begins = [n for n, key in enumerate(keys) if key["name"] == keys[0]["name"]]
    if len(begins) < 2:
        return [keys]
    order = {key["name"]: n for n, key in enumerate(keys[: begins[1]])}
    ranks = [order[key["name"]] for key in keys if key["name"] in order]
    few = 1 if len(begins) > 2 and not _ENDED.search(text, keys[0].start(), end) else 2
    if sum(a >= b for a, b in pairwise(ranks)) >= len(begins) or len(keys) <= few * len(begins):
        return [keys]
    return [keys[a:b] for a, b in pairwise([*begins, len(keys)])]


def _begins(text: str, groups: Sequence[list[re.Match[str]]]) -> list[int]:
    """Where records begin: at their first fields, or at the lines above where all have one."""
    fields = {key.start() for group in groups for key in group}
    firsts = [group[0].start() for group in groups if group]
    above = [text.rfind("\n", 0, max(0, first - 1)) + 1 for first in firsts]
    named = all(
        a < b and a not in fields and not text[a].isspace()
        for a, b in zip(above, firsts, strict=True)
    )
    return above if named else firsts


def _spoken(text: str, first: str, paragraphs: Sequence[_Paragraph]) -> bool:
    """Whether most that begin with a name have no other one, or two that say sentences."""
    begun = [one for one in paragraphs if one.name == first]
    spoken = [
        len(one.names) < 2 + (len(_ENDED.findall(text, one.start, one.end)) > 1)
        for one in begun
        if one.keys[0].start() == one.start
    ]
    return 2 * sum(spoken) > len(begun)


def _record(text: str, paragraphs: Sequence[_Paragraph], roots: Sequence[Node]) -> Node:
    """Its fields and further paragraphs, below its first field or a short first paragraph."""
    one = paragraphs[0]
    start, stop = stripped(text, one.start, one.end)
    end = stripped(text, start, paragraphs[-1].end)[1]
    if at := bisect_left(roots, end, key=lambda root: root.start):
        end = max(end, roots[at - 1].end)
    keys = one.keys[one.keys[0].start() == start :]
    if len(paragraphs) > 1 and stop - start <= STICKY:
        keys = []
    head = stripped(text, start, keys[0].start() if keys else stop)[1]
    if head - start > HEADER:
        keys, head = one.keys, start
    ends = [*(key.start() for key in keys[1:]), stop]
    fields = zip(keys, ends, strict=False)
    children = [said(text, *key.span(), last, roots) for key, last in fields]
    children += filled(text, stop, end, roots)
    return Node(start, head, end, end, mark="… {}", whole=HEADER, children=children)
