"""Samples of what is alike: of a long text some lines of each template are read first.

No log is known by name. A word is usual in a document if many of its segments have it. Segments
with the same usual words in the same places, half of their words at least, are of one template;
what differs, and what only a few have in a place, is a value.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ragsieve.structure.linearize import content_words, words
from ragsieve.structure.odd import odd_keys
from ragsieve.types import Key, Query, Segment, grouped

SAMPLE = 4  # segments of a template that are read first
_LEAST = 8  # segments that have a usual word, and more of a template
_USUAL = 0.02  # share of a document's segments that have a usual word, at least
_SAVED = 0.25  # share of the characters that must not be read at first, at least
_CHARS = 400  # of a segment that are looked at
_WORD = re.compile(r"[^\s,;|\"'`(){}\[\]<>=]+")


class Template(NamedTuple):
    """Places of segments that are alike.

    Args:
        sample: Those that stand for the others.
        others: Those that need not be read where the sample does not answer.
    """

    sample: Sequence[int]
    others: Sequence[int]


def templates(query: Query, segments: Sequence[Segment], named: Collection[Key]) -> list[Template]:
    """Templates of segments; none where little would be saved.

    What is odd (`ragsieve.structure.odd`) or ``named`` is of no template; nor is what has a word of
    the question that others of its template lack, unless most have one.
    """
    asked = content_words(query.text)
    apart = {*named, *odd_keys(query.text, segments)}
    found = []
    for places in _alike(segments, apart):
        said = [frozenset(asked & words(segments[n].text[:_CHARS])) for n in places]
        usual = Counter(said).most_common(1)[0][0]
        some = [n for n, own in zip(places, said, strict=True) if own <= usual]
        places = some if 2 * len(some) > len(places) else places
        step = len(places) / SAMPLE
        sample = [places[int((n + 0.5) * step)] for n in range(SAMPLE)]
        found.append(Template(sample, [n for n in places if n not in sample]))
    saved = sum(len(segments[n].text) for one in found for n in one.others)
    return found if saved >= _SAVED * sum(len(s.text) for s in segments) else []


def _alike(segments: Sequence[Segment], apart: Collection[Key]) -> Iterable[list[int]]:
    """Places of the segments of each template, in order, without those that stand apart."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    order = sorted(range(len(segments)), key=lambda n: segments[n].start)
    for name, own in grouped(order, lambda n: segments[n].document.id).items():
        said = [_WORD.findall(segments[n].text[:_CHARS]) for n in own]
        often = Counter(word for each in said for word in {*each})
        least = max(_LEAST, _USUAL * len(own))
        for n, each in zip(own, said, strict=True):
            usual = [word if often[word] >= least else "" for word in each]
            usable = each and segments[n].key not in apart
            if usable and 2 * sum(map(bool, usual)) >= len(each):
                found[name, *usual].append(n)
    return (places for places in found.values() if len(places) > _LEAST)
