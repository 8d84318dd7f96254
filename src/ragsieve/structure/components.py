"""What stands between ``BEGIN:NAME`` and ``END:NAME``: calendars and cards."""

import re
from collections.abc import Iterable, Iterator

from ragsieve.structure.rows import WHOLE
from ragsieve.structure.tree import DEEPEST, MERGED, Node, in_runs, leaf, line_spans, over

_ENTRY = 600  # characters of an event or a card that are not cut
_BOUND = re.compile(r"(BEGIN|END):([A-Z][A-Z0-9-]{0,30})[ \t]*$")
_NAMES = re.compile(r"(?:SUMMARY|DTSTART|DTEND|DUE|FN|STATUS|RRULE)[;:]")


def regions(text: str) -> Iterator[Node]:
    """The calendars and cards of a text."""
    if "BEGIN:" in text and "END:" in text:
        yield from _beside(text, _blocks(text))


def _blocks(text: str) -> Iterator[Node]:
    """What ``BEGIN:NAME`` and ``END:NAME`` enclose, each on a line of its own."""
    opened: list[tuple[str, Node]] = []
    for start, end in line_spans(text):
        bound = _BOUND.match(text, start, end)
        if bound and bound[1] == "BEGIN":
            if len(opened) == DEEPEST:
                return
            opened.append((bound[2], Node(start, end, end, end, mark="… {}")))
        elif bound and opened:
            name, node = opened.pop()
            if name != bound[2]:
                return
            node.tail, node.end = start, end
            _close(node)
            if opened:
                opened[-1][1].children.append(node)
            else:
                yield node
        elif not bound and opened and end > start:
            inside = opened[-1][1].children
            if inside and text[start] in " \t":  # a long line goes on
                inside[-1].head = inside[-1].tail = inside[-1].end = end
            else:
                inside.append(leaf(start, end, sticky=bool(_NAMES.match(text, start))))


def _close(node: Node) -> None:
    """Its entries are parts, below what leads to them where they are most of it; else its lines."""
    first = next((n for n, one in enumerate(node.children) if one.children), 0)
    if first and 2 * node.children[first].start < node.start + node.end:
        node.head = node.children[first - 1].end
        del node.children[:first]
    inner = any(one.children for one in node.children)
    node.whole, node.merge = (WHOLE, 0) if inner else (_ENTRY, MERGED)


def _beside(text: str, blocks: Iterable[Node]) -> list[Node]:
    """Blocks with nothing but white space between them are one region."""
    together = in_runs(blocks, lambda one, other: not text[one.end : other.start].strip())
    return [over(some, mark="… {}") if len(some) > 1 else some[0] for some in together]
