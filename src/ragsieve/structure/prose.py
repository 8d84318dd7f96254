"""Lines of a text → blocks: lists, tables, code, records, chats; and the prose between them."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ragsieve.types import Span

SHOWN = 300  # characters of a line that are looked at: patterns stay linear
LEAD = 200  # characters of a line that may introduce what follows without a colon
_TITLE = 80  # characters of a line that may be a heading without a mark
_BETWEEN = 12  # lines that may stand between two numbered steps
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]|[ \t]*(?:[-=*_]{3,}|(?:[-*_][ \t]+){2,}[-*_])[ \t]*$")
_NUMBER = r"(?:\d{1,3}|[A-Za-z]|[ivx]{2,4})"
_ITEM = re.compile(rf"[ \t]*(?:[-*+•‣◦▪●·–]|\(?({_NUMBER})[.)]|:)[ \t]+\S")
_CLAUSE = re.compile(r"[ \t]*\d{1,2}((?:\.\d{1,2}){1,4})\.?[ \t]+[^\W\d_]")
_NOTE = re.compile(r"\[\^[^\s\]]{1,30}\]:[ \t]")
_QUESTION = re.compile(
    r"(?:\*\*|#{1,6} )?Q(?:uestion)?[ ]?\d{0,3}[.:)](?:\*\*)?[ \t]", re.IGNORECASE
)
_ANSWER = re.compile(r"(?:\*\*)?A(?:nswer)?[ ]?\d{0,3}[.:)](?:\*\*)?[ \t]", re.IGNORECASE)
_CODE = re.compile(r"[{}();=<>$\\|&]|--|^\s*[#%>$@]|\w[./]\w+[(/]")
ENDS = re.compile(r"[.!?…:;。！？؟।۔]\W{0,3}$")
_ASK = ("?", "？", "؟")
_SENTENCE = re.compile(r"[^\W\d][.!?…] ")

_BLANK = re.compile(r"(?:[^\S\n]*+\n)++")


class _Line(NamedTuple):
    start: int
    end: int  # with its line break
    kind: str
    text: str  # its first characters


class Block(NamedTuple):
    """Lines that belong together, and the spans between which they may be cut."""

    kind: str
    items: list[Span]


def blocks(text: str) -> Iterator[Block]:
    """The text's blocks in order, which leave out nothing but blank lines."""
    lines = _lines(text)
    if len(lines) == 1 and lines[0].kind == "text" and not _indent(lines[0]):
        yield Block("prose", [(0, len(text))])
        return
    closing = _closing_fences(lines)
    place, begun = 0, -1  # the line that begins the prose at hand
    while place < len(lines):
        read = _MarkdownReader(lines, closing, place)
        if block := read.block():
            if begun >= 0:
                yield Block("prose", [(lines[begun].start, lines[place].start)])
            yield block
            place, begun = read.place, -1
        else:
            if begun < 0 and lines[place].kind != "blank":
                begun = place
            place += 1
    if begun >= 0:
        yield Block("prose", [(lines[begun].start, len(text))])


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        if len(lines) > 1 and lines[-1].kind == lines[-2].kind == "blank":
            run = _BLANK.match(text, start)  # millions of them cost as much as one
            end = run.end() if run else end
        shown = text[start : min(end, start + SHOWN)].rstrip("\r\n")
        lines.append(_Line(start, end, _kind(shown), shown))
        start = end
    return lines


def _kind(line: str) -> str:
    stripped = line.strip()
    if not stripped:
        return "blank"
    if stripped.startswith(("|", "{|", "! ")) or stripped.count(" | ") > 1 or "\t" in stripped:
        return "row"
    for kind, pattern in _KINDS:
        if pattern.match(line if kind == "heading" else stripped):
            return kind
    return "text"


_KINDS = (
    ("fence", _FENCE),
    ("heading", _HEADING),
    ("question", _QUESTION),
    ("item", _ITEM),
    ("clause", _CLAUSE),
    ("note", _NOTE),
)


def _closing_fences(lines: Sequence[_Line]) -> dict[int, int]:
    """The line that ends each fence; one that is not closed is text."""
    closed: dict[int, int] = {}
    opened, marks = -1, ""
    for place, line in enumerate(lines):
        match = _FENCE.match(line.text) if line.kind == "fence" else None
        if match and opened < 0:
            opened, marks = place, match[1]
        elif match and not match[2] and match[1].startswith(marks):
            closed[opened] = place
            opened = -1
    return closed


class _MarkdownReader:
    """Reads the block that begins at a line, if it is one; then ``place`` is the line behind it."""

    def __init__(self, lines: Sequence[_Line], closing: dict[int, int], place: int) -> None:
        self.lines, self.closing, self.place = lines, closing, place
        self.first = lines[place]
        self.before = lines[place - 1] if place else None

    def block(self) -> Block | None:
        """The block, None for prose and blank lines."""
        if self.first.kind == "blank":
            return None
        if self.place in self.closing:
            return self._block("code", range(self.place, self.closing[self.place] + 1))
        if self.first.kind != "item" and (code := self._indented()):
            return code
        reader = _READERS.get(self.first.kind)
        return (reader(self) if reader else None) or self._title()

    def _block(self, kind: str, begins: Sequence[int], after: int = 0) -> Block:
        """A block whose items begin at some lines, before ``after`` and blank lines above it."""
        self.place = after or begins[-1] + 1
        while self.lines[self.place - 1].kind == "blank":
            self.place -= 1
        spans = pairwise([*begins, self.place])
        return Block(kind, [(self.lines[a].start, self.lines[b - 1].end) for a, b in spans])

    def _kind(self, place: int) -> str:
        return self.lines[place].kind if place < len(self.lines) else "end"

    def _run(self, place: int, belongs: Callable[[_Line], bool]) -> int:
        """The first line from ``place`` on that does not belong."""
        while place < len(self.lines) and belongs(self.lines[place]):
            place += 1
        return place

    def _table(self) -> Block | None:
        after = self._run(self.place, lambda line: line.kind == "row")
        rows = range(self.place, after)
        if len(rows) == 1 and not re.fullmatch(r"\s*\|.*\|\s*", self.first.text):
            return None
        ruled = len(rows) > 1 and not re.search(r"\w", self.lines[rows[1]].text)
        return self._block("table", [rows[0], *rows[2 + ruled :]], after)

    def _notes(self) -> Block:
        """Footnotes, each one item."""
        begins: list[int] = []
        place = self.place
        while self._kind(place) == "note":
            begins.append(place)
            place = self._run(place + 1, lambda one: one.kind not in ("note", "blank", "heading"))
        return self._block("notes", begins, place)

    def _indented(self) -> Block | None:
        """An indented block that looks like code, with its blank lines."""
        if not _indent(self.first) or (self.before and self.before.kind != "blank"):
            return None
        after = self._run(self.place, _indent)
        paragraph = self.lines[self.place : after]
        if 2 * sum(bool(_CODE.search(line.text)) for line in paragraph) < len(paragraph):
            return None
        while after < len(self.lines):
            further = self._run(after, lambda line: line.kind == "blank")
            if further == len(self.lines) or not _indent(self.lines[further]):
                break
            after = self._run(further, _indent)
        return self._block("code", range(self.place, after))

    def _faq(self) -> Block | None:
        """A question with its answer, both marked as such; where lines follow lines, one line."""
        place, answered = self.place + 1, False
        tight = bool(self.before and ENDS.search(self.before.text))
        while place < len(self.lines) and self.lines[place].kind not in ("question", "heading"):
            apart = tight or self.lines[place - 1].kind == "blank"
            if _ANSWER.match(self.lines[place].text.lstrip()):
                answered = True
            elif apart if answered else place - self.place > _BETWEEN:
                break
            place += 1
        return self._block("faq", [self.place], place) if answered else None

    def _list(self) -> Block | None:
        label = _label(self.first)
        if label.isalpha() and label.lower() not in ("a", "i"):
            return None
        below = self._run(self.place + 1, lambda line: line.kind == "blank")
        if self._kind(below) == "clause" and self._text(below).lstrip().startswith(f"{label}."):
            return self._block("heading", [self.place])
        base = _margin(self.first)
        begins, place, inside = [self.place], self.place + 1, False
        while place < len(self.lines):
            after = self._continued(place, begins[-1])
            if after == place:
                break
            line = self.lines[place]
            if line.kind == "item" and _margin(line) <= base + 1:
                other = _label(line)
                same = (bool(other), other.isdecimal()) == (bool(label), label.isdecimal())
                inside = not same and (inside or self._is_led(place))
                if not (same or inside):
                    break  # another list
                begins += [place] * same
            place = after
        led = self.first.text.lstrip().startswith(":") or self._is_led(begins[0])
        return self._block("list", begins, place) if len(begins) > 1 or led else None

    def _clauses(self) -> Block | None:
        """Clauses below the one that leads to them, ``5.2.1`` and on below ``5.2 …:``."""
        if not self._is_led(self.place):
            return None
        depth, begins, place = _depth(self.first), [self.place], self.place + 1
        while place < len(self.lines):
            line, before = self.lines[place], self.lines[place - 1]
            if line.kind == "clause" and _depth(line) <= depth:
                if _depth(line) < depth:
                    break
                begins.append(place)
            elif before.kind == "blank" and line.kind not in ("clause", "item", "blank"):
                break
            place += 1
        return self._block("list", begins, place)

    def _is_led(self, place: int) -> bool:
        """Whether the last line before a place that is not blank ends with a colon."""
        above = "".join(one.text for one in self.lines[max(0, place - 4) : place])
        return above.rstrip().endswith((":", "："))

    def _continued(self, place: int, item: int) -> int:
        """The line behind ``place`` and what belongs to the same list; ``place`` where it ends."""
        line, before = self.lines[place], self.lines[place - 1]
        if place in self.closing and (before.kind != "blank" or line.text[:1].isspace()):
            return self.closing[place] + 1
        if line.kind == "item":
            return place + 1
        if line.kind == "blank":
            further = self._run(place, lambda one: one.kind == "blank")
            if further - place < 3 and further < len(self.lines):
                following = self.lines[further]
                if following.kind == "item" or _margin(following) > 1:
                    return further
            return self._next_step(place, item)
        if before.kind == "blank":
            return place + 1 if _margin(line) > 1 else self._next_step(place, item)
        if line.kind == "heading":
            return place
        defined = self._text(place + 1).lstrip().startswith((": ", ":\t"))
        leads = defined or line.text.rstrip().endswith((":", "："))
        first = line.text[:1]
        new = (leads or ENDS.search(before.text)) and not first.isspace() and not first.islower()
        return self._next_step(place, item) if new else place + 1

    def _next_step(self, place: int, item: int) -> int:
        """Place of the number after an item's number, if not far behind; else ``place``."""
        label = _label(self.lines[item])
        if not label.isdecimal() or self.lines[item].text.rstrip().endswith("?"):
            return place
        for further in range(place, min(place + _BETWEEN, len(self.lines))):
            line = self.lines[further]
            number = _label(line) if line.kind == "item" else ""
            if line.kind == "heading" or (number.isdecimal() and int(number) <= int(label)):
                break
            if number == str(int(label) + 1):
                return further
        return place

    def _title(self) -> Block | None:
        """A line that heads what follows: underlined, alone, in bold, or a question."""
        place, below = self.place, self._text(self.place + 1).rstrip()
        if self.first.kind == "text" and re.match(r"[ ]{0,3}(?:=+|-{3,})$", below):
            return self._block("heading", [place], place + 2)
        after = self._run(place + 1, lambda line: line.kind == "blank")
        heads = self._alone(place) and after < len(self.lines) and _heads(self.first)
        heads = heads and not (_heads(self.lines[after]) and self._alone(after))
        begins = not self.before or self.before.kind in ("blank", "heading")
        if self._kind(place + 1) == "text" and not below.endswith(_ASK):  # it may answer
            ends = begins or bool(self.before and ENDS.search(self.before.text))
            heads = heads or (ends and _asks(self.first) and _heads(self.first))
        bold = re.match(r"\s*(\*\*|__)[^*_]{1,200}\1:?\s*$", self.first.text)
        leads = heads or (bold and begins and self._kind(place + 1) != "end")
        return self._block("heading", [place]) if leads else None

    def _alone(self, place: int) -> bool:
        """Whether no other line of prose is beside it."""
        before = self._kind(place - 1) if place else "blank"
        return before in ("blank", "heading") and self._kind(place + 1) in ("blank", "end")

    def _text(self, place: int) -> str:
        return self.lines[place].text if place < len(self.lines) else ""


_READERS: dict[str, Callable[[_MarkdownReader], Block | None]] = {
    "heading": lambda one: one._block("heading", [one.place]),
    "row": _MarkdownReader._table,
    "question": _MarkdownReader._faq,
    "item": _MarkdownReader._list,
    "note": _MarkdownReader._notes,
    "clause": _MarkdownReader._clauses,
}


def _depth(line: _Line) -> int:
    """Numbers of a clause's label but the first."""
    label = _CLAUSE.match(line.text)
    return label[1].count(".") if label else 0


def _indent(line: _Line) -> bool:
    return line.kind != "blank" and line.text.startswith(("    ", "\t"))


def _margin(line: _Line) -> int:
    """Columns before its first character."""
    shown = line.text.expandtabs(4)
    return len(shown) - len(shown.lstrip())


def _label(line: _Line) -> str:
    """The number or letter of a list item; empty for a bullet."""
    match = _ITEM.match(line.text.strip())
    return (match and match[1]) or ""


def _asks(line: _Line) -> bool:
    return line.text.rstrip(" \t*_").endswith(_ASK)


def _heads(line: _Line) -> bool:
    """Whether a line that stands alone reads like a heading: short, no full stop, or a question."""
    stripped = line.text.strip(" \t*_")
    if _asks(line):
        return len(stripped) <= LEAD and not _SENTENCE.search(stripped)
    opens = stripped[:1].isalnum() and not stripped[:1].islower()  # a letter without case, too
    prose = ENDS.search(stripped) or stripped.endswith(",") or " | " in stripped
    marked = line.kind == "item" and not _label(line).isdecimal()
    return opens and len(stripped) <= _TITLE and not prose and not marked
