"""Tags of HTML and XML as elements, read in one pass; what is not closed ends where it must."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from ragsieve.structure.tree import stripped
from ragsieve.types import Span

TAG = re.compile(
    r"<(?:!--.*?(?:-->|\Z)|!\[CDATA\[.*?(?:\]\]>|\Z)|[!?][^<>]*+>"
    r"|(/?)([A-Za-z][\w:.-]*+)((?:[^\"'<>]++|\"[^\"]*+\"|'[^']*+')*+)>)",
    re.DOTALL,
)
_DEEPEST = 50  # levels of elements that have nodes of their own
_FEWEST = 3  # elements of a text with tags
_SPACE = 500  # characters before a tag in which white space is looked for
_MANY = 8  # elements of one that does not end


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_INLINE = _names(
    "a abbr acronym b bdi bdo big button cite code data del dfn em font i ins kbd label mark nobr "
    "optgroup option output picture q rb rp rt ruby s samp select small span strike strong sub sup "
    "textarea time tt u var"
)
VOID = _names("area base br col embed hr img input link meta source track wbr")
RAW = _names("script style svg math")
DIVIDES = _names(
    "html head body div main section article header footer nav aside center form fieldset figure "
    "tbody thead tfoot hgroup span"
)
GROUPS = _names("tbody thead tfoot")
BLOCKS = DIVIDES - {"span"} | _names(
    "address blockquote caption colgroup dd details dialog dl dt figcaption h1 h2 h3 h4 h5 h6 "
    "iframe legend li menu noscript ol p pre script style summary table td th title tr ul"
)
_CELLS = _names("td th p")
_ENDS = {  # what an opened element closes
    **dict.fromkeys(BLOCKS, _names("p")),
    "li": _names("li p"),
    **dict.fromkeys(["dt", "dd"], _names("dt dd p")),
    **dict.fromkeys(["td", "th"], _CELLS),
    "tr": _CELLS | {"tr"},
    **dict.fromkeys(GROUPS, _CELLS | GROUPS | {"tr", "caption", "colgroup"}),
    "option": _names("option"),
}
_OPEN = _names("p li dt dd td th tr tbody thead tfoot option colgroup html body head")


@dataclass(slots=True)
class Element:
    """An element: ``text[start:end]``, of which ``text[head:tail]`` stands between its tags."""

    name: str
    start: int
    head: int
    block: bool  # whether it is a block, or has one inside
    tail: int = -1
    end: int = -1
    parts: list[Element] = field(default_factory=list)


def untagged(text: str, start: int, end: int) -> list[Span]:
    """What stands there between tags, without white space around it."""
    tags = [(start, start), *(tag.span() for tag in TAG.finditer(text, start, end)), (end, end)]
    return [stripped(text, a, b) for (_, a), (b, _) in pairwise(tags) if text[a:b].strip()]


class Reader:
    """Reads elements from a place on, to the first text outside of them."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.root = Element("", start, start, True)
        self.stack = [self.root]
        self.opened: Counter[str] = Counter()
        self.elements = 0
        self.unclosed = ""
        self.stop = start
        skip = start
        for tag in TAG.finditer(text, start):
            if tag.start() < skip:
                continue
            if len(self.stack) == 1 and (tag[1] or text[self.stop : tag.start()].strip()):
                break
            self.stop = skip = tag.end()
            name = (tag[2] or "").lower()
            if name and tag[1]:
                self._closed(name, *tag.span())
            elif name:
                skip = self._opens(name, tag)
                self.stop = max(self.stop, skip)
        end = len(text.rstrip()) if len(self.stack) > 1 else self.stop
        self.stop = end
        for one in self.stack:
            self.unclosed = self.unclosed or ("" if one.name in _OPEN else one.name)
            one.tail = one.end = end

    def _opens(self, name: str, tag: re.Match[str]) -> int:
        """One past what is read."""
        implied = _ENDS.get(name, frozenset())
        if self.stack[-1].name in implied:
            first = max(self.stack[-1].head, tag.start() - _SPACE)
            last = first + len(self.text[first : tag.start()].rstrip())
            while self.stack[-1].name in implied:
                self._pop(last, last)
        one = Element(name, *tag.span(), name not in _INLINE and name not in VOID)
        if len(self.stack) <= _DEEPEST:
            self.stack[-1].parts.append(one)
        self.elements += 1
        if name in VOID or tag[3].endswith("/"):
            one.tail = one.end = tag.end()
            one.block = one.block and name not in BLOCKS
        elif name in RAW:
            closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.text, tag.end())
            one.tail, one.end = closing.span() if closing else (len(self.text.rstrip()),) * 2
        else:
            self.stack.append(one)
            self.opened[name] += 1
            return tag.end()
        self.stack[-1].block |= one.block
        return one.end

    def _closed(self, name: str, start: int, end: int) -> None:
        if self.opened[name]:
            while self.stack[-1].name != name:
                self._pop(start, start)
            self._pop(start, end)

    def _pop(self, tail: int, end: int) -> None:
        one = self.stack.pop()
        self.opened[one.name] -= 1
        one.tail, one.end = tail, end
        self.stack[-1].block |= one.block

    def has_some(self) -> bool:
        """Whether it has as many elements as a text with tags."""
        return self.elements >= _FEWEST

    def is_page(self) -> bool:
        """Whether what does not end is no prose that names a tag."""
        first = not self.text[: self.root.start].strip()
        rows = self.root.parts[0].name == "table" if self.root.parts else False
        return self.elements >= (_FEWEST if rows else _MANY) and (first or rows)

    def is_xml(self) -> bool:
        """Whether all is closed, and no prose that is wrapped in tags."""
        inner = re.search(r"\n[ \t]*\n[ \t]*[^<\s]", self.text)
        return not self.unclosed and self.has_some() and not inner
