"""Rank whole documents by what a system kept and dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragsieve.result import Result
from ragsieve.types import Document, Segment


def ranked(result: Result, places: Sequence[int]) -> list[tuple[int, float]]:
    """Documents of a request as places from 0 with relevance in [0, 1], best first.

    A document is worth what its best span is. Those of which something was kept come first, then
    by score, then by the place given. No relevance is over the one before it, so that sorting by
    it keeps the order. Scores in [-1, 1] stand as they are, negative ones as 0; where a system's
    scores leave that range, all go through the logistic function. Where nothing scored a document
    it is worth 1 if it was kept, else 0.

    Args:
        result: The run.
        places: Of each document of the request, its place among those of the result.
    """
    own = {result.documents[place].id: place for place in places}
    kept = _best(result.kept, own)
    dropped = _best([v.segment for v in result.verdicts if v.stage], own)
    values = [v for scores in (kept, dropped) for v in scores.values() if v is not None]
    plain = all(-1 <= value <= 1 for value in values)

    def worth(place: int) -> float:
        value = kept[place] if place in kept else dropped.get(place)
        if value is None:
            return 1.0 if place in kept else 0.0
        return max(0.0, value) if plain else _logistic(value)

    found = [(place not in kept, -worth(place), n) for n, place in enumerate(places)]
    ranking: list[tuple[int, float]] = []
    for _, value, n in sorted(found):
        ranking.append((n, min(-value, ranking[-1][1] if ranking else 1.0)))
    return ranking


def _best(segments: Sequence[Segment], places: dict[str, int]) -> dict[int, float | None]:
    """Each document's best last score, by its place; None where nothing scored it."""
    best: dict[int, float | None] = {}
    for segment in segments:
        value = segment.score if segment.scores else None
        for document in _origins(segment.document):
            if (place := places.get(document.id)) is not None:
                known = best.setdefault(place, value)
                if value is not None and (known is None or value > known):
                    best[place] = value
    return best


def _origins(document: Document) -> list[Document]:
    """The retrieved documents that a text is of: itself, or those that it was written from."""
    if not document.written_by:
        return [document]
    return [one for parent in document.parents for one in _origins(parent.document)]


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value > -700 else 0.0
