"""Trees that are drawn with lines, as programs list folders, devices and what depends on what.

Readers of structure see blanks in place of the branches: the indentation that is left says which
line lies in which.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from ragsieve.structure.tree import DEEPEST, Node

_BRANCH = re.compile(r"^[ \t\xa0│|]*?([├└╰]|[+|`\\])[─-]+[┬+]? ?(?=[^\s─-╿+|=-])", re.MULTILINE)
_TEES, _CORNERS = frozenset("+|"), frozenset("`\\")  # of a tree in ASCII


def undrawn(text: str) -> str:
    """A text as long as this one, with blanks where it draws branches.

    Signs of ASCII are branches where some of them go on and some end.
    """
    marks = {match[1] for match in _BRANCH.finditer(text)}
    if not marks or (marks <= _TEES | _CORNERS and not (marks & _TEES and marks & _CORNERS)):
        return text
    return _BRANCH.sub(lambda branch: " " * len(branch[0]), text)


def redrawn(text: str, bare: str, nodes: Iterable[Node], *, rows: bool = False) -> list[Node]:
    """Nodes of what `undrawn` gave, with the branches before their lines.

    A row of a table lies in the one that its branch comes from.
    """
    found: list[Node] = []
    above: list[tuple[int, Node]] = []  # rows that may have branches, by their columns
    for node in nodes:
        line = bare.rfind("\n", 0, node.start) + 1
        column, branch = node.start - line, text[line : node.start]
        children = redrawn(text, bare, node.children, rows=node.kind == "table")
        start = node.start if bare[line : node.start].strip() else node.start - len(branch.lstrip())
        head = start if node.head == node.start else node.head
        node = replace(node, start=start, head=head, children=children)
        while above and above[-1][0] >= column:
            above.pop()
        if rows and above and branch.strip():
            above[:DEEPEST][-1][1].children.append(node)
            for _, one in above[:DEEPEST]:
                one.tail = one.end = node.end
                one.whole, one.mark, one.each = 0, "…", True
        else:
            found.append(node)
        above += [(column, node)] * rows
    return found
