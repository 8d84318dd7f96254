"""What programs print, and whatever else is laid out by lines: each line below the one it is under.

No layout is known by name. A text is read so where few of its lines run on like prose, or where
most hang below others. What is indented lies inside the line above it; of lines between blank ones
the first is the head where no other begins as it does.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Any

from ragsieve.structure.tree import DEEPEST, Node, in_runs, leaf, line_spans, over, stripped

_LEAST = 4  # lines of a text that is read so
_WHOLE = 300  # characters of lines that belong together and are not cut
_SHOWN = 300  # characters of a line that are looked at
_PROSE = 0.4  # share of the characters in lines of prose, at most
_HANGING = 0.6  # share of the characters below heads, at least, where more is prose
_HEADS = 3
_FULL = 50  # characters of a line that may go on below, at least
_HEAD = 300  # characters of a line that heads others
_RECORD = 2000  # characters of lines between blank ones that the first one heads
_WORDS = 5  # of a line of prose
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ROUND = "()\"'“”‘’*_.,;:?!«»、。，：；？！「」（）"  # what stands around words of prose
_MARKED = re.compile(r"#{1,6} |(?:[-*+•‣◦▪●·–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]|>")
_WORDY = re.compile(r"\w")
_FIRST = re.compile(r"\W+|\w+")
_GAP = re.compile(r"\S[ ]{2,}(?=\S)")


class _Line:
    """A line that is not blank; ``apart`` says whether a blank one stands above it."""

    def __init__(self, text: str, start: int, end: int, apart: bool) -> None:
        self.start, self.end = stripped(text, start, end)
        last = max(start + _SHOWN, self.start + 1)  # of a line that is far in, a character
        shown = text[start : min(end, last)].expandtabs(8)
        self.indent = len(shown) - len(shown.lstrip())
        self.text, self.apart = shown.strip(), apart
        gap = _GAP.search(shown)
        self.column = gap.end() if gap else 0  # where what it says of its first words begins
        self.size = self.end - self.start
        self.is_marked = bool(_MARKED.match(self.text))  # an item or a title of a page

    @cached_property
    def is_prose(self) -> bool:
        """Whether it runs on: words with one space between them, or an item or title of a page."""
        words = self.text.split(" ")
        plain = sum(_is_plain(word.strip(_ROUND)) for word in words)
        uncased = sum(one.isalpha() and one.lower() == one.upper() for one in self.text)
        runs = plain > 0.8 * len(words) and (len(words) >= _WORDS or self.text[-1] in ".!?")
        return runs or uncased > self.size / 2 or self.is_marked


def _is_plain(word: str) -> bool:
    return bool(_WORD.fullmatch(word)) and (word[1:].islower() or word.isupper() or len(word) == 1)


def regions(text: str, taken: Sequence[Node]) -> Iterator[Node]:
    """The stretches between other regions that are laid out by lines."""
    start = 0
    for end, further in [*((one.start, one.end) for one in taken), (len(text), 0)]:
        if end - start > _WHOLE and (nodes := laid_out(text, start, end, _LEAST)):
            yield over(nodes, mark="…", each=True, whole=0)
        start = further


def laid_out(text: str, start: int, end: int, least: int = 2) -> list[Node]:
    """The lines of a stretch, so many at least, as nodes; none where they run on like prose."""
    lines = [*_lines(text, start, end)]
    size = sum(line.size for line in lines)
    prose = sum(line.size for line in lines if line.is_prose)
    printed = len(lines) >= least and (prose < _PROSE * size or _hanging(lines) > _HANGING * size)
    return _nested(text, lines) if printed else []


def _hanging(lines: Sequence[_Line]) -> int:
    """Characters of the lines below at least three that stand further to the left, no items."""
    base = min(line.indent for line in lines) + 1
    heads = [a for a, b in pairwise(lines) if a.indent <= base < b.indent]
    below = sum(line.size for line in lines if line.indent > base)
    return 0 if len(heads) < _HEADS or any(head.is_marked for head in heads) else below


def hangs(text: str, node: Node) -> bool:
    """Whether a line inside begins further to the left than the parts: it heads some of them."""
    first = node.children[0].start if node.children else node.start
    margin = first - text.rfind("\n", 0, first) - 1
    return any(line.indent < margin for line in _lines(text, node.start, node.end))


def is_below(text: str, table: Node) -> bool:
    """Whether the lines of a table without a header are indented below one that heads them."""
    start = text.rfind("\n", 0, table.start)
    above = [*_lines(text, text.rfind("\n", 0, max(start, 0)) + 1, max(start, 0))]
    (first,) = [text[one.start : one.end].split(None, 1)[0] for one in table.children[:1]]
    bare = table.kind == "table" and text.startswith(first, table.start)
    return bare and bool(above) and above[0].indent < table.start - start - 1


def _lines(text: str, start: int, end: int) -> Iterator[_Line]:
    apart = False
    for first, last in line_spans(text, start, end):
        if text[first:last].strip():
            yield _Line(text, first, last, apart)
        apart = not text[first:last].strip()


def _nested(text: str, lines: Sequence[_Line], depth: int = 0) -> list[Node]:
    """The lines of a level as nodes, what is indented further inside the line above it."""
    base = min(line.indent for line in lines)
    starts: list[int] = []
    for n, line in enumerate(lines):
        column = line.column and n and line.column == lines[starts[-1]].column
        if not n or line.indent <= base + 1 or column:
            starts.append(n)
    items = [(lines[a], lines[a + 1 : b]) for a, b in pairwise([*starts, len(lines)])]
    groups = in_runs(items, lambda one, own: not (own[0].apart or (one[1] and one[1][0].apart)))
    found: list[Node] = []
    for node in (node for group in groups for node in _group(text, group, depth)):
        if found and not node.children and not _WORDY.search(text, node.start, node.end):
            found[-1].end = node.end  # closes what stands above
            found[-1].tail = node.start if found[-1].children else node.end
        else:
            found.append(node)
    return found


def _group(text: str, group: Sequence[tuple[_Line, Sequence[_Line]]], depth: int) -> list[Node]:
    """Lines between blank ones: below the first one where no other begins as it does."""
    nodes = [_node(text, line, inside, depth) for line, inside in group]
    first, *others = [_FIRST.match(line.text)[0] for line, _ in group]  # type: ignore[index]
    size = nodes[-1].end - nodes[0].start
    head, *inside = nodes
    runs_on = sum(line.is_prose and not below for line, below in group)
    if others and 2 * runs_on > len(group):
        return [_paragraph(text, head.start, nodes[-1].end)]
    levels = head.children and any(node.children for node in inside)
    if not others or first in others or levels or size > _RECORD:
        return nodes
    end, inside = inside[-1].end, [*head.children, *inside]
    return [Node(head.start, head.head, end, end, children=inside, **OPTIONS)]


def _paragraph(text: str, start: int, end: int) -> Node:
    """Lines that run on, by their sentences."""
    from ragsieve.text import sentence_spans  # loads splitters of sentences

    spans = sentence_spans(text[start:end], max_chars=end - start)
    sentences = [leaf(start + a, start + b) for a, b in spans]
    return over(sentences, **{**OPTIONS, "kind": "inline"}) if sentences[1:] else leaf(start, end)


OPTIONS: dict[str, Any] = {"mark": "…", "each": True, "whole": _WHOLE}
"""Of a node of lines that belong together."""


def _node(text: str, line: _Line, inside: Sequence[_Line], depth: int) -> Node:
    if not inside or depth > DEEPEST or line.size > _HEAD:  # a long line may be cut
        end = (inside or [line])[-1].end
        return Node(line.start, end if inside or line.size <= _WHOLE else line.start, end, end)
    end, head, own = inside[-1].end, line.end, list[Node]()
    if goes_on := _goes_on(line, inside):
        paragraph, inside = _paragraph(text, line.start, inside[goes_on - 1].end), inside[goes_on:]
        if not inside:
            return paragraph
        first, *own = paragraph.children or [paragraph]
        head = first.end
    children = [*own, *_nested(text, inside, depth + 1)]
    return Node(line.start, head, end, end, children=children, **OPTIONS)


def _goes_on(line: _Line, inside: Sequence[_Line]) -> int:
    """How many of the lines below go on with a line that is full and ends no sentence."""
    width = max(one.indent + one.size for one in (line, *inside))
    below = [*takewhile(lambda one: one.is_prose and not (one.apart or one.is_marked), inside)]
    full = line.size >= _FULL and not line.text.endswith((".", ":", "!", "?"))
    word = below[0].text.split()[0] if below else ""
    return len(below) if full and line.indent + line.size + len(word) >= width else 0
