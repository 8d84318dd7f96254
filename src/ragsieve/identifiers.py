"""Identifiers that a question names: a net of sentences hardly tells them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ragsieve.structure.headings import headings
from ragsieve.types import Segment

_NAME = re.compile(r"\w+(?:[-._:/]\w+)*")
_IDENTIFIER = re.compile(r"\d|\w[-._:/]\w")
_LIKE, _TOLD = 0.5, 0.05  # shares of the best score from which an identifier decides
_FEW = 2  # segments that have it, or a tenth of all
_ALIKE = 3  # heads that differ in their identifiers alone
_SHOWN = 300  # characters of a title or heading in which it is searched


def exact_first(question: str, ranked: Sequence[Segment]) -> list[Segment]:
    """Segments, the best first, of which those with an identifier of the question go first.

    It is a word with a digit or of several parts, ``212``, ``E011`` or ``max.rows``, that stands in
    a segment, its title or the headings above it, and in few others. They go before others that
    score at most twice as much; before those that score at most twenty times as much where heads
    tell them apart by it alone, "Hall 211" and "Hall 212". What only repeats the question does not.
    """
    from ragsieve.text import repeats  # loads splitters of sentences

    asked = {word for word in _names(question) if _IDENTIFIER.search(word)}
    if not asked or not ranked or not ranked[0].scores:
        return [*ranked]
    heads = {s.key: _heads(s) for s in ranked}
    held = {s.key: asked & _names(f"{heads[s.key]}\n{s.text}") for s in ranked}
    often = Counter(word for words in held.values() for word in words)
    rare = {word for word, count in often.items() if count <= max(_FEW, len(ranked) // 10)}
    kinds = Counter(map(_kind, {*heads.values()}))

    def goes_first(segment: Segment) -> bool:
        words, head = held[segment.key] & rare, heads[segment.key]
        told = words & _names(head) and kinds[_kind(head)] >= _ALIKE
        near = segment.score >= (_TOLD if told else _LIKE) * ranked[0].score
        return bool(words) and near and not repeats(segment.text, question)

    return sorted(ranked, key=lambda s: not goes_first(s))


def _names(text: str) -> set[str]:
    return {*map(str.casefold, _NAME.findall(text))}


def _kind(head: str) -> str:
    """What it has in common with others of other identifiers."""
    return " ".join("#" if _IDENTIFIER.search(word) else word for word in _NAME.findall(head))


def _heads(segment: Segment) -> str:
    """The title and headings above a segment, its own first line among them where it has others."""
    text, start = segment.document.text, segment.start
    lines = [segment.document.title, *(one.text for one in headings(text, start))]
    first, _, rest = segment.text.strip().partition("\n")
    lines += [first] if rest and first != lines[-1].strip() else []
    return "\n".join(line[:_SHOWN] for line in lines)
