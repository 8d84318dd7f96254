"""The units of a tree: spans that are kept or dropped."""

import re

from ragsieve.structure.tree import Node, stripped
from ragsieve.types import Span

_END = re.compile(r"[\s,;]*")


def units(root: Node, text: str, max_chars: int) -> list[Span]:
    """The spans of a tree's units, which leave out nothing but white space.

    The first unit of a node has its head; each has the commas and brackets behind it.
    """
    cores: list[list[int]] = []  # start, end, one past what closes it

    def walk(node: Node, joins: int) -> None:
        if not node.children or node.size <= min(node.whole, max_chars):
            lead = cores[0][0] - root.start if len(cores) == 1 else 0
            small = joins > 0 and node.end - cores[-1][0] <= min(joins, max_chars - lead)
            if small and not node.children:
                cores[-1][1:] = [node.end, node.end]
            else:
                cores.append([node.start, node.end, node.end])
            return
        for place, child in enumerate(node.children):
            leaf = place and not node.children[place - 1].children
            walk(child, node.merge if leaf else 0)
        cores[-1][2] = max(cores[-1][2], node.end)

    walk(root, 0)
    spans, start = [], root.start
    for _, _, closed in cores[:-1]:
        match = _END.match(text, closed, root.end)
        stop = match.end() if match else closed
        spans.append((start, max(start, stripped(text, start, stop)[1])))
        start = stop
    return [span for span in [*spans, (start, root.end)] if span[0] < span[1]]
