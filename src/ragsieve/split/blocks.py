"""Blocks: sentences of prose; lists, tables, code and questions with their answers whole."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragsieve.split.sentences import Sentences
from ragsieve.structure import margined, read
from ragsieve.structure.prose import ENDS, LEAD, SHOWN, Block, blocks
from ragsieve.structure.tree import Node, stripped
from ragsieve.structure.units import units
from ragsieve.text import sentence_spans
from ragsieve.trace import note
from ragsieve.types import Span

_SECTION = re.compile(r"\d+[.)] [^\n]{1,60}(?<![.:;,])")  # a number and a title
_TITLED = re.compile(rf"{_SECTION.pattern}\n[^\sa-z]")  # the same with text below
_APART = re.compile(r"\n[ \t\r]*\n")
_DEEPEST = 3  # lists inside each other whose items are read like texts
_PARAGRAPHS = 120  # characters that the items of a list have on average which is cut like prose
_MARK = re.compile(r"[ \t]*(?:[-*+•|>#]|\d+[.)][ \t])")  # at which `sentence_spans` ends a line
_INTRODUCES = re.compile(r"[:：]\W{0,4}$|\b(?:following|as follows|below)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"§ ?\d[\d.]* [^.!?]{1,60}\.|[A-Z]\d{1,2}\.")  # no sentence alone
_CAPTION = re.compile(r"\W{0,4}(?:Table|Figure|Listing|Example) ", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Blocks(Sentences):
    """Split prose into sentences, and keep whole what has another form.

    One segment is a list with the line that introduces it, numbered steps, a code block, a table
    with header and caption, a question with its short answer, the fields of a record or a mail's
    header; and each entry of a log, each turn of a chat, each footnote, if it has at most 300
    characters. A heading goes with what follows it, also in one line. Markdown and plain text
    alike, also as converted from HTML or PDF: a line break inside a sentence ends none.

    JSON, configuration, longer tables, HTML, XML, and code without a fence are cut by records,
    entries, rows, elements and statements; see `ragsieve.structure`. What of these cannot be
    read is split as text, with a note in the trace.

    Longer lists and code are cut between items or lines, longer tables into rows; the
    first piece has the lead-in or header. What is only white space yields nothing.

    Args:
        language: ISO 639-1 code of the prose, None for that of each document.
        max_chars: Characters of a segment; longer structures are cut between their items, longer
            sentences at white space; at least 1.

    Raises:
        InputError: If ``max_chars`` is below 1 or ``language`` is empty.
    """

    def _spans(self, text: str, code: str) -> list[Span]:
        if not (parts := margined(text)):
            return self._own(text, code)
        return [part.span(*one) for part in parts for one in self._own(part.text, code)]

    def _own(self, text: str, code: str) -> list[Span]:
        made = _Units(text, code, self.max_chars)
        start = 0
        roots, faults, _ = read(text)
        if faults:
            note("; ".join(faults))
        for root in roots:
            made.add_text(start, root.start)
            made.add_tree(root)
            start = root.end
        made.add_text(start, len(text))
        return made.finish()


class _Units:
    """The segments of a text, made block by block."""

    def __init__(self, text: str, code: str, max_chars: int) -> None:
        self.text, self.code, self.max_chars = text, code, max_chars
        self.spans: list[Span] = []
        self.head: list[Span] = []  # headings that wait for what follows them
        self.prose = False  # whether the last segment is a sentence
        self.inside = 0  # lists whose items are read like texts

    def add(self, block: Block) -> None:
        """Its segments, with the headings before it or the line that introduces it."""
        if block.kind == "heading":
            self.head += self._trimmed(block.items)
            if self.head and self.head[-1][1] - self.head[0][0] > self.max_chars:
                self.finish()
            return
        head, self.head = self.head, []
        if block.kind == "prose":
            items = self._sentences(*block.items[0])
            asks = head and self.text[slice(*head[-1])].rstrip(" *_#").endswith("?")
            is_question = bool(asks and items)
            answer = self._answer(head[-1][0], items) if is_question else items
            whole = is_question and answer[-1][1] - head[0][0] <= self.max_chars // 2
            if whole and len(answer) < len(items):  # what its first paragraph says
                self.spans += self._joined(head, answer, True, block.kind)
                head, items, whole = [], items[len(answer) :], False
        else:
            items = self._trimmed(block.items)
            apart = block.kind == "notes" or self._are_paragraphs(block.kind, items)
            whole = not apart
            if items and not head and self._introduces(block.kind, items[0][0]):
                head = [self.spans.pop()]
            if apart and block.kind == "list" and self.inside < _DEEPEST:
                self.head = head
                self._add_paragraphs(items)
                return
            if apart:
                items = [part for item in items for part in self._entry(*item)]
        self.spans += self._joined(head, items, bool(whole), block.kind)
        self.prose = block.kind == "prose"

    def _answer(self, question: int, items: list[Span]) -> list[Span]:
        """What is said below a question: the first paragraph.

        Of sentences that have a line each, among which the question stands, too, the first one.
        """
        begun = [self.text.rfind("\n", 0, start) for start in (question, *(a for a, _ in items))]
        lines = zip(begun[1:], items, strict=True)
        alone = not any(self.text[at + 1 : a].strip() for at, (a, _) in lines)
        above = self.text[self.text.rfind("\n", 0, max(0, begun[0])) + 1 : max(0, begun[0])]
        if alone and above.strip():
            return items[:1]
        below = _APART.search(self.text, items[0][0], items[-1][1])
        return [one for one in items if below and one[1] <= below.end()] or items

    def add_text(self, start: int, end: int) -> None:
        """The segments of what has no structure of a format."""
        for kind, items in blocks(self.text[start:end]):
            self.add(Block(kind, [(start + first, start + last) for first, last in items]))

    def add_tree(self, root: Node) -> None:
        """The units of a format's tree; the first one has the headings before it."""
        head, self.head = self.head, []
        self.spans += self._joined(head, units(root, self.text, self.max_chars), False, "tree")
        self.prose = False

    def finish(self) -> list[Span]:
        """All segments, headings that nothing follows among them."""
        self.spans += self._joined(self.head, [], True, "list")
        self.head, self.prose = [], False
        return self.spans

    def _add_paragraphs(self, items: Sequence[Span]) -> None:
        """Items each like a text: what stands below an empty line is read by itself."""
        self.inside += 1
        for start, end in items:
            below = _APART.search(self.text, start, end)
            stop = below.start() if below else end
            if _SECTION.fullmatch(self.text, start, stop):
                self.add(Block("heading", [(start, stop)]))
            else:
                head, self.head = self.head, []
                self.spans += self._joined(head, self._entry(start, stop), False, "list")
                self.prose = True
            self.add_text(stop, end)
        self.inside -= 1

    def _are_paragraphs(self, kind: str, items: Sequence[Span]) -> bool:
        """Whether it is a list of clauses, minutes or sections, each long or below its title."""
        titled = sum(bool(_TITLED.match(self.text, *item)) for item in items)
        long = sum(end - start for start, end in items) > _PARAGRAPHS * len(items)
        return kind == "list" and (long or 2 * titled > len(items))

    def _entry(self, start: int, end: int) -> list[Span]:
        """A turn or a log's entry whole, unless it is as long as a paragraph of prose."""
        return [(start, end)] if end - start <= SHOWN else self._sentences(start, end)

    def _introduces(self, kind: str, start: int) -> bool:
        """Whether the last sentence leads to what begins at ``start``."""
        if not self.prose or kind in ("notes", "faq"):
            return False
        last = self.text[slice(*self.spans[-1])]
        close = self.text.count("\n", self.spans[-1][1], start) < 2
        leads = _INTRODUCES.search(last) or (kind == "table" and _CAPTION.match(last))
        return len(last) <= SHOWN and bool(leads or (close and len(last) <= LEAD))

    def _joined(self, head: list[Span], items: list[Span], whole: bool, kind: str) -> list[Span]:
        """Items joined up to the limit where they belong together, the head with the first."""
        parts = [*head, *items]
        joined = whole and (not parts or parts[-1][1] - parts[0][0] <= self.max_chars)
        merged: list[Span] = []
        for place, (start, end) in enumerate(parts):
            follows = joined or place <= len(head) or (whole and kind in ("list", "code"))
            if place and follows and end - merged[-1][0] <= self.max_chars:
                merged[-1] = (merged[-1][0], end)
            elif end - start <= self.max_chars:
                merged.append((start, end))
            else:
                merged += self._sentences(start, end)
                first, last = merged[-1]
                fits = len(merged) > 1 and last - merged[-2][0] <= self.max_chars
                if kind == "tree" and fits and not re.search(r"\w", self.text[first:last]):
                    merged[-2:] = [(merged[-2][0], last)]  # what closes a text in quotes
        return merged

    def _trimmed(self, spans: Iterable[Span]) -> list[Span]:
        """Without the white space around them, and without those that are nothing else."""
        full = (span for span in spans if not self.text[slice(*span)].isspace())
        return [stripped(self.text, *span) for span in full]

    def _sentences(self, start: int, end: int) -> list[Span]:
        """Sentences, which may go on behind a line break and a mark that begins no list."""
        shown = self.text[start:end]
        shown = _without_false_marks(shown) if "\n" in shown else shown
        joined: list[Span] = []
        for first, last in sentence_spans(shown, language=self.code, max_chars=self.max_chars):
            before, stop = joined[-1] if joined else (0, 0)
            numbered = joined and _NUMBERED.fullmatch(self.text, before, stop)
            if numbered and start + last - before <= self.max_chars:
                joined[-1] = (before, start + last)
            else:
                joined.append((start + first, start + last))
        return joined


def _without_false_marks(text: str) -> str:
    """Of the same length, without line breaks before what looks like a list item but is none."""
    lines = text.split("\n")
    joined = [lines[0]]
    for before, line in pairwise(lines):
        quoted = line.startswith(">") and before.startswith(">") and line[1:].strip()
        goes_on = quoted or (_goes_on(before) and _MARK.match(line[:SHOWN]))
        joined.append((" " if goes_on else "\n") + line)
    return "".join(joined)


def _goes_on(line: str) -> bool:
    """Whether a line of prose ends in mid-sentence."""
    return bool(line.strip()) and not ENDS.search(line[-SHOWN:])
