"""Which parts of a segment answer best, where a budget cuts it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from ragsieve.formats import joined
from ragsieve.types import Segment

_ALSO = 0.5  # share of the best part's words from which others come before other segments
_ALSO_RATED = 0.2  # the same where parts are rated
_FIRST = 0.1  # share of the best step's rating from which steps are read from the first
_WORDLESS = 0.4  # share of its rating that a part keeps which has none of the question's words

Rate = Callable[[Sequence[Segment]], Sequence[float] | None]
"""Probabilities that parts of a segment, all of them in order, are evidence; None where unknown."""


def ranked_parts(
    question: str,
    heads: Sequence[Segment],
    some: Sequence[Segment],
    order: str,
    rate: Rate | None,
) -> tuple[Sequence[Segment], bool]:
    """The parts that answer best, best first: by their rating and by the question's words.

    A part has the words of what is shown with it. Steps stay in order, from the first, where this
    one answers about as well as any; and all do where nothing tells them apart.
    """
    if not some:  # a blank text
        return some, False
    rated = rate([*heads, *some]) if rate else None
    values = rated[len(heads) :] if rated else [1.0] * len(some)
    if order == "code" or (order and values[0] >= _FIRST * max(values)):
        return some, True
    shared = _shared(question, some)
    values = [
        one * (_WORDLESS + (1 - _WORDLESS) * share) if rated else share
        for one, share in zip(values, shared, strict=True)
    ]
    least = (_ALSO_RATED if rated else _ALSO) * max(values)
    ranked = sorted(zip(values, some, strict=True), key=lambda one: -one[0])
    return [one for value, one in ranked if value >= least], False


def _shared(question: str, some: Sequence[Segment]) -> list[float]:
    """How much of the question's rarer words each has in what is shown of it; the most is 1."""
    from ragsieve.text import stemmed, words  # loads splitters of sentences

    asked = {*words(stemmed(question))}
    shown = [joined(s.document.text, [(s.start, s.end)]) for s in some]
    found = [{*words(stemmed(text))} & asked for text in shown]
    often = Counter(word for each in found for word in each)
    values = [math.fsum(math.log(1 + len(some) / often[word]) for word in each) for each in found]
    best = max(values) or 1.0
    return [value / best for value in values]
