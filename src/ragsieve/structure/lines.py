"""What is told line by line: tracebacks, diffs, and lists too long for one unit."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragsieve.structure.parts import holds
from ragsieve.structure.tree import ALWAYS, Node, leaf, line_spans

_LONG = 1000  # characters of a list that may be cut
_ITEMS = 4
_FILE = 400  # characters of a file's changes that are not cut
_LEAD = 300  # characters of a line that leads to a list
_SHOWN = 300  # characters of a line that are looked at
_RAISED = re.compile(r"Traceback \(most recent call last\)")
_CHAINED = re.compile(r"During handling of the above|The above exception was")
_ITEM = re.compile(r"(?:[-*+•‣◦▪●·–]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]+\S")
_CHANGED = re.compile(r"diff --git |--- \S|Index: ")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@|@@ .*@@")
_NUMBERS = re.compile(r"@@ -\d+(?:,\d+)? \+\d+")
_IN_DIFF = re.compile(
    r"[-+ @\\]|diff |index |new file|deleted file|old mode|new mode|similarity|rename|Index: |===|$"
)


class Line(NamedTuple):
    """A line of a text."""

    start: int  # its first character that is not white space, or its end
    end: int  # one past its last
    indent: int
    text: str


def regions(text: str, faults: list[str]) -> Iterator[Node]:
    """The tracebacks, diffs and long lists of a text; adds what is unread."""
    if "\n" not in text:
        return
    traced = bool(_RAISED.search(text))
    changed = "\n@@ " in text or text.startswith("@@ ")
    if not (traced or changed or len(text) > _LONG):
        return
    lines = list(lines_of(text))
    place = searched = 0  # before the latter stands no hunk
    while place < len(lines):
        node, after = None, place + 1
        if traced and _RAISED.search(lines[place].text):
            node, after = _traceback(lines, place)
        if changed and not node and place >= searched and _CHANGED.match(lines[place].text):
            node, searched = _diff(lines, place, faults)
            after = searched if node else place + 1
        if not node and _ITEM.match(lines[place].text):
            node, after = _list(text, lines, place)
        if node:
            yield node
        elif changed and _NUMBERS.match(lines[place].text):
            faults.append("changes without the names of their file: split as text")
        place = max(after, place + 1)


def lines_of(text: str, first: int = 0, last: int | None = None) -> Iterator[Line]:
    """The lines of a text, of each the first characters without white space around them."""
    for start, end in line_spans(text, first, last):
        shown = text[start : min(end, start + _SHOWN)]
        bare = shown.lstrip()
        indent = len(shown) - len(bare) if bare else 0
        yield Line(start + indent if bare else end, end, indent, bare.rstrip())


def _leaf(lines: Sequence[Line]) -> Node:
    return leaf(lines[0].start, lines[-1].end)


def _traceback(lines: Sequence[Line], place: int) -> tuple[Node | None, int]:
    """A traceback whole, or its frames below its first lines, above what was raised."""
    first = after = place
    while after >= 0:
        after = _python(lines, after)
    after = -after
    if first and lines[first - 1].text:  # it tells of it
        first -= 1
    body = lines[place + 1 : after - 1]
    if not body:
        return None, after
    frames = [n for n, one in enumerate(body) if not n or one.text.startswith("File ")]
    spans = pairwise([*frames, len(body)])
    head, end, raised = lines[place].end, lines[after - 1].end, _leaf(lines[after - 1 : after])
    raised.sticky = True
    node = Node(lines[first].start, head, end, end, mark="…", merge=300, each=True)
    node.children = [*(_leaf(body[a:b]) for a, b in spans), raised]
    return node, after


def _python(lines: Sequence[Line], place: int) -> int:
    """Minus the line behind a traceback of Python; or the line where one begins that follows it."""
    base, after = lines[place].indent, place + 1
    while after < len(lines) and (lines[after].indent > base or not lines[after].text):
        after += 1
    after = min(after + 1, len(lines))  # what was raised
    further = after
    while further < len(lines) and not lines[further].text:
        further += 1
    if further < len(lines) and _CHAINED.match(lines[further].text):
        for again in range(further + 1, min(further + 4, len(lines))):
            if _RAISED.search(lines[again].text):
                return again
    return -after


def _diff(lines: Sequence[Line], place: int, faults: list[str]) -> tuple[Node | None, int]:
    """The changes of one file, hunk by hunk below its names; and the line behind what was read."""
    after = place + 1
    begins: list[int] = []
    while after < len(lines):
        line = lines[after]
        raw = " " * bool(line.indent) + line.text
        if hunk := _HUNK.match(raw):
            begins.append(after)
            after, whole = _hunk(lines, after + 1, hunk)
            if not whole:
                faults.append("a diff has fewer lines than it says: the rest is split as text")
            continue
        if not _IN_DIFF.match(raw) or (begins and (_CHANGED.match(raw) or not raw)):
            break
        after += 1
    if not begins:
        return None, after
    hunks = [_leaf(lines[a:b]) for a, b in pairwise([*begins, after])]
    head, end = lines[begins[0] - 1].end, hunks[-1].end
    node = Node(lines[place].start, head, end, end, whole=_FILE, mark="…", each=True)
    node.children = hunks
    return node, after


def _hunk(lines: Sequence[Line], after: int, head: re.Match[str]) -> tuple[int, bool]:
    """The line behind a hunk of so many old and new lines as its head says; whether all are."""
    old, new = (int(one or 1) if head[0][3:4] == "-" else 0 for one in head.groups())
    while after < len(lines) and (old > 0 or new > 0):
        line = lines[after]
        sign = " " if line.indent or not line.text else line.text[0]
        if sign not in " +-\\":
            break
        old, new = old - (sign in " -"), new - (sign in " +")
        after += 1
    return after, old <= 0 >= new


def _list(text: str, lines: Sequence[Line], place: int) -> tuple[Node | None, int]:
    """A list that is too long for one unit, below the line that leads to it."""
    base, after = lines[place].indent, place
    begins: list[int] = []
    while after < len(lines):
        line = lines[after]
        beyond = line.indent < base or (line.indent == base and not lines[after - 1].text)
        if _ITEM.match(line.text) and line.indent <= base + 1:
            begins.append(after)
        elif line.text and beyond:
            break
        after += 1
    while not lines[after - 1].text:
        after -= 1
    if len(begins) < _ITEMS or lines[after - 1].end - lines[place].start <= _LONG:
        return None, after
    items = [_leaf([one for one in lines[a:b] if one.text]) for a, b in pairwise([*begins, after])]
    for item in items:
        item.head = item.start if holds(text, item.start, item.end) else item.end
    lead = next((one for one in reversed(lines[max(0, place - 2) : place]) if one.text), None)
    start = head = items[0].start
    if lead and lead.end - lead.start <= _LEAD and lead.text.endswith((":", "：")):
        head = lead.end
        start = head - len(text[lead.start : head].rpartition(". ")[2])
    end = items[-1].end
    return Node(start, head, end, end, mark="…", merge=ALWAYS, each=True, children=items), after
