"""What of a record stays with any of its parts: what names it, and what stands beside its list."""

from collections.abc import Iterable, Sequence

from ragsieve.structure.tree import Node, leaf

_STICKY_CHARS = 160  # of a field that names its record
_BESIDE = 400  # of all fields beside a long list


def name_first(children: Sequence[Node]) -> None:
    """Let what names a record be shown with any of its parts: its first field.

    And that of its first part where it stands right behind; and what is short, nested or not,
    beside the one long list of an object, which is what an API says of its own list.
    """
    if len(children) > 1 and not children[0].children:
        children[0].sticky = children[0].size <= _STICKY_CHARS
        inside = children[1].children
        if inside and not inside[0].children:
            children[1].sticky = inside[0].sticky = True
    longest = max(children, key=lambda one: one.size, default=leaf(0, 0))
    nested = _BESIDE if longest.size > _BESIDE else 0  # characters of one beside a long list
    others = (one for one in children if one is not longest)
    beside = [one for one in others if not one.children or one.size <= nested]
    if _lists(longest) and sum(one.size for one in beside) <= min(_BESIDE, longest.size):
        _stick(beside)


def _lists(node: Node) -> bool:
    """Whether it is a list, or most of what it holds is one."""
    while node.kind == "object" and node.children:
        node = max(node.children, key=lambda one: one.size)
    return node.kind == "array" and bool(node.children)


def _stick(nodes: Iterable[Node]) -> None:
    for node in nodes:
        node.sticky = True
        _stick(node.children)
