"""What stands between a begin and an end: calendars, cards, tables of LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ragsieve.structure.rows import WHOLE
from ragsieve.structure.tree import DEEPEST, MERGED, Node, grouped, leaf, line_spans, over, stripped

_ENTRY = 600  # characters of an event or a card that are not cut
_BOUND = re.compile(r"(BEGIN|END):([A-Z][A-Z0-9-]{0,30})[ \t]*$")
_NAMES = re.compile(r"(?:SUMMARY|DTSTART|DTEND|DUE|FN|STATUS|RRULE)[;:]")
_TABULAR = re.compile(r"\\begin\{(tabular[*xy]?|tabulary|longtable|supertabular)\}")
_RULE = r"\\(?:hline|midrule|toprule|bottomrule|endhead|endfirsthead|c(?:mid)?rule|cline)\b"
_RULES = re.compile(rf"(?:\s*+{_RULE}(?:\([^)\n]*\))?(?:\{{[^}}\n]*\}})?)*+")
_ROW = re.compile(r"\\\\(?:\[[^\]\n]*\])?|\\tabularnewline\b")


def regions(text: str) -> Iterator[Node]:
    """The calendars and cards of a text, and its tables of LaTeX with three rows or more."""
    if "BEGIN:" in text and "END:" in text:
        yield from _beside(text, _blocks(text))
    stops: dict[str, int] = {}  # where the next one of each name ends; -1 where none does
    for begin in _TABULAR.finditer(text):
        stop = stops.get(begin[1], 0)
        if 0 <= stop < begin.end():
            stop = stops[begin[1]] = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if stop >= 0 and (table := _table(text, begin, stop)):
            yield table


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
    """Its entries are parts, below what leads to them; the lines of one without are."""
    first = next((n for n, one in enumerate(node.children) if one.children), 0)
    if first:
        node.head = node.children[first - 1].end
        del node.children[:first]
    inner = any(one.children for one in node.children)
    node.whole, node.merge = (WHOLE, 0) if inner else (_ENTRY, MERGED)


def _beside(text: str, blocks: Iterable[Node]) -> list[Node]:
    """Blocks with nothing but white space between them are one region."""
    together: list[list[Node]] = []
    for block in blocks:
        if together and not text[together[-1][-1].end : block.start].strip():
            together[-1].append(block)
        else:
            together.append([block])
    return [over(some, mark="… {}") if len(some) > 1 else some[0] for some in together]


def _table(text: str, begin: re.Match[str], stop: int) -> Node | None:
    """The rows below the first one; None of a table that holds another."""
    if _TABULAR.search(text, begin.end(), stop):
        return None
    end = stop + len(f"\\end{{{begin[1]}}}")
    ends = [row.end() for row in _ROW.finditer(text, begin.end(), stop)]
    closed = [rules.end() for end in ends if (rules := _RULES.match(text, end, stop))]
    spans = zip(closed, [*ends[1:], stop], strict=False)
    own = (leaf(*stripped(text, a, b)) for a, b in spans if text[a:b].strip())
    rows = grouped(text, own, "… {}")
    if len(rows) < 2:
        return None
    return Node(
        *(begin.start(), closed[0], stripped(text, rows[-1].end, end)[0], end),
        kind="table", whole=WHOLE, mark="… {}", children=rows,
    )  # fmt: skip
