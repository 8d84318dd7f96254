"""Drop what another document says in the same words."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ragsieve.select.base import Selector
from ragsieve.structure.headings import headings
from ragsieve.system import best_first
from ragsieve.types import Document, Key, Query, Segment

WITHIN = 8  # words from which what one document says twice is a copy
CUT = 5  # words that a chunk's first or last sentence shares with the whole one, at least
_COMPARED = 16  # segments of the same words, each in another context
_TYPOGRAPHY = str.maketrans("‐‑‒–—‘’“”„", '-----\'\'"""')
_EMPHASIS = re.compile(r"(?<!\S)[*_`]+(?=\w)|(?<=\w)[*_`]+(?![^\s.,;:!?])")
_LONG = 5  # letters of words whose case says nothing: of units it does
_STOPS, _CLOSING = tuple(".!?。！？"), " \"')]}*_’”»"
_REFERS = re.compile(
    r"\W*(?:(?:it|its|this|that|these|those|they|their|them|he|she|his|her|him|here|there|then|such"
    r"|both|otherwise|instead|however|but|so|yes|no|er|sie|es|dies\w*|il|elle|ils|elles|ce|cela|él"
    r"|ella|ello|est[aeo]s?)\b|the (?:same|latter|former)\b|[他她它这那])",
    re.IGNORECASE,
)

_INK = re.compile(r"\S")
_ROW, _CELLS = re.compile(r"^\|.*", re.MULTILINE), re.compile(r"[ \t]*\|[ \t]*")
_HEADS = re.compile(r"(?:[ \t]*#{1,6}[ \t][^\n]*\n\s*)+")
_UNDERLINE = re.compile(r"\n[=-]+\s*$")
_ALIGNED = re.compile(r"[ \t]+\S|(?!\|)[^\n]*?\S(?:  |\t)[ \t]*\S")
# rules, bullets
_MARKS = re.compile(r"^(?:(?=[^\n]*[-=]{3})[|:+=_ \t-]++$|[-*+•][ \t]+)", re.MULTILINE)

_Words = tuple[str, ...]


@dataclass(frozen=True)
class Copies(Selector):
    """Of segments that say the same in the same words keep the best one; the order stays.

    White space, line breaks without an indented line, rules of tables, bullets, the case of longer
    words, typographic quotes and dashes, emphasis and the full stop make no difference; every other
    sign does. So the same page as Markdown, HTML or Word is kept once. Where titles or headings
    differ, the same words say something else, and so they do behind "it" or "this" where the
    sentences before differ: all of those stay. So does what one document says twice in few words.
    Documents with the same title and the same source, one of them known, are chunks of one page. Of
    those the first sentence, if it begins in lower case, and the last one, if it has no full stop,
    are cut by the chunk: they are copies of the whole one; and a chunk without headings may stand
    below those of another. Best is the higher score, then the earlier place. The trace names each
    copy, and where what is kept stands.
    """

    def verdicts(self, query: Query, segments: Sequence[Segment]) -> list[str]:
        said = {s.key: _words(s.text[_headed(s.text) :]) for s in segments}
        kept, same = _Kept(said), dict[Key, str]()
        for segment in best_first(segments):
            if original := kept.original(segment):
                name, start, end = original.key
                same[segment.key] = f"a copy of {start}:{end} of document {name!r}"
            else:
                kept.add(segment)
        return [same.get(s.key, "") for s in segments]


class _Kept:
    """Segments by their words, the best of each first."""

    def __init__(self, words: dict[Key, _Words]) -> None:
        self.words = words
        # the words of the segment before each
        self.before = {b: words[a] for a, b in pairwise(sorted(words)) if a[0] == b[0]}
        self.known: dict[tuple[object, ...], list[Segment]] = {}

    def add(self, segment: Segment) -> None:
        """Keep it."""
        words, page = self.words[segment.key], _page(segment.document)
        for kind in (("all", words), ("begins", words[:CUT], page), ("ends", words[-CUT:], page)):
            self.known.setdefault(kind, []).append(segment)

    def original(self, segment: Segment) -> Segment | None:
        """What it is a copy of."""
        words = self.words[segment.key]
        candidates = [*self.known.get(("all", words), ())[:_COMPARED]] if words else []
        if len(words) >= CUT and "\n" not in segment.text:
            text = segment.document.text
            stopped = segment.text.rstrip(_CLOSING).endswith(_STOPS)
            if not stopped and not _INK.search(text, segment.end):
                candidates += self._longer("begins", words[:CUT], segment)
            first = segment.key not in self.before and not _INK.search(text, 0, segment.start)
            if first and segment.text.lstrip()[0].islower():
                candidates += self._longer("ends", words[-CUT:], segment)
        return next((one for one in candidates if self._says(segment, one)), None)

    def _longer(self, kind: str, key: _Words, segment: Segment) -> list[Segment]:
        words = self.words[segment.key]
        at = slice(len(words)) if kind == "begins" else slice(-len(words), None)
        found = self.known.get((kind, key, _page(segment.document)), ())[:_COMPARED]
        return [s for s in found if self.words[s.key][at] == words]

    def _says(self, one: Segment, other: Segment) -> bool:
        """Whether the same words say the same in both places."""
        if one.key == other.key:
            return False
        if one.document.id == other.document.id and len(self.words[one.key]) < WITHIN:
            return False
        if _REFERS.match(one.text) and self.before.get(one.key) != self.before.get(other.key):
            return False
        above, others = self._context(one), self._context(other)
        a, b = one.document, other.document
        chunks = a.id != b.id and _page(a) == _page(b)
        least = bool(a.title.strip())  # the title is above all of a page
        return above == others or (chunks and least in (len(above), len(others)))

    def _context(self, segment: Segment) -> tuple[_Words, ...]:
        """What stands above it: the title of its document, the headings there, each once.

        Of those only the beginning of long ones.
        """
        text, start = segment.document.text, segment.start + _headed(segment.text)
        above = (one.text for one in headings(text, start) if one.start < start)
        shown = (_UNDERLINE.sub("", one[:500]) for one in (segment.document.title, *above))
        lines = (_words(one.lstrip("# \t")) for one in shown)
        return tuple(name for name, _ in groupby(filter(None, lines)))


def _page(document: Document) -> tuple[str, ...]:
    """What chunks of one page share: title and source; a document with neither is its own page."""
    title, source = document.title[:500].strip(), str(document.source or "")[:500]
    return (title, source) if title or source else (document.id,)


def _headed(text: str) -> int:
    """Where what its first headings stand above begins; 0 where that is nothing."""
    found = _HEADS.match(text)
    return found.end() if found and found.end() < len(text) else 0


def _words(text: str) -> _Words:
    """What is compared: words and signs of prose, tables and lists.

    Lines as they stand of what has one that is indented, as code, or has wide gaps, as columns.
    """
    text = text.strip()
    lines = text.split("\n")
    if len(lines) > 1 and any(map(_ALIGNED.match, lines)):
        return tuple(line.rstrip() for line in lines)
    text = _ROW.sub(lambda row: _CELLS.sub(" | ", row[0]), text)
    plain = unicodedata.normalize("NFC", _MARKS.sub("", text)).translate(_TYPOGRAPHY)
    words = _EMPHASIS.sub("", plain).rstrip(".!。… ").split()
    return tuple(w.casefold() if not n or len(w) >= _LONG else w for n, w in enumerate(words))
