"""Scores lifted to those of segments that need this one to be understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.score.base import Scorer
from ragsieve.types import Query, Segment

Key = tuple[str, int, int]

_PRONOUN = re.compile(
    r"\W{0,3}(?:It|Its|He|His|She|Her|They|Their|This|That|These|Those|Such|Both)\b"
)
_ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\(?(?:\d{1,3}|[a-z])[.)])[ \t]", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Coreference(Scorer):
    """A sentence's score, at least ``share`` of the next one's where that begins with a pronoun.

    What "it" or "they" refers to mostly stands in the sentence before, of the same paragraph;
    several in a row pass the score on. English pronouns.

    Args:
        share: Of the next sentence's score; in [0, 1]. A negative score passes on as it is.

    Raises:
        InputError: If ``share`` is out of range, or a segment has no score yet.
    """

    share: float = 0.8
    name: ClassVar[str] = "coreference"

    def __post_init__(self) -> None:
        _require_share(self.share)

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Lifted scores, ``(len(segments),)``."""
        values, ordered = _by_place(segments)
        for before, after in reversed([*pairwise(ordered)]):
            if _follows(before, after) and _PRONOUN.match(after.text):
                passed = _share(values[after.key], self.share)
                values[before.key] = max(values[before.key], passed)
        return np.array([values[s.key] for s in segments], np.float32)


@dataclass(frozen=True, kw_only=True)
class Lead(Scorer):
    """A piece's score, at least ``share`` of the best later piece's of the same list or table.

    `split.Blocks` cuts what is long; only the first piece has the lead-in or header, and without
    it a row is numbers.

    Args:
        share: Of the best later piece's score; in [0, 1]. A negative score passes on as it is.

    Raises:
        InputError: If ``share`` is out of range, or a segment has no score yet.
    """

    share: float = 1.0
    name: ClassVar[str] = "lead"

    def __post_init__(self) -> None:
        _require_share(self.share)

    def scores(self, query: Query, segments: Sequence[Segment]) -> NDArray[np.float32]:
        """Lifted scores, ``(len(segments),)``."""
        values, ordered = _by_place(segments)
        head: Segment | None = None
        for before, after in pairwise(ordered):
            if not _continues(before, after):
                head = None
                continue
            head = head or before
            passed = _share(after.score, self.share)
            values[head.key] = max(values[head.key], passed)
        return np.array([values[s.key] for s in segments], np.float32)


def _require_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise InputError(f"share must lie in [0, 1], got {share!r}")


def _by_place(
    segments: Sequence[Segment],
) -> tuple[dict[tuple[str, int, int], float], list[Segment]]:
    """The score of each span, and the spans as they stand in their documents."""
    spans = {s.key: s for s in segments}
    return {key: s.score for key, s in spans.items()}, [spans[key] for key in sorted(spans)]


def _share(score: float, share: float) -> float:
    return min(score, share * score)


def _follows(before: Segment, after: Segment) -> bool:
    """Whether only white space is between, and no blank line."""
    if before.document.id != after.document.id or after.start < before.end:
        return False
    between = before.document.text[before.end : after.start]
    return (not between or between.isspace()) and between.count("\n") < 2


def _continues(before: Segment, after: Segment) -> bool:
    """Whether a list or table goes on."""
    return _follows(before, after) and any(
        mark.match(after.text) and mark.search(before.text) for mark in (_ROW, _ITEM)
    )
