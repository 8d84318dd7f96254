"""How what is kept of a text is shown: the kept parts of each tree, below the heads they need."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

from ragsieve.structure.tree import (
    COMMANDS,
    ELEMENTS,
    JSON,
    KEY,
    ROWSPAN,
    Node,
    merged,
    places,
    stripped,
)
from ragsieve.types import USUAL, Layout, Listed, Span

_PADDING = re.compile(r"([^\w\s]|_)\1{3,}|[ ]+(?= [|│┃║])")  # of a table's head
_PADDED = re.compile(r"\w+(?:[ ]?[^\s|]+)*")  # a cell
_COMMANDED = re.compile(rf"^{COMMANDS}\n?", re.MULTILINE)
_CUE = re.compile(r"(?:\d+\s+)?[\d:.,]+\s*-->\s*[\d:.,]+[^\n]*")  # its number and times
_BREAK = re.compile(r"\s*[\r\n]\s*")


class Kept:
    """What is kept of a text, as merged spans, and how it is shown."""

    def __init__(self, text: str, spans: Iterable[Span], layout: Layout = USUAL) -> None:
        self.text, self.layout = text, layout
        self.stands: list[Span] = []  # what is shown, kept or not
        self.numbers: Callable[[int, int], str] = lambda *_: ""  # of lines between places
        self.compact: Callable[[str, Node, Kept], tuple[str, list[Span]] | None] | None = None
        self.spans = merged(spans, lambda end, start: text[end:start])

    def show(self, start: int, end: int) -> str:
        """What stands there of the text, which is shown."""
        self.stands.append((start, end))
        return self.text[start:end]

    def whole(self, start: int, end: int) -> bool:
        """Whether all of it is kept."""
        place = bisect_right(self.spans, start, key=itemgetter(0))
        return place > 0 and self.spans[place - 1][1] >= end

    def rows(self, listed: Listed) -> int:
        """How many of some rows have something that is kept."""
        return sum(bool(places(self.spans, *row)) for row in listed.rows)

    def said(self, node: Node, parts: int) -> str:
        """What the mark of a node says of which so many parts are shown."""
        inside = node.children
        for one in self.layout.lists:
            if (inside[0].start, inside[-1].end) == (one.rows[0][0], one.rows[-1][1]):
                return one.shown(self.rows(one))
        return f"{parts} of {len(inside)} shown"

    def within(self, start: int, end: int) -> Iterator[Span]:
        """The kept parts of it."""
        for place in places(self.spans, start, end):
            yield max(start, self.spans[place][0]), min(end, self.spans[place][1])


def shown(text: str, node: Node, kept: Kept) -> str:
    """What is shown of a node: its kept parts, each below the heads that lead to it.

    Or its rows with their heads once, where ``kept.compact`` makes a shorter text of them.
    """
    above = len(kept.stands)
    usual = _shown(text, node, kept)
    if kept.compact and (found := kept.compact(text, node, kept)) and len(found[0]) < len(usual):
        kept.stands[above:] = found[1]
        return found[0]
    return usual


def _shown(text: str, node: Node, kept: Kept) -> str:
    if kept.layout.json_as == "paths" and node.kind in JSON and not node.ends_early:
        return "\n".join(_paths(text, node, kept, ""))
    beside = not _hit(node, kept) and not any(child.sticky for child in node.children)
    inside = kept.compact and (node.children or _timed(text, node, kept))
    if beside or (kept.whole(node.start, node.end) and not inside):
        return kept.show(node.start, node.end)
    if not node.children:
        return _cut_leaf(text, node, kept)
    chosen = _chosen(node, kept)
    if node.kind in ("lines", "table"):
        return _lines(text, node, kept, chosen)
    return (_tags if node.kind in ELEMENTS else _json)(text, node, kept, chosen)


def _chosen(node: Node, kept: Kept) -> list[int]:
    """The places of the parts that are shown: what is kept, and what is shown with it."""
    stay = [n for n, one in enumerate(node.children) if one.sticky]
    if kept.layout.is_short:  # of a record its name, where it has no key
        named = node.kind == "object" and (stay[:1] != [0] or node.head - node.start > 1)
        stay = [] if named else stay[:1]
    return sorted({*stay, *(n for n, one in enumerate(node.children) if _reached(one, kept))})


def _reached(node: Node, kept: Kept) -> bool:
    """Whether something of it is kept beside the heads of what follows it, or a part of its own."""
    printed = (node.kind, node.mark) == ("lines", "…")  # whose heads say more than a name
    inside, parted = node.children, printed or not kept.whole(node.start, node.head)
    alone = not inside or inside[-1].sticky or (parted and any(kept.within(node.start, node.head)))
    return _hit(node, kept) and (alone or any(_reached(child, kept) for child in inside))


def _hit(node: Node, kept: Kept) -> bool:
    return bool(places(kept.spans, node.start, node.end))


def _timed(text: str, node: Node, kept: Kept) -> bool:
    """Whether it is a cue whose times are not shown: they cost more than what is said."""
    head = text[node.start : node.head]
    return kept.layout.is_short and bool(_CUE.fullmatch(head)) and node.head < node.end


def _cut_leaf(text: str, node: Node, kept: Kept) -> str:
    timed, last, mark = _timed(text, node, kept), node.head, kept.layout.mark
    shown = "" if timed else kept.show(node.start, node.head)
    last = stripped(text, node.head, node.end)[0] if timed else last
    for start, end in kept.within(node.head, node.tail):
        inside = text[last:start]
        space = "\n" if inside.endswith("\n") else " "
        shown += inside if not inside.strip() else space * (last > node.head) + mark + space
        shown += kept.show(start, end)
        last = end
    shown += f" {mark}" if text[last : node.tail].strip() else ""
    return shown + kept.show(node.tail, node.end)


def _indent(text: str, start: int) -> str:
    before = text[max(text.rfind("\n", max(0, start - 500), start) + 1, start - 500, 0) : start]
    if not before.strip():
        return before
    return "" if before.strip(" -") else " " * len(before)  # below the dash of a list


def _lines(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    out, last, mark = _head(node, kept), -1, kept.layout.of(node.mark)
    end = node.head
    for place in chosen:
        child = node.children[place]
        indent = _indent(text, child.start)
        if place == last + 1:
            out += text[end : child.start]
        else:
            left = _indent(text, node.children[last + 1].start)
            said = mark + kept.numbers(end, child.start)
            out += f"\n{left}{said}\n{indent}" if node.each else f"\n{indent}"
        part = shown(text, child, kept)
        doubled = mark and out.rstrip().endswith(mark) and part.lstrip().startswith(mark)
        out += part.lstrip().removeprefix(mark).lstrip("\n") if doubled else part
        last, end = place, child.end
    fewer = len(chosen) < len(node.children) and not out.endswith(kept.layout.mark)
    if fewer and mark and (not node.each or node.children[last + 1 :]):
        indent = _indent(text, node.children[last + 1 if node.each else -1].start)
        out += f"\n{indent}" + mark.format(kept.said(node, len(chosen)))
        out += kept.numbers(end, node.tail) * node.each
    if node.tail < node.end:
        gap = text[end : node.tail]
        out += gap if not gap.strip() else "\n" + _indent(text, node.tail)
        out += kept.show(node.tail, node.end)
    return out if node.head > node.start else out.lstrip("\n")


def _head(node: Node, kept: Kept) -> str:
    """What heads lines, that of a table without padding."""
    whole = kept.whole(node.start, node.head)
    out = kept.show(node.start, node.head)
    if node.kind != "table" or whole:
        return out
    short = _PADDING.sub(lambda run: (run[1] or "") * 3, out)
    short = _COMMANDED.sub("", short) if kept.layout.is_short else short
    if short != out:
        del kept.stands[-1]
        at = 0
        for word in _PADDED.finditer(kept.text, node.start, node.head):
            if (found := short.find(word[0], at)) >= 0:
                at = found + len(word[0])
                kept.stands.append(word.span())
    return short


def _tags(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    """Elements inside their tags; of what stands between them only the white space."""
    out, last, end = kept.show(node.start, node.head), -1, node.head
    if node.kind == "group":
        rows = _rows(text, node, kept)
        out = ROWSPAN.sub(lambda cell: f"{cell[1]}{sum(rows[: int(cell[2])])}", out)
    mark, places = kept.layout.of(node.mark), {*chosen}
    for place, child in enumerate(node.children):
        if place not in places:
            if node.kind == "cells":
                out += kept.show(child.start, child.head) + kept.layout.mark
                out += kept.show(child.tail, child.end)
            continue
        gap = text[end : child.start]
        line = f"\n{_indent(text, child.start)}" if "\n" in gap and out else ""
        line = " " * (out[-1:] not in ("", " ")) if node.kind == "inline" else line
        if place != last + 1 and node.each and not out.endswith(mark):
            out += line + mark
            line = " " if node.kind == "inline" else line or "\n"
        part = shown(text, child, kept)
        if node.each and out.endswith(mark):
            part = part.removeprefix(mark).lstrip()
        out += (gap if place == last + 1 and not gap.strip() and out else line) + part
        last, end = place, child.end
    left = len(chosen) < len(node.children) and node.kind != "cells"
    if left and not node.each:
        out += "\n" + mark.format(kept.said(node, len(chosen)))
    elif left and node.children[last + 1 :] and not out.endswith(mark):
        out += (" " if node.kind == "inline" else "\n") + mark
    gap = text[end : node.tail] if node.tail < node.end else ""
    out += gap if not gap.strip() else "\n" * ("\n" in gap and node.kind != "inline")
    return out + kept.show(node.tail, node.end)


def _rows(text: str, node: Node, kept: Kept) -> list[bool]:
    """Whether each row of a group, the first of which heads the others, is shown."""
    inside = node.children if node.kind == "group" else []
    head = text[node.start : node.head if inside else node.end].lower()
    below = (row for child in inside for row in _rows(text, child, kept))
    return [*[_reached(node, kept)] * head.count("<tr"), *below]


def _json(text: str, node: Node, kept: Kept, chosen: Sequence[int]) -> str:
    children = node.children
    out, last, end = kept.show(node.start, node.head), -1, node.head
    comma = "" if node.kind == "rows" else ","
    for place in chosen:
        child = children[place]
        if place == last + 1:
            out += text[end : child.start]
        else:
            out += comma + _space(text, child.start) if last >= 0 else text[end : children[0].start]
        out += shown(text, child, kept)
        last, end = place, child.end
    if len(chosen) < len(children):
        said = kept.said(node, len(chosen)).replace("\\", "/").replace('"', "'")
        braced = node.kind == "object" and text[node.head - 1] == "{"
        mark = kept.layout.of('"…": "{}"' if braced else '"… {}"').format(said)
        out += (comma if chosen else "") + (_space(text, children[-1].start) or " ") + mark
    if node.ends_early:
        return out + {"[": "]", "(": ")"}.get(text[node.head - 1], "}")
    return out + _space(text, node.tail) + kept.show(node.tail, node.end)


def _paths(text: str, node: Node, kept: Kept, path: str) -> Iterator[str]:
    """A line ``path: value`` for each value that is shown of JSON."""
    key = KEY.match(text, node.start) if path and node.start < node.head else None
    nested = any(child.kind in JSON for child in node.children)
    chosen = _chosen(node, kept)
    if not node.children or (node.kind == "array" and not nested):
        above = len(kept.stands)
        if kept.whole(node.start, node.end) or node.sticky:
            value = kept.show(node.start, node.end)
        else:
            value = _json(text, node, kept, chosen) if chosen else _cut_leaf(text, node, kept)
        if key:
            value, first = value[len(key[0]) :], key.end()
            kept.stands[above:] = [(max(a, first), b) for a, b in kept.stands[above:]]
        yield f"{path}: {_BREAK.sub(' ', value)}".removeprefix(": ")
        return
    for place in chosen:
        child = node.children[place]
        name = KEY.match(text, child.start) if node.kind == "object" else None
        own = name[name.lastindex or 0] if name else ""
        step = "." * bool(path) + own if own.isidentifier() else f'["{own}"]'
        step = step if name else f"[{place}]"
        yield from _paths(text, child, kept, path + step)
    if len(chosen) < len(node.children) and not (path and kept.layout.is_short):
        mark = kept.layout.of("… {}").format(kept.said(node, len(chosen)))
        yield f"{path}: {mark}".removeprefix(": ")


def _space(text: str, start: int) -> str:
    """The white space before a place."""
    first = start
    while first and text[first - 1] in " \t\r\n":
        first -= 1
    return text[first:start]
