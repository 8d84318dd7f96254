"""Sentences of a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ragsieve.schema import Count, Options
from ragsieve.text import language, sentence_spans
from ragsieve.types import Query, Segment, Span

Code = Annotated[str, Meta(min_length=1, extra={"rule": "an ISO 639-1 code or None"})]


@dataclass(frozen=True, kw_only=True)
class Sentences(Options):
    """Split segments into sentences, by sentencex's rules for some 300 languages.

    Lists, headings and table rows end at their line's end. What is only white space yields nothing.

    Args:
        language: ISO 639-1 code whose abbreviations count, None for that of each document;
            other scripts' sentence ends do as well.
        max_chars: A longer sentence is cut at white space, in characters; at least 1.

    Raises:
        InputError: If ``max_chars`` is below 1 or ``language`` is empty.

    Source: FineFilter (arXiv 2502.11811v4), section 3: documents are sets of sentences.
    """

    language: Code | None = None
    max_chars: Count = 1000

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        found = []
        for whole in segments:
            spans = self._spans(whole.text, self.language or language(whole.document.text))
            found += [Segment(whole.document, whole.start + a, whole.start + b) for a, b in spans]
        return found

    def _spans(self, text: str, code: str) -> list[Span]:
        return sentence_spans(text, language=code, max_chars=self.max_chars)
