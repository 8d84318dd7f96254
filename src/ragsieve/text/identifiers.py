"""Identifiers that a question names: a net of sentences hardly tells them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ragsieve.structure.headings import headings
from ragsieve.types import Segment

_NAME = re.compile(r"\w+(?:[-._:/]\w+)*")
_IDENTIFIER = re.compile(r"\d|\w\w[._:/]\w\w")
_LIKE, _TOLD = 0.5, 0.05  # shares of the best score from which an identifier decides
_WORD = 4  # letters of the word before a number
_FEW = 2  # segments that have it, or a tenth of all
_ALIKE = 3  # heads that differ in their identifiers alone
_SHOWN = 300  # characters of a title or heading in which it is searched


def exact_first(question: str, ranked: Sequence[Segment]) -> list[Segment]:
    """Segments, the best first, of which those with an identifier of the question go first.

    It is a word of letters and digits or with a sign inside, ``E011`` or ``max_rows``, or a number
    with the word before it, ``hall 212``, if that has four letters, that stands in a segment, its
    title or the headings above it, and in few others. They go before others that score at most
    twice as much; and behind the best one alone, if that scores at most twenty times as much, where
    headings differ by it, "Hall 211" and "Hall 212". What only repeats the question does not.
    """
    from ragsieve.text import repeats  # loads splitters of sentences

    asked = _names(question)
    best = ranked[0].score if ranked and ranked[0].scores else 0.0
    if not asked or best <= 0:
        return [*ranked]
    heads = {s.key: _heads(s) for s in ranked}
    held = {s.key: asked & _names(f"{heads[s.key]}\n{s.text}") for s in ranked}
    often = Counter(word for words in held.values() for word in words)
    rare = {word for word, count in often.items() if count <= max(_FEW, len(ranked) // 10)}
    kinds = Counter(map(_kind, {*heads.values()}))

    def place(segment: Segment) -> int:
        words, head = held[segment.key] & rare, heads[segment.key]
        share = segment.score / best if segment.scores else 0.0
        told = words & _names(head) and kinds[_kind(head)] >= _ALIKE
        if words and share >= (_TOLD if told else _LIKE) and not repeats(segment.text, question):
            return 0 if share >= _LIKE else 2
        return 1 if segment is ranked[0] else 3

    return sorted(ranked, key=place)


def _names(text: str) -> set[str]:
    """The identifiers in a text, in small letters."""
    words = [word.casefold() for word in _NAME.findall(text)]
    named = {f"{a} {b}" for a, b in pairwise(words) if b.isdecimal() and len(a) >= _WORD}
    return named | {w for w in words if _IDENTIFIER.search(w) and not w.isdecimal()}


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
