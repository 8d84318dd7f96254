"""Rank whole documents by what a system read in them, and the spans that speak for each."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ragsieve.documents import AnyDocument, Documents, documents_and_places, listed
from ragsieve.models.base import PASSAGE
from ragsieve.result import Result
from ragsieve.spec import load
from ragsieve.system import System
from ragsieve.types import Query, Segment

_TINY = 1e-6  # a raw score is finite
_DIGITS = 6


@dataclass(frozen=True)
class Ranked:
    """A document in its place of a ranking.

    Args:
        index: Its place among those that were given, from 0.
        score: Its relevance in [0, 1].
        document: The document, as it was given.
    """

    index: int
    score: float
    document: AnyDocument


def rank(
    question: str | Query, documents: Documents, *, system: System | None = None
) -> list[Ranked]:
    """All documents, the most relevant first, by the net that comes with ragsieve.

    A document's score is the probability that the question can be answered from it. Where a system
    gives none, or a document is in a language that no installed pruner reads, all have the score of
    their best span instead: see `ranked`. Documents of equal scores stay in their order.

    Args:
        question: The question; not blank.
        documents: Texts, mappings with ``text``, or documents of LangChain, LlamaIndex or Haystack.
        system: Another system in place of ``finefilter``.

    Raises:
        InputError: If the question is blank, or ``documents`` no list of documents.
    """
    documents = listed(documents)
    _, places = documents_and_places(documents)
    result = (system or _default())(question, documents)
    spans = [verdict.segment for verdict in result.verdicts]
    answers = {s.document.id: s.scores[PASSAGE] for s in spans if PASSAGE in s.scores}
    if all(PASSAGE in s.scores for s in spans):  # a blank document has no span
        scores = [answers.get(result.documents[place].id, 0.0) for place in places]
        ranking = sorted(enumerate(scores), key=lambda pair: -pair[1])
    else:
        ranking = ranked(result, places)
    return [Ranked(n, score, documents[n]) for n, score in ranking]


@cache
def _default() -> System:
    return load("finefilter")


def ranked(result: Result, places: Sequence[int]) -> list[tuple[int, float]]:
    """Documents of a request as places from 0 with relevance in [0, 1], best first.

    A document is worth what its best span is, kept or dropped; of two with one score that of which
    something was kept comes first. Where no span of it was scored by what last scored the kept
    ones, it comes behind those of which one was, with no relevance over theirs. Scores in [-1, 1]
    stand as they are, negative ones as 0; where a system's scores leave that range, all go through
    the logistic function. Where nothing scored a document it is worth 1 if it was kept, else 0.

    Args:
        result: The run.
        places: Of each document of the request, its place among those of the result.
    """
    own = {result.documents[place].id: place for place in places}
    dropped = [v.segment for v in result.verdicts if v.stage]
    last = {_scorer(s) for s in result.kept}
    kept, every = _best(result.kept, own), _best([*result.kept, *dropped], own)
    near = _best([*result.kept, *(s for s in dropped if _scorer(s) in last)], own)
    scale = _scale(every.values())
    found = []
    for n, place in enumerate(places):
        worth = scale(near.get(place, every.get(place)), place in kept)
        found.append((place not in near, -worth, place not in kept, n))
    ranking: list[tuple[int, float]] = []
    for _, value, _, n in sorted(found):
        ranking.append((n, min(-value, ranking[-1][1] if ranking else 1.0)))
    return ranking


def relevant_spans(
    result: Result, threshold: float, max_spans: int | None
) -> dict[str, list[dict[str, Any]]]:
    """Spans of each document by its id, kept or not, that score at least ``threshold``; best first.

    Each has ``start``, ``end``, ``score`` and ``text``. Characters are Unicode code points of the
    document's text; scores are on the scale of `ranked`: of the default system the probability that
    the span is needed. A document without such a span is not named.

    Args:
        result: The run.
        threshold: Lowest score, in [0, 1].
        max_spans: Spans of a document at most; all where None.
    """
    verdicts = [v for v in result.verdicts if not v.segment.document.written_by]
    scale = _scale(v.segment.score for v in verdicts if v.segment.scores)
    spans: dict[str, list[dict[str, Any]]] = {}
    for verdict in verdicts:
        one = verdict.segment
        score = round(scale(one.score if one.scores else None, not verdict.stage), _DIGITS)
        if score >= threshold:
            span = {"start": one.start, "end": one.end, "score": score, "text": one.text}
            spans.setdefault(one.document.id, []).append(span)
    best_first = {k: sorted(v, key=lambda span: -span["score"]) for k, v in spans.items()}
    return {name: best[:max_spans] for name, best in best_first.items()}


def raw(relevance: float) -> float:
    """The number of which the logistic function is ``relevance``; finite."""
    inside = min(max(relevance, _TINY), 1 - _TINY)
    return math.log(inside / (1 - inside))


def shortened(text: str, max_tokens: int, count: Callable[[list[str]], list[int]]) -> str:
    """The longest beginning of ``text`` that has at most so many tokens.

    Args:
        text: Any text.
        max_tokens: Tokens at most.
        count: Tokens of each of some texts.
    """
    if len(text.encode("utf-8", "replace")) <= max_tokens:  # a token has a byte or more
        return text
    end = 4 * max_tokens
    while end < len(text) and count([text[:end]])[0] <= max_tokens:
        end *= 2
    if end >= len(text) and count([text])[0] <= max_tokens:
        return text
    ends = range(1, min(end, len(text)))
    return text[: bisect_right(ends, max_tokens, key=lambda n: count([text[:n]])[0])]


def _scale(scores: Iterable[float | None]) -> Callable[[float | None, bool], float]:
    """Of a score of a system, and whether it kept the text: relevance in [0, 1]."""
    plain = all(-1 <= score <= 1 for score in scores if score is not None)

    def relevance(score: float | None, kept: bool) -> float:
        if score is None:
            return 1.0 if kept else 0.0
        return max(0.0, score) if plain else 1 / (1 + math.exp(-max(score, -700.0)))

    return relevance


def _scorer(segment: Segment) -> str:
    """The name of the score given last; empty where there is none."""
    return ["", *segment.scores][-1]


def _best(segments: Sequence[Segment], places: dict[str, int]) -> dict[int, float | None]:
    """Each document's best last score, by its place; None where nothing scored it."""
    best: dict[int, float | None] = {}
    for segment in segments:
        value = segment.score if segment.scores else None
        for document in segment.document.origins():
            place = None if document.written_by else places.get(document.id)
            if place is not None:
                known = best.setdefault(place, value)
                if value is not None and (known is None or value > known):
                    best[place] = value
    return best
