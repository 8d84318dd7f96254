"""Which parts of a segment answer best, where a budget cuts it."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from statistics import fmean
from typing import NamedTuple

from ragsieve.structure import joined, parts_of
from ragsieve.structure.linearize import content_words
from ragsieve.structure.linearize import words as names
from ragsieve.structure.notes import behind
from ragsieve.structure.odd import last_line, odd_keys
from ragsieve.structure.parts import holds, parts
from ragsieve.structure.tree import JSON
from ragsieve.types import Key, Segment, of_documents, rounded

_ALSO = 0.5  # share of the best part's words from which others come before other segments
_ALSO_RATED = 0.2  # the same where parts are rated
_FIRST = 0.1  # share of the best step's rating from which steps are read from the first
_WORDLESS = 0.25  # share of its rating that a part keeps which has none of the question's words
_PROBABLE = 0.5  # score from which on a document's segments go by their scores alone
_PART = 3  # letters of a word that may be a part of another
_MANY = 300  # parts from which on they are ranked without their heads
_BARE = re.compile(r"</?[A-Za-z][\w:.-]*\s*/?>")  # a tag without attributes
_LABEL = re.compile(r"[\W_]*\w[^\n:=]{0,40}[:=]")
_WHICH = re.compile(r"\bwhich\b", re.IGNORECASE)
_ANSWERED = re.compile(r"[?？؟]\W+\w+\W+\w")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_TELLS = re.compile(r"\w|[^\x00-\x7f]")

WELL = 0.3
"""Score from which on a segment is what was asked for, whatever else is odd or fits better."""

Rate = Callable[[Sequence[Segment]], Sequence[float] | None]
"""Probabilities that parts of a segment, all of them in order, are evidence; None where unknown."""


class Ranked(NamedTuple):
    """Parts of a segment, those that answer best first.

    Args:
        parts: What may answer.
        said: What the question says itself, such as the name of what it asks about.
        ordered: Whether the parts are steps from the first.
    """

    parts: Sequence[Segment]
    said: Sequence[Segment] = ()
    ordered: bool = False


def ranked_parts(
    question: str, heads: Sequence[Segment], some: Sequence[Segment], order: str, rate: Rate | None
) -> Ranked:
    """The parts that answer best, best first: by their rating and by the question's words.

    A part has the words of what is shown with it, and one without words is left out. Steps stay in
    order, from the first, where this one answers about as well as any; and all do where nothing
    tells them apart. What the question says itself is apart.
    """
    if not some:  # a blank text
        return Ranked(some)
    rated = _rated(heads, some, rate) if rate else None
    values = rated or [1.0] * len(some)
    if order == "code" or (order and values[0] >= _FIRST * max(values)):
        return Ranked(some, ordered=True)
    shared = _shared(question, some)
    values = _weighed(values, shared) if rated else shared
    telling: list[tuple[float, Segment]] = []
    said: list[Segment] = []
    for value, one in zip(values, some, strict=True):
        bare = _BARE.sub("", one.text)
        if _is_said(one.document.text, bare, question):
            said.append(one)
        elif _TELLS.search(bare):
            telling.append((value, one))
    if not telling:
        return Ranked(said)
    places = _odd_first(question, some)
    least = max(value for value, _ in telling) * (_ALSO_RATED if rated else _ALSO)
    ranked = sorted(telling, key=lambda one: (places.get(one[1].key, False), -one[0]))
    kept = (one for value, one in ranked if value >= least or not places.get(one.key, True))
    return Ranked([*kept], said)


def _is_said(text: str, part: str, question: str) -> bool:
    """Whether the question says all of a part, or the value of a field that others have, too."""
    from ragsieve.text import adds_nothing  # loads splitters of sentences

    label = _LABEL.match(part)
    if label and adds_nothing(part[label.end() :], _WHICH.sub("what", question)):
        return text.count(label[0]) > 1  # else it may be what is asked for
    return adds_nothing(part, question)


def _rated(heads: Sequence[Segment], some: Sequence[Segment], rate: Rate) -> list[float] | None:
    """The rating of each part; of an item that holds others, that any line of it is evidence."""
    inside: list[list[Segment]] = []
    for one in some:
        text, start, end = one.document.text, one.start, one.end
        head, body, kind = parts_of(text, start, end)
        if kind not in JSON:
            head, body, _ = parts(text, start, end) if holds(text, start, end) else ([], [], "")
        spans = [*head, *body] or [(start, end)]
        inside.append([Segment(one.document, a, b, one.scores) for a, b in spans])
    if not (rated := rate([*heads, *chain.from_iterable(inside)])):
        return None
    left = iter(rated)
    values = [[*islice(left, len(each))] for each in [heads, *inside]]
    return [1 - math.prod(1 - value for value in each) for each in values[1:]]


def ranked_segments(question: str, ranked: Sequence[Segment]) -> list[Segment]:
    """Each segment once, best first: by its score and by the question's rarer words.

    A scorer gives items of a list, rows and what differs in an identifier nearly the same score.
    Where nothing of a document scores well, rare words count beside the score. Odd lines of the
    best one's document, and what has most of the question's rarer words, come before lines that
    are like all others; what adds nothing to the question comes last. A note comes right behind
    what it is on.
    """
    from ragsieve.text import adds_nothing  # loads splitters of sentences

    ranked = [*{s.key: s for s in ranked}.values()]
    scored = [s for s in ranked if s.scores and s.score >= 0]
    shared = _shared(question, scored)
    rated = {s.key: s.score for s in scored}
    for some in of_documents(scored).values():
        if max(s.score for s in some) < _PROBABLE:
            rated |= zip((s.key for s in some), _telling(some), strict=True)
    values = _weighed([rated[s.key] for s in scored], shared)
    best = iter(sorted(zip(values, scored, strict=True), key=lambda one: -rounded(one[0])))
    own = {s.key for s in scored}
    placed = [next(best)[1] if s.key in own else s for s in ranked]
    first = [s for s in placed if s.document.id == placed[0].document.id]
    places = _odd_first(question, first)
    placed.sort(key=lambda s: places.get(s.key, bool(places)))
    return behind(sorted(placed, key=lambda s: adds_nothing(s.text, question)))


def _telling(some: Sequence[Segment]) -> list[float]:
    """Scores of a document's segments, whose odds grow with how rare their words are in it."""
    own = [{_DIGITS.sub("0", word) for word in _WORD.findall(s.text.lower())} for s in some]
    often = Counter(word for each in own for word in each)
    logs = [[math.log(1 + len(some) / often[word]) for word in each] or [0.0] for each in own]
    rare = [*map(fmean, logs)]
    usual = fmean(rare)
    gains = (math.exp(one - usual) for one in rare)
    return [s.score * g / (1 - s.score + s.score * g) for s, g in zip(some, gains, strict=True)]


def _odd_first(question: str, some: Sequence[Segment]) -> Mapping[Key, bool]:
    """Whether each comes behind what is odd; empty where nothing is, or where one scores well.

    What has most of the words of the question's last line does not, unless half of all do.
    """
    well = any(s.scores and s.score >= WELL for s in some)
    if well or not (odd := odd_keys(question, some)):
        return {}
    shared = _shared(last_line(question), some)
    apart = 2 * sum(share >= 1 for share in shared) <= len(shared)
    own = zip(some, shared, strict=True)
    return {s.key: s.key not in odd and not (apart and share >= 1) for s, share in own}


def _weighed(values: Sequence[float], shared: Sequence[float]) -> list[float]:
    """Ratings, less where a part has fewer of the question's words than another."""
    shares = (_WORDLESS + (1 - _WORDLESS) * share for share in shared)
    return [value * share for value, share in zip(values, shares, strict=True)]


def _shared(question: str, some: Sequence[Segment]) -> list[float]:
    """How much of the question's rarer words each has in its title and what is shown of it.

    A word counts where it begins or ends a longer one, as vpn in openvpn. The most is 1; what only
    repeats the question, without two words behind it, has none. Of many parts their own words
    count, since what is shown of each takes time by the whole text.
    """
    from ragsieve.text import repeats  # loads splitters of sentences

    asked, found = _words(question), []
    parts = {w for w in content_words(question) & asked if len(w) >= _PART and w.isalpha()}
    for one in some:
        text = one.document.text
        shown = one.text if len(some) > _MANY else joined(text, [(one.start, one.end)])
        told = repeats(one.text, question) and not _ANSWERED.search(one.text)
        own = _words(f"{one.document.title}\n{shown}")
        held = {w for w in parts - own if any(one.startswith(w) or one.endswith(w) for one in own)}
        found.append(set() if told else held | (asked & own))
    often = Counter(word for each in found for word in each)
    values = [math.fsum(math.log(1 + len(some) / often[word]) for word in each) for each in found]
    best = max(values, default=0.0) or 1.0
    return [value / best for value in values]


def _words(text: str) -> set[str]:
    """Words of a text without the plural's s, and its names of several parts."""
    from ragsieve.text import stemmed, words  # loads splitters of sentences

    return {*words(stemmed(text))} | names(text)
