"""HTML pages to documents."""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from bm25s.stopwords import STOPWORDS_EN_PLUS

from ragsieve.errors import InputError
from ragsieve.pipeline import as_documents
from ragsieve.retrieve.markdown import to_markdown
from ragsieve.text import normalise, safe, stemmed, words
from ragsieve.trace import log_event
from ragsieve.types import Document, Query, Segment

OffTopic = Literal["drop", "last"]

_SHINGLE = 5  # words
_SIGNS = re.compile(r"[%‰°$€£¥±]|[-+<>=](?=\d)")  # which make another figure of a number
_STOP_WORDS = frozenset(STOPWORDS_EN_PLUS)


def page_text(html: str, *, name: str = "page", timeout_s: float = 10.0) -> tuple[str, str]:
    """Title and Markdown of an HTML page, menus and scripts left out; nothing is run or fetched.

    Either may be empty; control characters become U+FFFD.

    Args:
        html: The page.
        name: What an error calls it.
        timeout_s: Seconds until it is given up, finite and over 0.

    Raises:
        InputError: If the page cannot be read in that time, or nests so deep that text of it would
            be lost.
    """
    title, text = to_markdown(safe(html), name=name, timeout_s=timeout_s)
    return safe(title), safe(text)


class _LeftOut(NamedTuple):
    """A page that became no document, and why."""

    place: int
    url: str
    reason: str


class _Page(NamedTuple):
    """What a caller gave, in one form."""

    place: int
    html: str
    id: str
    title: str
    url: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Pages:
    """A source over HTML pages in hand: clean Markdown, in the order of the pages.

    Empty pages, pages that cannot be read, and those that say what one before them says are left
    out; so are off-topic ones: those that share no word with the question but stop words, unless no
    page does (a plural is its singular). The trace tells which and why. Pages are read when `read`
    is called, or else when the first question comes.

    A document's metadata say which page it was: ``url``, ``place`` in the list from 0, and
    ``sha256`` of the HTML in UTF-8, beside what the caller says of it.

    Args:
        pages: Mappings with ``html``, and where known ``id``, ``url``, ``title`` (else the page's
            own) and whatever else goes into the metadata; or documents whose text is HTML.
        off_topic: ``"drop"``, or ``"last"``: behind all others.
        max_overlap: Pages that share more of their runs of five words than this are duplicates
            (Jaccard index, 0 to 1); at 1, only those of equal words are.
        max_chars: Length of a page's HTML; longer ones are left out.
        timeout_s: Seconds in which a page is read or left out.

    Raises:
        InputError: If a page has no HTML, or an option breaks its rule.
    """

    pages: Sequence[Document | Mapping[str, Any]] = field(repr=False)
    off_topic: OffTopic = field(default="drop", kw_only=True)
    max_overlap: float = field(default=0.9, kw_only=True)
    max_chars: int = field(default=10_000_000, kw_only=True)
    timeout_s: float = field(default=10.0, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.pages, str | Mapping | Document):
            raise InputError(f"pages must be a list, got one {type(self.pages).__name__}")
        object.__setattr__(self, "pages", tuple(self.pages))
        list(self._given())
        if self.off_topic not in get_args(OffTopic):
            raise InputError(f"off_topic must be 'drop' or 'last', got {self.off_topic!r}")
        if not 0 <= self.max_overlap <= 1:
            raise InputError(f"max_overlap must be from 0 to 1, got {self.max_overlap!r}")
        if self.max_chars < 1:
            raise InputError(f"max_chars must be at least 1, got {self.max_chars!r}")
        if not 0 < self.timeout_s < math.inf:
            raise InputError(f"timeout_s must be finite and over 0, got {self.timeout_s!r}")

    def read(self) -> None:
        """Read the pages now, so that this takes none of a question's time."""
        _ = self._stems

    def __call__(self, query: Query, /) -> list[Segment]:
        documents, left_out = self._read
        for page in left_out:
            _tell(page)
        asked = {stemmed(word) for word in words(query.text) if word not in _STOP_WORDS}
        about = [d for d in documents if asked & self._stems[d.id]]
        others = [d for d in documents if not asked & self._stems[d.id]] if about else []
        for document in others:
            done = "put last" if self.off_topic == "last" else "left out"
            reason = f"{done}: it shares no word with the question but stop words"
            _tell(_LeftOut(document.metadata["place"], document.source, reason))
        kept = [*(about or documents), *(others if self.off_topic == "last" else [])]
        return [Segment.whole(document) for document in kept]

    def _given(self) -> Iterator[_Page]:
        for place, page in enumerate(self.pages):
            if isinstance(page, Document):
                known = (page.text, page.id, page.title, page.source, dict(page.metadata))
                yield _Page(place, *known)
            elif isinstance(page, Mapping) and isinstance(page.get("html"), str):
                own = ("html", "text", "id", "title", "url")
                rest = {key: value for key, value in page.items() if key not in own}
                url, title = str(page.get("url") or ""), safe(str(page.get("title") or ""))
                name = page.get("id")
                id_ = url or f"page {place}" if name in (None, "") else str(name)
                yield _Page(place, page["html"], id_, title, url, rest)
            else:
                raise InputError(f"a page must have html, got {page!r:.80} at place {place}")

    @cached_property
    def _stems(self) -> Mapping[str, frozenset[str]]:
        """The words of each document and its title, by its id."""
        documents, _ = self._read
        return {d.id: frozenset(stemmed(f"{d.title} {d.text}").split()) for d in documents}

    @cached_property
    def _read(self) -> tuple[tuple[Document, ...], tuple[_LeftOut, ...]]:
        """Documents of the pages that say something new, and the other pages."""
        made: list[dict[str, Any]] = []
        left_out: list[_LeftOut] = []
        seen: list[tuple[int, str, frozenset[int]]] = []
        for page in self._given():
            try:
                title, text = self._converted(page)
                said = normalise(_SIGNS.sub(lambda sign: f" x{ord(sign[0])} ", text))
                shingles = _shingles(said)
                if before := self._repeated(said, shingles, seen):
                    raise InputError(before)
            except InputError as error:
                left_out.append(_LeftOut(page.place, page.url, f"left out: {error}"))
                continue
            seen.append((page.place, said, shingles))
            digest = hashlib.sha256(page.html.encode("utf-8", "surrogatepass")).hexdigest()
            traced = {"url": page.url, "place": page.place, "sha256": digest}
            made.append(
                {
                    "id": page.id,
                    "text": text,
                    "title": page.title or title,
                    "source": page.url,
                    "metadata": {**page.metadata, **traced},
                }
            )
        return as_documents(made), tuple(left_out)

    def _converted(self, page: _Page) -> tuple[str, str]:
        if len(page.html) > self.max_chars:
            long = f"its HTML has {len(page.html)} characters"
            raise InputError(f"{long}, more than max_chars={self.max_chars}")
        title, text = page_text(page.html, timeout_s=self.timeout_s)
        if not words(text):
            raise InputError("it has no text")
        return title, text

    def _repeated(
        self, said: str, shingles: frozenset[int], seen: Sequence[tuple[int, str, frozenset[int]]]
    ) -> str:
        """Which page before says the same, and how much of it; empty where none does."""
        for place, before, others in seen:
            if said == before:
                return f"it has the same words as page {place}"
            small, large = sorted((len(shingles), len(others)))
            if small <= self.max_overlap * large:
                continue
            shared = len(shingles & others)
            overlap = shared / (small + large - shared)
            if overlap > self.max_overlap:
                return f"it shares {overlap:.2f} of its text with page {place}"
        return ""


def _shingles(said: str) -> frozenset[int]:
    """Runs of five words, as 32-bit numbers; none where there are fewer words."""
    found = words(said)
    runs = zip(*(found[i:] for i in range(_SHINGLE)), strict=False)
    return frozenset(zlib.crc32(" ".join(run).encode("utf-8", "replace")) for run in runs)


def _tell(page: _LeftOut) -> None:
    name = f"page {page.place}" + (f" ({safe(page.url)[:200]})" if page.url else "")
    facts = {"place": page.place, "url": page.url, "reason": page.reason}
    log_event(f"{name} is {page.reason}", "page", **facts)
