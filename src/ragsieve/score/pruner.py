"""Probabilities of a sentence pruner, one for each sentence."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import ClassVar, Self

import numpy as np

from ragsieve.errors import ModelError
from ragsieve.models.base import PASSAGE, Passage, SentencePruner
from ragsieve.pipeline import Cuts
from ragsieve.schema import Count, Options
from ragsieve.score.base import Scorer, Scores
from ragsieve.structure import is_plain, margined, pieces
from ragsieve.structure.linearize import LEAST, content_words, linearized, shares, words
from ragsieve.structure.margins import piece_at
from ragsieve.structure.odd import odd_keys
from ragsieve.trace import note, set_answerable, warn
from ragsieve.types import Key, Query, Segment, Span, in_order

_LONG = 500_000  # characters, about half a minute
_WINDOW = 1000  # characters of a first look
SAMPLED = 20_000  # characters from which on lines that are alike are sampled
_MAY_ANSWER = 0.2  # of a template, of whose sample one gets as much

_Rating = tuple[dict[Key, tuple[float, float]], dict[str, float]]
"""Probability and share of the rarer words of each span; probability of each document."""


@dataclass(frozen=True)
class Pruner(Options, Scorer):
    """Probability that a segment is evidence, in [0, 1], read in its document.

    The model reads the segments of each document in their order there, whatever order they come
    in; a span that comes twice is read once. Before its own score, ``pruner``, a segment gets
    ``passage``, the probability that its document answers; the trace records the highest one.

    Of a table the model reads each row as ``column: value; …``. Of JSON it reads each value without
    brackets and quotes, behind what names its records. Rows, records and entries beside each other
    are compared by the question's rarer words: one that has fewer of these than the best keeps that
    share of its probability, and at least 0.4 of it. The trace says of how many this is true. Lines
    that the question names by a number in their margin get 1. Of long texts it reads some lines of
    each template first (`ragsieve.score.samples`), and the others where one of these gets 0.2; else
    they get the lowest probability of these.

    Args:
        model: Reads a question with passages.
        first_look: Characters that it reads at most: of longer inputs those windows that a first
            look picks (`first_look`); what is not read gets 0.

    Raises:
        InputError: If ``first_look`` is not positive.
        ModelError: If the model fails, or does not give a probability for every segment.

    Source: The extractor of FineFilter (arXiv 2502.11811v4), section 4.1, as the one pass of
        Provence (arXiv 2501.16214).
    Differs: No token is generated: each sentence gets a probability, for a threshold behind it.
    """

    model: SentencePruner
    first_look: Count | None = None
    name: ClassVar[str] = "pruner"

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """See `ragsieve.pipeline.Cutting`."""
        if cuts.first_look is None:
            return self, cuts
        return replace(self, first_look=cuts.first_look), cuts._replace(first_look=None)

    def scores(self, query: Query, segments: Sequence[Segment]) -> Scores:
        """Probabilities, ``(len(segments),)``."""
        return np.array([s.score for s in self(query, segments)], np.float32)

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        if not segments:
            return []
        most = self.first_look
        read = first_look(query, segments, most) if most else segments
        needed, answers = self._sampled(query, read)
        set_answerable(max(answers.values()))
        if less := sum(share < 1 for _, share in needed.values()):
            note(f"rows that share fewer of the question's rarer words and count less: {less}")
        scored = []
        for segment in segments:
            value, _ = needed.get(segment.key, (0.0, 1.0))
            answered = segment.scored(PASSAGE, answers.get(segment.document.id, 0.0))
            scored.append(answered.scored(self.name, float(np.float32(value))))
        return scored

    def rated(self, query: Query, parts: Sequence[Segment], /) -> list[float]:
        """Probabilities of a document's parts, read as its only text."""
        needed, _ = self._read(query, parts, small=True)
        return [needed[part.key][0] for part in parts]

    def _sampled(self, query: Query, segments: Sequence[Segment]) -> _Rating:
        """As `_read`, of long texts a few of lines that are alike, all where one may answer."""
        if sum(s.end - s.start for s in segments) < SAMPLED:
            return self._read(query, segments)
        from ragsieve.score.samples import SAMPLE, templates  # not before a text is long

        named = {key for some, _ in in_order(segments) for key in _asked(query.text, some)}
        alike = templates(query, segments, named)
        left = {n for template in alike for n in template.others}
        needed, answers = self._read(query, [s for n, s in enumerate(segments) if n not in left])
        for sample, others in alike:
            values = [needed[segments[n].key][0] for n in sample]
            if max(values) < _MAY_ANSWER:
                left -= {*others}
                needed |= dict.fromkeys((segments[n].key for n in others), (min(values), 1.0))
        if unread := sum(len(template.others) for template in alike) - len(left):
            note(f"{unread} segments get the lowest score of {SAMPLE} that they are like")
        if left:
            more, later = self._read(query, [segments[n] for n in sorted(left)])
            needed |= more
            answers |= {name: max(value, answers[name]) for name, value in later.items()}
        return needed, answers

    def _read(self, query: Query, segments: Sequence[Segment], *, small: bool = False) -> _Rating:
        """Rates what the model reads."""
        if (size := sum(s.end - s.start for s in segments)) > _LONG:
            warn(f"{size:,} characters are read, which takes long; first_look bounds them")
        every = {s.key: s for s in segments}.values()
        ranked = sorted(every, key=attrgetter("document.rank"))  # equal ranks stay
        documents = [ordered for ordered, _ in in_order(ranked)]
        passages, telling = list[Passage](), list[float]()
        for some in documents:
            plain = is_plain(some[0].document.text)
            said = [s.text for s in some] if plain else list[str]()
            telling += [1.0] * len(said)
            for text, spans in () if plain else _parts(some):
                said += linearized(text, spans, small=small)
                telling += shares(query.text, text, spans, small=small)
            passages.append(Passage(some[0].document.title, said))
        (pruned,) = self.model.prune([query.text], [passages])
        counts = (len(telling), pruned.sentences), (len(passages), pruned.passages)
        for expected, values in counts:
            if len(values) != expected or not all(0 <= value <= 1 for value in values):
                rule = f"must give {expected} probabilities, got {values!r:.100}"
                raise ModelError(f"{self.model.identity} {rule}")
        told = zip(pruned.sentences, telling, strict=True)
        needed, answers = dict[Key, tuple[float, float]](), dict[str, float]()
        for some, answer in zip(documents, pruned.passages, strict=True):
            for segment, (value, share) in zip(some, told, strict=False):
                needed[segment.key] = value * (LEAST + (1 - LEAST) * share), share
            named = [*_asked(query.text, some)]
            needed |= dict.fromkeys(named, (1.0, 1.0))
            answers[some[0].document.id] = 1.0 if named else answer
        return needed, answers


def _parts(segments: Sequence[Segment]) -> Iterator[tuple[str, list[Span]]]:
    """What is read apart of a document's text, without margins, and the segments' places in it."""
    parts = pieces(segments[0].document.text)
    for part, some in groupby(segments, lambda s: piece_at(parts, s.start)):
        yield part.text, [(part.off(s.start), part.off(s.end)) for s in some]


def _asked(question: str, segments: Sequence[Segment]) -> Iterator[Key]:
    """Segments of a document with a line that the question names by its number."""
    for part in margined(segments[0].document.text):
        for start, end in part.asked(question) if part.numbers else ():
            yield from (s.key for s in segments if s.start < end and start < s.end)


def first_look(query: Query, segments: Sequence[Segment], most: int) -> Sequence[Segment]:
    """Segments of the best windows, of together ``most`` characters; one window at least.

    A word of the question counts by ``log(1 + windows / windows with it)``, as in BM25; a window by
    its words and those of its best segment. That a line is unlike its neighbours, or begins a
    document, counts as a word.
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
