"""What a tool says about its result, before and behind it: exit codes, counts, what was cut.

An envelope is a few short lines of another shape than the content. It is recognised by where it
stands and how it looks, not by what any tool writes.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise

from ragsieve.structure import outline, pieces
from ragsieve.structure.headings import all_headings
from ragsieve.structure.tree import JSON, line_spans
from ragsieve.types import Span

_CHARS = 320  # characters of an envelope: about 80 tokens
_LINE = 200  # of one of its lines
_LINES = 12  # before the content, at most; and lines of the content to which these are compared
_BESIDE = 2  # lines beside the first and the last one that may be of another shape
_ENDS = re.compile(r"(?:\w+[ ]?){1,5}:$|[-=*_]{3,}$|<[A-Za-z][^<>]*>$")  # what stands before
_SAYS = re.compile(  # a name with a value or a number, something in brackets, a rule
    r"\W{0,3}\w[\w ./()#-]{0,40}(?:[:=]\s?\S|\d)|[\[(<].*[\])>]$|(?:\w+[ ]?){1,5}:$|\W*$"
)
_BELOW = re.compile(r"\s|- ")  # what a line of configuration heads
_ENTRY = re.compile(r"\s*[\w\"'-][\w \"'-]{0,40}:(?:\s|$)")
_ELEMENT = re.compile(r"\s*<([A-Za-z][\w-]*)(?:\s[^<>]*)?>[^<>]*</\1>\s*\Z")
_DEEP, _HEADS = 3, 60  # levels of an outline, and heads in it, at most
_MARKUP = 3  # tags that are closed, from which on a text is markup


def content_of(text: str) -> Span:
    """Where the content of a result stands between what a tool puts around it."""
    files = [part for part in pieces(text) if part.lines]
    if files and files[0].start + len(text) - files[-1].end <= 2 * _CHARS:
        return files[0].start, files[-1].end
    if _is_json(text) or text.count("</") > _MARKUP:
        return 0, len(text)
    end = len(text)
    while last := _ELEMENT.search(text, max(len(text) // 2, end - 4 * _CHARS), end):
        end = last.start()
    return _begin(text, end), end


def _is_json(text: str) -> bool:
    first = outline(text, small=True)[:1]
    return bool(first) and first[0].kind in JSON and not text[: first[0].start].strip()


def _begin(text: str, end: int) -> int:
    """Where the lines about the process end; 0 where a text begins with its content."""
    begin = 0
    for (start, stop), below in pairwise(islice(line_spans(text, 0, end), _LINES)):
        line = text[start:stop].strip()
        if stop > _CHARS or not _SAYS.match(line):
            break
        if _ENDS.match(line) and not _BELOW.match(text, *below):
            begin = below[0]
    following = [text[a:b] for a, b in islice(_full(text, begin, end), _LINES)]
    entries = sum(bool(_ENTRY.match(line)) for line in following)
    return begin if 2 * entries <= len(following) else 0  # else it is one of them


def edges_of(text: str) -> list[Span]:
    """The first and last lines of a text that are short, and those beside them unlike the rest."""
    lines = [*_full(text, 0, len(text))]
    if len(lines) < _LINES or _is_json(text):
        return []
    return [span for order in (lines, lines[::-1]) for span in _edge(text, order)]


def outline_of(text: str) -> list[Span]:
    """Headings, heads of functions, tables and the like, and the first and last lines of a text."""
    found = edges_of(text)
    for part in pieces(text):
        heads = [(one.start, one.start + len(one.text)) for one in all_headings(part.text)]
        nodes = [*outline(part.text)]
        for _ in range(_DEEP):
            spans = ((one.start, one.head) for one in nodes if one.head < one.end)
            heads += [span for span in spans if re.search(r"\w", part.text[slice(*span)])]
            nodes = [child for one in nodes for child in one.children]
        found += [part.span(*one) for one in heads[:_HEADS]]
    return sorted({(text.rfind("\n", 0, start) + 1, end) for start, end in found})


def _edge(text: str, lines: list[Span]) -> Iterator[Span]:
    usual = {_shape(text[a:b]) for a, b in lines[_BESIDE + 1 : _BESIDE + 1 + _LINES]}
    left = _CHARS // 2
    for n, (start, end) in enumerate(lines[: _BESIDE + 1]):
        left -= end - start
        if left < 0 or end - start > _LINE or (n and _shape(text[start:end]) in usual):
            break
        yield start, end


def _shape(line: str) -> tuple[str, ...]:
    """How a line begins and ends."""
    signs = line[0], line.strip()[0], line.strip()[-1]
    return tuple("Aa"[c.islower()] if c.isalpha() else "0" if c.isdigit() else c for c in signs)


def _full(text: str, start: int, end: int) -> Iterator[Span]:
    return (one for one in line_spans(text, start, end) if text[slice(*one)].strip())
