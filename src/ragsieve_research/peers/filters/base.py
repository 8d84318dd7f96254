"""Another framework's filter as a stage: what it returns is found in what it was given."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import ClassVar, NamedTuple

from ragsieve.errors import PeerError, RagsieveError, typed_line
from ragsieve.models.base import LLM, Prompt, complete_with_room
from ragsieve.text import safe, sentence_spans
from ragsieve.trace import log_event, record_drop
from ragsieve.types import Query, Segment
from ragsieve_research.models.replies import strip_thinking
from ragsieve_research.systems.written import written

EXTRA = "peers"
REPLY_TOKENS = 256
"""Tokens of a model's reply at most: the default of both frameworks where they have one."""

_LONG = 10_000  # characters from which a text is looked for by sentence only
_TOKEN = re.compile(r"\w+|[^\w\s]")


class PeerInput(NamedTuple):
    """Input of a filter: a segment's title and text."""

    title: str
    text: str


class PeerOutput(NamedTuple):
    """Output of a filter: a text, of the given one at ``place``, and a score if any."""

    place: int
    text: str
    score: float = math.nan


@dataclass(frozen=True)
class Peer(ABC):
    """A filter of another framework, run as its documents say, on our models.

    What it returns is kept as it is returned: the spans where its text stands in the segment it
    is of (but for white space), repeated ones included, and, for what does not stand there, a
    document of its own, marked as written. The trace's story counts, as event ``"peer"``: texts
    ``given`` and ``returned``; of these those with ``invented`` words, with ``repeated`` ones, and
    the ``grown``, longer than what they are of; and all, the invented and the repeated words. Blank
    segments are not given, and nothing is asked about none.

    Raises:
        PeerError: If the filter raises.
        ModelError: If a model fails.
    """

    least: ClassVar[int] = 5
    """Words in a row that must stand in the document, of a sentence that does not; 1 where a filter
    only cuts, and writes nothing."""

    @abstractmethod
    def returned(self, question: str, given: Sequence[PeerInput]) -> Iterable[PeerOutput]:
        """What the framework's filter makes of ``given``; may raise anything."""

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        read = [s for s in segments if safe(s.text).strip()]
        if not read:
            return []
        given = [PeerInput(safe(s.document.title), safe(s.text)) for s in read]
        name = type(self).__name__
        try:
            returned = list(self.returned(safe(query.text), given))
        except RagsieveError:
            raise
        except Exception as error:  # another's code: whatever it raises is its failure
            raise PeerError(f"{name} raised {typed_line(error, 300)}") from error
        parts = [_parts(one.text, given[one.place].text, self.least) for one in returned]
        _count(name, given, returned, parts)
        kept: list[Segment] = []
        for one, found in zip(returned, parts, strict=True):
            for part in found:
                kept += self._kept(read[one.place], part, one.score, (segments, kept))
        return kept

    def _kept(
        self, segment: Segment, part: _Part, score: float, beside: Sequence[Sequence[Segment]]
    ) -> list[Segment]:
        name = type(self).__name__
        if part.start is None:
            record_drop(segment, f"{name}: read for what it wrote")
            return written(part.text, by=name, parents=[segment], beside=[*chain(*beside)])
        start, end = segment.start + part.start, segment.start + part.end
        span = Segment(segment.document, start, end, segment.scores)
        return [span.scored(name, score) if math.isfinite(score) else span]


@dataclass(frozen=True)
class Asking(Peer):
    """A filter that asks an LLM.

    Args:
        llm: What it asks; thoughts in a reply are left out.
    """

    llm: LLM

    def replies(self, prompts: Sequence[Prompt]) -> list[str]:
        """What the LLM says to each prompt."""
        said = complete_with_room(self.llm, prompts, max_tokens=REPLY_TOKENS)
        return [strip_thinking(reply) for reply in said]


class _Part(NamedTuple):
    """A part of a returned text, and its place in the given one, if it stands there."""

    text: str
    start: int | None
    end: int = 0


def _parts(text: str, given: str, least: int) -> list[_Part]:
    """A returned text, cut into what stands in ``given`` and what does not, in order.

    All of it as one, else sentence by sentence, else runs of at least ``least`` words. What has
    no word, such as quotes around a sentence, is left out.
    """
    if text == given:
        return [_Part(text, 0, len(text))]
    if len(text) <= _LONG and (whole := _found(text, given, 0)):
        return [whole]
    parts: list[_Part] = []
    last = 0
    for start, end in sentence_spans(safe(text)):
        sentence = text[start:end]
        if found := _found(sentence, given, last):
            parts.append(found)
            last = found.end
        else:
            parts += _runs(sentence, given, least)
    return [part for part in parts if _words(part.text)]


def _runs(sentence: str, given: str, least: int) -> list[_Part]:
    """A sentence that was not given as such, cut into runs of words that were, and the rest."""
    spans = [match.span() for match in _TOKEN.finditer(sentence)]
    parts: list[_Part] = []
    place = rest = 0
    while place < len(spans):
        run, end = _longest(sentence, spans[place:], given, least)
        if not run:
            place += 1
            continue
        parts += _rest(sentence, spans[rest:place])
        parts.append(run)
        place = rest = place + end
    return parts + _rest(sentence, spans[rest:])


def _rest(sentence: str, spans: Sequence[tuple[int, int]]) -> list[_Part]:
    return [_Part(sentence[spans[0][0] : spans[-1][1]], None)] if spans else []


def _longest(
    sentence: str, spans: Sequence[tuple[int, int]], given: str, least: int
) -> tuple[_Part | None, int]:
    """The longest beginning that was given, of at least ``least`` words, and its tokens."""
    words = list(accumulate(_words(sentence[start:end]) for start, end in spans))
    low, high = bisect_left(words, least), len(spans)  # the last of the least tokens, and all
    best: _Part | None = None
    while low < high:
        middle = (low + high) // 2 if best else low  # most beginnings fail at once
        found = _found(sentence[spans[0][0] : spans[middle][1]], given, 0)
        if found:
            best, low = found, middle + 1
        elif not best:
            return None, 0
        else:
            high = middle
    return best, low


def _found(text: str, given: str, start: int) -> _Part | None:
    """Where whole words stand in ``given``, white space being all alike: first behind ``start``."""
    words = text.split()
    if not words:
        return None
    for begin in (start, 0):  # much faster than the pattern, and mostly enough
        place = given.find(text, begin)
        if place >= 0 and _whole(given, place, place + len(text)):
            return _Part(text, place, place + len(text))
    pattern = re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)")
    match = pattern.search(given)
    return _Part(text, *match.span()) if match else None


def _whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on past either end."""
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    return not re.match(r"\w", before) and not re.match(r"\w", after)


def _words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def _count(
    name: str,
    given: Sequence[PeerInput],
    returned: Sequence[PeerOutput],
    parts: Sequence[Sequence[_Part]],
) -> None:
    seen: set[tuple[int, int, int]] = set()
    invented, repeated = [0] * len(returned), [0] * len(returned)
    for n, (one, found) in enumerate(zip(returned, parts, strict=True)):
        for part in found:
            if part.start is None:
                invented[n] += _words(part.text)
            elif (key := (one.place, part.start, part.end)) in seen:
                repeated[n] += _words(part.text)
            else:
                seen.add(key)
    counts = {
        "given": len(given),
        "returned": len(returned),
        "invented": sum(words > 0 for words in invented),
        "repeated": sum(words > 0 for words in repeated),
        "grown": sum(_words(one.text) > _words(given[one.place].text) for one in returned),
        "words": sum(_words(one.text) for one in returned),
        "invented_words": sum(invented),
        "repeated_words": sum(repeated),
    }
    log_event(f"{name}: " + ", ".join(f"{k} {v}" for k, v in counts.items()), "peer", **counts)
