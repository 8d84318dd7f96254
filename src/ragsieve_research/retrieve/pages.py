"""HTML pages in hand as a source: those that say something new, on the question's topic."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from ragsieve.documents import as_documents
from ragsieve.errors import InputError
from ragsieve.read.web import page_text
from ragsieve.schema import Seconds, check_options
from ragsieve.text import normalise, safe, stemmed, words
from ragsieve.trace import log_event
from ragsieve.types import Document, Query, Segment

OffTopic = Literal["drop", "last"]

_SIGNS = re.compile(r"[%‰°$€£¥±]|[-–+<>=](?=\d)")  # which make another figure of a number


class _Page(NamedTuple):
    """A page in one form, whatever form it came in."""

    place: int
    html: str
    id: str
    title: str
    url: str
    metadata: Mapping[str, Any]


class _Read(NamedTuple):
    """A page that was read: its document, and the stems of title and text."""

    document: Document
    stems: frozenset[str]


@dataclass(frozen=True)
class Pages:
    """A source over HTML pages in hand: clean Markdown, in the order of the pages.

    Empty pages, pages that cannot be read, and those of the same words as one before them are left
    out; so are off-topic ones: those that share no word with the question but stop words, unless no
    page does (a plural is its singular). The trace tells which and why. Pages are read when `read`
    is called, or else when the first question comes.

    A document's metadata say which page it was: ``url``, ``place`` in the list from 0, and
    ``sha256`` of the HTML in UTF-8, beside what the caller says of it.

    Args:
        pages: Mappings with ``html``, and where known ``id``, ``url``, ``title`` (else the page's
            own) and whatever else goes into the metadata.
        off_topic: ``"drop"``, or ``"last"``: behind all others.
        timeout_s: Seconds in which a page is read or left out.

    Raises:
        InputError: If a page has no HTML, or an option breaks its rule.
    """

    pages: Sequence[Mapping[str, Any]] = field(repr=False)
    off_topic: OffTopic = field(default="drop", kw_only=True)
    timeout_s: Seconds = field(default=10.0, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.pages, str | Mapping):
            raise InputError(f"pages must be a list, got one {type(self.pages).__name__}")
        object.__setattr__(self, "pages", tuple(self.pages))
        list(self._all())
        check_options(self)

    def read(self) -> None:
        """Read the pages now, so that this takes none of a question's time."""
        _ = self._pages

    def __call__(self, query: Query, /) -> list[Segment]:
        pages, left_out = self._pages
        for place, url, reason in left_out:
            _leave_out(place, url, f"left out: {reason}")
        topic = {stemmed(word) for word in words(query.text) if word not in _stop_words()}
        about = [read for read in pages if topic & read.stems]
        others = [read for read in pages if not topic & read.stems] if about else []
        action = "put last" if self.off_topic == "last" else "left out"
        reason = f"{action}: it shares no word with the question but stop words"
        for document, _ in others:
            _leave_out(document.metadata["place"], document.metadata["url"], reason)
        kept = [*(about or pages), *(others if self.off_topic == "last" else [])]
        return [Segment.whole(read.document) for read in kept]

    def _all(self) -> Iterator[_Page]:
        for place, page in enumerate(self.pages):
            if isinstance(page, Mapping) and isinstance(page.get("html"), str):
                own = ("html", "text", "id", "title", "url")
                rest = {key: value for key, value in page.items() if key not in own}
                url, title = str(page.get("url") or ""), safe(str(page.get("title") or ""))
                name = page.get("id")
                id_ = url or f"page {place}" if name in (None, "") else str(name)
                yield _Page(place, page["html"], id_, title, url, rest)
            else:
                raise InputError(f"a page must have html, got {page!r:.80} at place {place}")

    @cached_property
    def _pages(self) -> tuple[list[_Read], list[tuple[int, str, str]]]:
        """Pages that say something new, and place and URL of the others with the reason."""
        converted: list[dict[str, Any]] = []
        left_out: list[tuple[int, str, str]] = []
        seen: dict[str, int] = {}  # place by text
        for page in self._all():
            try:
                title, text = self._converted(page)
                compared = normalise(_SIGNS.sub(lambda sign: f" x{ord(sign[0])} ", text))
                if (first := seen.setdefault(compared, page.place)) != page.place:
                    raise InputError(f"it has the same words as page {first}")
            except InputError as error:
                left_out.append((page.place, page.url, str(error)))
                continue
            digest = hashlib.sha256(page.html.encode("utf-8", "surrogatepass")).hexdigest()
            metadata = {**page.metadata, "url": page.url, "place": page.place, "sha256": digest}
            title = page.title or title
            fields = {"id": page.id, "text": text, "title": title, "source": page.url}
            converted.append({**fields, "metadata": metadata})
        documents = as_documents(converted)
        stems = [frozenset(stemmed(f"{d.title} {d.text}").split()) for d in documents]
        return [*map(_Read, documents, stems)], left_out

    def _converted(self, page: _Page) -> tuple[str, str]:
        title, text = page_text(page.html, timeout_s=self.timeout_s)
        if not words(text):
            raise InputError("it has no text")
        return title, text


def _leave_out(place: int, url: str, reason: str) -> None:
    """Record that a page became no document, or one of the last, and why."""
    name = f"page {place}" + (f" ({safe(url)[:200]})" if url else "")
    log_event(f"{name} is {reason}", "page", place=place, url=url, reason=reason)


@cache
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN_PLUS  # with all of bm25s

    return frozenset(STOPWORDS_EN_PLUS)
