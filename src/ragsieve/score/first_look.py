"""What a model reads of long inputs: the question's rarer words, odd lines, beginnings.

A word counts by ``log(1 + windows / windows with it)``, as in BM25; a window by its words and those
of its best segment. That a line is unlike its neighbours, or begins a document, counts as a word.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ragsieve.structure.linearize import content_words, words
from ragsieve.structure.odd import odd_keys
from ragsieve.trace import warn
from ragsieve.types import Query, Segment

_WINDOW = 1000  # characters


def first_look(query: Query, segments: Sequence[Segment], most: int) -> Sequence[Segment]:
    """Segments of the best windows, of together ``most`` characters; one window at least.

    All where they are no longer. Else the trace warns of how many windows are not read.
    """
    if sum(len(s.text) for s in segments) <= most:
        return segments
    asked, odd = content_words(query.text), odd_keys(query.text, segments)
    said: list[set[str]] = []  # words of each segment
    windows: list[list[int]] = []  # places of segments
    room, document = 0, None
    for n, segment in enumerate(segments):
        begins = segment.document.id != document
        if begins or room < len(segment.text):
            windows.append([])
            room, document = _WINDOW, segment.document.id
        windows[-1].append(n)
        room -= len(segment.text)
        marks = {mark for mark, has in (("\n", segment.key in odd), ("\f", begins)) if has}
        said.append(asked & words(segment.text) | marks)
    found = [set[str]().union(*(said[n] for n in window)) for window in windows]
    often = Counter(word for some in found for word in some)
    weights = {word: math.log(1 + len(windows) / number) for word, number in often.items()}

    def value(place: int) -> float:
        best = max(math.fsum(map(weights.__getitem__, said[n])) for n in windows[place])
        return best + math.fsum(map(weights.__getitem__, found[place]))

    read: set[int] = set()
    for number, place in enumerate(sorted(range(len(windows)), key=value, reverse=True)):
        most -= sum(len(segments[n].text) for n in windows[place])
        if most < 0 and read:
            left = f"{len(windows) - number} of {len(windows)} windows are not read"
            warn(f"first_look: {left}, and keep_answer is not promised")
            break
        read |= {*windows[place]}
    return [segments[n] for n in sorted(read)]
