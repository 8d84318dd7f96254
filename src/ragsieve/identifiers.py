"""Identifiers that a question names: a net of sentences hardly tells them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragsieve.formats.headings import headings
from ragsieve.types import Segment

_NAME = re.compile(r"\w+(?:[-._:/]\w+)*")
_LIKE = 0.5  # share of the best score from which an identifier decides
_FEW = 2  # segments that have it, or a tenth of all
_SHOWN = 300  # characters of a title or heading in which it is searched


def exact_first(question: str, ranked: Sequence[Segment]) -> list[Segment]:
    """Segments, the best first, of which those with an identifier of the question go first.

    It is a word with a digit or of several parts, ``212``, ``E011`` or ``max.rows``, that stands in
    a segment, its title or the headings above it, and in few others. They go before others that
    score at most twice as much; what only repeats the question does not.
    """
    from ragsieve.text import repeats  # loads splitters of sentences

    asked = {w for w in _names(question) if re.search(r"\d|\w[-._:/]\w", w)}
    if not asked or not ranked or not ranked[0].scores:
        return [*ranked]
    least = _LIKE * ranked[0].score
    held = {s.key: asked & _names(_with_heads(s)) for s in ranked}
    often = Counter(word for words in held.values() for word in words)
    rare = {word for word, count in often.items() if count <= max(_FEW, len(ranked) // 10)}

    def goes_first(segment: Segment) -> bool:
        holds_one = bool(held[segment.key] & rare) and segment.score >= least
        return holds_one and not repeats(segment.text, question)

    return sorted(ranked, key=lambda s: not goes_first(s))


def _names(text: str) -> set[str]:
    return {*map(str.casefold, _NAME.findall(text))}


def _with_heads(segment: Segment) -> str:
    """A segment with its title and the headings above it."""
    above = (one.text[:_SHOWN] for one in headings(segment.document.text, segment.start))
    return "\n".join((segment.document.title[:_SHOWN], *above, segment.text))
