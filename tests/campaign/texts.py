"""Hostile texts through every stage, and through the default filter with its real pruner."""

from __future__ import annotations

import copy
import math
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from ragsieve import load
from ragsieve.errors import InputError
from ragsieve.models.fake import OverlapPruner, echo
from ragsieve.pipeline import System
from ragsieve.systems import build
from ragsieve.types import Document, Query, Segment

from ..test_laws import WAYS, stage_of
from .campaign import Kind
from .hostile import HOSTILE
from .laws import check_result, draw_question, draw_text, holds

COSTLY = ("score.Surprisal", "score.CXMI", "score.Likelihood", "score.Helpful", "select.Truncate")
PIECES = ["Seals sang it. ", "x", " ", "\n", "\u202e", "\x00", "\ud800", "<div>", "好。", "- a\n"]
Piece = list[Any]  # [text, times]


def draw(rng: random.Random) -> dict[str, Any]:
    """A stage or the filter, and texts as pieces with how often each is repeated."""
    stage = rng.choice([*WAYS, *["filter"] * 12, "giant"])
    most = 100_000 if stage == "giant" or stage.startswith("split.") else 2_000
    most = 50 if stage in COSTLY or stage == "filter" else most

    def text() -> list[Piece]:
        if stage != "giant" and rng.random() < 0.7:
            return [[draw_text(rng), 1]]
        if rng.random() < 0.3:
            return [[HOSTILE[rng.choice([*HOSTILE])], rng.choice([1, 2])]]
        repeat = lambda: [rng.choice(PIECES), int(10 ** rng.uniform(0, math.log10(most)))]  # noqa: E731
        return [repeat() for _ in range(rng.randrange(4))]

    count = 1 if stage == "giant" else rng.randrange(7)
    texts = [text() for _ in range(count)]
    budget = rng.choice([None, None, 0, 5, 60])
    return {"stage": stage, "question": draw_question(rng), "texts": texts, "max_tokens": budget}


@cache
def default() -> System:
    """The default filter with the pruner of the package; an echo reads."""
    return load("finefilter", echo(context=10**9))


@cache
def overlapping() -> System:
    """The same with a pruner that reads any size at once."""
    return build("finefilter", echo(context=10**9), pruner=OverlapPruner())


def check(value: dict[str, Any], folder: Path) -> int:
    """The laws of stages, or of results."""
    texts = ["".join(piece * times for piece, times in text) for text in value["texts"]]
    if value["stage"] in ("filter", "giant"):
        made = default() if value["stage"] == "filter" else overlapping()
        system = made.with_budget(value["max_tokens"])
        result = system.ask(value["question"], texts)
        check_result(result, system, value["max_tokens"])
        holds("there is an answer", result.answer is not None)
        return 1
    segments = [_segment(n, text) for n, text in enumerate(texts)]
    query, stage = Query(value["question"]), stage_of(value["stage"])
    before = copy.deepcopy(segments)
    try:
        after = stage(query, segments)
    except InputError as error:  # of stages that know the answers of certain questions
        if value["stage"] not in ("score.CXMI", "score.Inclusion", "score.Overlap with an answer"):
            raise
        holds("an error is a line", "\n" not in str(error), error)
        return 1
    holds("no argument changes", segments == before)
    _check_stage(value["stage"].split(".")[0], stage, segments, after)
    return 1


def _segment(n: int, text: str) -> Segment:
    scores = {"relevance": 0.5, "given": 1 / (n + 1)}
    return Segment(Document(f"d{n}", text, text[:20], rank=n), 0, len(text), scores)


def _check_stage(package: str, stage: Any, before: list[Segment], after: list[Segment]) -> None:
    documents = {segment.document.id for segment in before}
    for span in after:
        holds("verbatim", span.document.text[span.start : span.end] == span.text, span)
        holds("of a document that went in", span.document.id in documents, span)
    keys, kept = [s.key for s in before], [s.key for s in after]
    if package == "score":
        holds("a scorer keeps all in order", keys == kept)
        holds("scores are finite", all(math.isfinite(s.score) for s in after), after)
    elif package != "split":
        holds("a selector keeps some", Counter(kept) <= Counter(keys))


TEXTS = Kind("texts", 6_000, 100, draw, check)
