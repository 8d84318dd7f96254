"""JSON in a text: one value, several in a row, a value a line, or inside prose and fences.

What programs print of their dictionaries, lists, tuples and objects is read so, too: many agents
pass results of tools on as such. Keys may stand without quotation marks, and a name before what an
object holds.
"""

import re
from collections.abc import Iterator, Sequence

from ragsieve.structure.beside import name_first
from ragsieve.structure.tree import ALWAYS, DEEPEST, MERGED, Node, over, stripped
from ragsieve.types import Span

SMALLEST = 200  # characters of a value that is cut, or seen inside prose
_RECORD = 600  # characters of a record with lists of its own that is not cut
_NAME = r"[A-Za-z_][\w.]*+"
_CALL = rf"""{_NAME}\((?:[^()\n"'\[{{]*+|"[^"\n]*+"|'[^'\n]*+')\)"""  # date(2024, 5, 1)
_BARE = r"""(?<==)[^\s,()\[\]{}"'][^()\[\]{}"'\n]*?(?=,\ ?\w+=|[)}\]])"""  # a text of Java's
_TOKEN = re.compile(
    rf"""(?:[ \t\r\n]++|//[^\n]*+)*+
    (?:("[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')
    |({_BARE}|{_CALL})|((?:{_NAME}\ ?+)?[({{]|\[|%{{)|([\]}})])
    |(:?[A-Za-z_$][\w$]*+)\s*+(?:=>?|:)|(=>|[,:])|([^\s\[\](){{}},:"']++))""",
    re.VERBOSE,
)
_SIGNS = ' "x  k x'  # of a kind; k is a bare key with its mark, x a literal
_ALLOWED = {  # the signs that may come next
    "value": '"[({xk',
    "value?": '"[({xk])}',
    "key?": '"k[({)}',  # without a key it is a list
    "colon": ":>",
    "comma": ",])}",
}
_LITERAL = re.compile(
    r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity|True|False|None|nan|-?inf"
    r"|nil|undefined|[A-Z]\w*(?:\.\w+)+"  # of Ruby and JavaScript, a member of an enumeration
)
_PARTS = {"object": "key", "array": "value"}
_CLOSES = {"[": "]", "{": "}", "(": ")"}
BEGINS = re.compile(
    r"""(?<![\w\])])[\[{](?=\s*(?:[\[{("'\]}\-\d%tfnTFN]|//|:?[A-Za-z_$][\w$.]*\s*[({:=]))"""
    r"""|^[A-Z]\w*\((?=\w+=)""",
    re.MULTILINE,
)
_CUT_OFF = re.compile(r"""\s*(?:"[^"\n]*+|'[^'\n]*+|[\w.+-]*+)\Z""")
_NEXT = re.compile(r"[\s,]*(?=[\[{])")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[^\n`]*+\n\s*+\Z")
_ABOVE = 300  # characters before a value in which its fence is looked for
_CLOSED = re.compile(r"\s*\n[ \t]*(?:`{3,}|~{3,})(?=\s|\Z)")


def regions(text: str) -> Iterator[Node]:
    """The JSON of a text, value by value; runs of values are one region."""
    bounds = stripped(text, 0, len(text))
    at = 0
    while match := BEGINS.search(text, at):
        first = match.start()
        values: list[Node] = []
        at = first
        while True:
            value, at = read(text, at)
            values += [value] if value else []
            following = _NEXT.match(text, at)
            if not value or not following or value.ends_early:
                break
            at = following.end()
        at = max(at, first + 1)
        if values and (region := _region(text, values, bounds)):
            yield region


def ends_early(text: str, roots: Sequence[Node]) -> str:
    """Where a text begins as JSON but cannot be read to its end, a sentence that says so."""
    begins = text[:200].lstrip()[:1] in ("{", "[") and len(text) > SMALLEST
    if not begins or not BEGINS.match(text.lstrip()[:200]):
        return ""
    if not roots or text[: roots[0].start].strip():
        return "a document begins as JSON but cannot be read as such: split as text"
    early = roots[0].ends_early
    return f"JSON ends early, at character {roots[0].end:,}: its end is split as text" * early


def _region(text: str, values: list[Node], bounds: Span) -> Node | None:
    start, end = values[0].start, values[-1].end
    if end - start < SMALLEST and (start, end) != bounds:
        return None
    root = values[0]
    if len(values) > 1:
        root = over(values, kind="rows", whole=SMALLEST)
    else:
        root.whole = min(root.whole, SMALLEST)
    opened = _FENCE.search(text, max(0, start - _ABOVE), start)
    if opened and (closed := _CLOSED.match(text, end)):
        fence, head = stripped(text, *opened.span())
        tail, _ = stripped(text, *closed.span())
        root = Node(fence, head, tail, closed.end(), whole=SMALLEST, children=[root])
    return root if root.children else None


def read(text: str, at: int) -> tuple[Node | None, int]:
    """The value that begins at a place, and its end or where it cannot be read.

    Of a container that cannot be read to its end, there is what was complete; None without any.
    """
    stack: list[Node] = []
    value, at = _read(text, at, stack)
    if value or not stack:
        return value, at
    early = _CUT_OFF.match(text, at)
    last = len(text.rstrip()) if early else 0
    inner: Node | None = None
    for node in reversed(stack):
        complete = node.children[:-1] if inner or early is None else node.children
        if inner and inner.children:
            complete = [*complete, inner]
        node.children = [one for one in complete if one.end <= at or one is inner]
        ends = [one.end for one in node.children]
        node.tail = node.end = last if early else max(ends, default=node.head)
        _finish(node)
        inner = node
    return (stack[0] if stack[0].children else None), at


def _read(text: str, at: int, stack: list[Node]) -> tuple[Node | None, int]:
    expects, key = "value", -1
    while match := _TOKEN.match(text, at):
        kind = match.lastindex or 0
        start, stop = match.span(kind)
        sign = _SIGNS[kind].strip() or text[stop - 1]
        if sign not in _ALLOWED[expects] or (kind == 7 and not _LITERAL.fullmatch(match[7])):
            return None, start
        opened = text[stack[-1].head - 1] if stack else ""
        if (kind == 4 and sign != _CLOSES[opened]) or (sign == "k" and opened == "["):
            return None, start
        at = match.end()
        if kind == 6:
            expects = "value" if sign != "," else f"{_PARTS[stack[-1].kind]}?"
        elif sign == "k" or (expects.startswith("key") and kind == 1):
            key, expects = start, "value" if sign == "k" else "colon"
            stack[-1].kind = "object"
        elif kind == 3:
            kind_of = "object" if sign == "{" else "array"
            node = Node(start if key < 0 else key, at, at, at, kind_of)
            if expects == "key?":
                stack[-1].kind = "array"
            stack.append(_below(stack, node))
            key, expects = -1, f"{_PARTS[kind_of]}?"
        else:
            if kind == 4:
                node = stack.pop()
                node.tail, node.end = start, at
                _finish(node)
            else:
                quotes = int(kind == 1)
                whole = Node(start if key < 0 else key, start + quotes, at - quotes, at)
                node, key = _below(stack, whole), -1
            if not stack:
                return node, at
            expects = "comma"
    return None, at


def _below(stack: list[Node], node: Node) -> Node:
    """The node, as a part of the container at hand."""
    if 0 < len(stack) <= DEEPEST:
        stack[-1].children.append(node)
    return node


def _finish(node: Node) -> None:
    """Say where a container may be cut."""
    nested = any(child.kind in ("array", "object") for child in node.children)
    most = SMALLEST if node.kind == "array" else _RECORD
    node.whole, node.merge = most if nested else ALWAYS, MERGED
    if node.kind == "object" and len(node.children) > 1:
        name_first(node.children)
