"""An index searched with questions: gold documents and answers among the first that are found."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from ragsieve.errors import InputError
from ragsieve.evaluate.stats import Difference, Mean, compare, interval
from ragsieve.retrieve.corpus import By, Corpus
from ragsieve.retrieve.index.store import digest_of
from ragsieve.text import contains_answer, normalise
from ragsieve.types import Document, Example, Query, Segment

Measure = Literal["recall", "answer"]
Passage = tuple[str, str]  # title and text

_DEEPER = 4  # times as many chunks are asked for where the first hold too few documents
_YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Way:
    """How well one way of searching does, and how long it takes.

    Args:
        by: The way.
        recall: By K, the mean share of a question's gold documents among the first K documents.
        answer: By K, the share of questions with a gold answer in the first K chunks.
        median_ms: Median time of a search for the largest K's chunks, in milliseconds, with the
            embedding of the question.
    """

    by: By
    recall: Mapping[int, Mean]
    answer: Mapping[int, Mean]
    median_ms: float


@dataclass(frozen=True)
class Retrieval:
    """What `recall` found.

    Args:
        ways: One for each way of searching, in the order given.
        best_single: By measure and K, which of BM25 and dense has the higher mean.
        gains: By measure and K, hybrid minus that one, paired by question.
        questions: Questions in all.
        with_gold: Of these, such with gold documents that the index holds.
        with_answers: Of these, such with a gold answer that is not yes or no.
        gold: Gold documents of all questions.
        absent: Of these, such that the index does not hold.
    """

    ways: tuple[Way, ...]
    best_single: Mapping[tuple[Measure, int], By]
    gains: Mapping[tuple[Measure, int], Difference]
    questions: int
    with_gold: int
    with_answers: int
    gold: int
    absent: int

    def counted(self) -> str:
        """One line on what was measured."""
        absent = f"; {self.absent:,} of {self.gold:,} gold documents are not, and do not count"
        return (
            f"{self.questions:,} questions: {self.with_answers:,} with answers, "
            f"{self.with_gold:,} with gold documents in the index{absent if self.absent else ''}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        counts = ("questions", "with_gold", "with_answers", "gold", "absent")
        return {
            **{name: getattr(self, name) for name in counts},
            "ways": [
                {
                    "by": way.by,
                    **{f"recall@{k}": _json(mean) for k, mean in way.recall.items()},
                    **{f"answer@{k}": _json(mean) for k, mean in way.answer.items()},
                    "median_ms": way.median_ms,
                }
                for way in self.ways
            ],
            "hybrid_minus_best_single": {
                f"{measure}@{k}": {"single": self.best_single[measure, k], **_json(gain)}
                for (measure, k), gain in self.gains.items()
            },
        }


def _json(figure: Mean | Difference) -> dict[str, Any]:
    """Its fields, with None for nan, which JSON has no word for."""
    return {name: None if value != value else value for name, value in asdict(figure).items()}


@dataclass
class _Values:
    """One way of searching, question by question."""

    recall: list[list[float]] = field(default_factory=list)  # (with_gold, len(at))
    answer: list[list[float]] = field(default_factory=list)  # (with_answers, len(at))
    seconds: list[float] = field(default_factory=list)

    def of(self, measure: Measure) -> list[list[float]]:
        return self.recall if measure == "recall" else self.answer


def recall(
    corpus: Corpus,
    examples: Iterable[Example],
    at: Sequence[int] = (5, 20),
    by: Sequence[By] = ("bm25", "dense", "hybrid"),
) -> Retrieval:
    """Search an index with each question, and compare what is found with what it needs.

    A question's gold documents are those labelled ``is_positive``, else ``gold_passages`` of its
    metadata. They are known again by title and text, since an index keeps equal passages once; what
    the index does not hold cannot be found and does not count. Intervals are 95% bootstrap ones.
    Hybrid is compared with that of BM25 and dense which does better on these very questions, which
    errs against hybrid.

    Args:
        corpus: The index.
        examples: The questions.
        at: Values of K; at least 1 each.
        by: Ways of searching.

    Raises:
        InputError: If there is no question, ``at`` or ``by``, or the index is empty or cannot be
            searched so.
        ModelError: If the embedder fails.
    """
    at, by = tuple(sorted(set(at))), tuple(dict.fromkeys(by))
    if not at or at[0] < 1 or not by:
        raise InputError(f"at must be numbers of at least 1, by not empty, got {at!r} and {by!r}")
    found: dict[By, _Values] = {way: _Values() for way in by}
    if not (held := corpus.digests()):
        raise InputError(f"{corpus!r} must hold documents, it is empty: has its build not ended?")
    questions = gold_count = absent = 0
    for example in examples:
        labelled = gold_passages(example)
        gold = {p for p in labelled if digest_of(Document("", p[1], p[0])) in held}
        questions, gold_count = questions + 1, gold_count + len(labelled)
        absent += len(labelled) - len(gold)
        answers = [a for a in example.answers if normalise(a) not in _YES_NO]
        for way, values in found.items():
            _measure(corpus, example.query, way, at, gold, answers, values)
    if not questions:
        raise InputError("there must be at least one question, got none")
    any_way = found[by[0]]
    ways = tuple(_way(way, at, values) for way, values in found.items())
    best, gains = _compared(found, at)
    counts = questions, len(any_way.recall), len(any_way.answer), gold_count, absent
    return Retrieval(ways, best, gains, *counts)


def gold_passages(example: Example) -> set[Passage]:
    """Title and text of a question's gold documents; empty where none is labelled."""
    gold = {(d.title, d.text) for d in example.documents if d.metadata.get("is_positive") is True}
    named = example.metadata.get("gold_passages")
    if gold or not isinstance(named, list):
        return gold
    return {
        (str(passage.get("title") or ""), str(passage["text"]))
        for passage in named
        if isinstance(passage, Mapping) and passage.get("text")
    }


def _measure(
    corpus: Corpus,
    query: Query,
    by: By,
    at: tuple[int, ...],
    gold: set[Passage],
    answers: Sequence[str],
    values: _Values,
) -> None:
    began = time.perf_counter()
    chunks = corpus.search(query, k=at[-1], by=by)
    values.seconds.append(time.perf_counter() - began)
    if answers:
        first = _first(chunks, answers)
        values.answer.append([float(first < k) for k in at])
    if gold:
        documents = [_passage(d) for d in _deep(corpus, query, by, chunks, at[-1])]
        values.recall.append([len(gold.intersection(documents[:k])) / len(gold) for k in at])


def _first(chunks: Sequence[Segment], answers: Sequence[str]) -> float:
    """Place of the first chunk that holds an answer, from 0; infinite where none does."""
    places = (n for n, chunk in enumerate(chunks) if contains_answer(chunk.text, answers))
    return next(places, float("inf"))


def _deep(
    corpus: Corpus, query: Query, by: By, chunks: Sequence[Segment], count: int
) -> list[Document]:
    """The first documents, ``count`` of them where so many can be found."""
    asked = count
    while len(documents := _documents(chunks)) < count and len(chunks) == asked:
        asked *= _DEEPER
        chunks = corpus.search(query, k=asked, by=by)
    return documents


def _documents(chunks: Sequence[Segment]) -> list[Document]:
    """Documents by their best chunks, each once."""
    return list({chunk.document.id: chunk.document for chunk in chunks}.values())


def _passage(document: Document) -> Passage:
    return document.title, document.text


def _way(by: By, at: tuple[int, ...], values: _Values) -> Way:
    means: dict[Measure, dict[int, Mean]] = {
        measure: {
            k: interval([np.array(column)])
            for k, column in zip(at, zip(*values.of(measure), strict=True), strict=False)
        }
        for measure in ("recall", "answer")
    }
    return Way(by, means["recall"], means["answer"], 1000 * statistics.median(values.seconds))


def _compared(
    found: Mapping[By, _Values], at: tuple[int, ...]
) -> tuple[dict[tuple[Measure, int], By], dict[tuple[Measure, int], Difference]]:
    best: dict[tuple[Measure, int], By] = {}
    gains: dict[tuple[Measure, int], Difference] = {}
    singles = [way for way in found if way != "hybrid"]
    if "hybrid" not in found or not singles:
        return best, gains
    measures: tuple[Measure, ...] = ("recall", "answer")
    for measure in measures:
        columns = {way: np.array(values.of(measure)) for way, values in found.items()}
        if not len(columns["hybrid"]):
            continue
        for place, k in enumerate(at):
            single = max(singles, key=lambda way: float(columns[way][:, place].mean()))
            best[measure, k] = single
            gains[measure, k] = compare([columns["hybrid"][:, place]], [columns[single][:, place]])
    return best, gains


def way_rows(measured: Retrieval) -> tuple[list[str], list[list[str]]]:
    """Headings and rows for people, a row a way of searching."""
    headings, rows = [""], []
    for way in measured.ways:
        cells = [
            *((f"recall@{k}", mean) for k, mean in way.recall.items()),
            *((f"answer@{k}", mean) for k, mean in way.answer.items()),
        ]
        headings = ["", *(heading for heading, _ in cells), "ms a question"]
        rows.append([way.by, *(_cell(mean) for _, mean in cells), f"{way.median_ms:.1f}"])
    return headings, rows


def _cell(mean: Mean) -> str:
    return f"{mean.value:.3f}{_spread(mean, '.3f')}"


def _spread(figure: Mean | Difference, form: str) -> str:
    """Its interval behind a space; nothing for one question, which has none."""
    return "" if math.isnan(figure.low) else f" [{figure.low:{form}}, {figure.high:{form}}]"


def gain_rows(measured: Retrieval) -> list[list[str]]:
    """What hybrid gains over the better single way, for people, a row a measure and K."""
    return [
        [
            f"{measure}@{k}",
            measured.best_single[measure, k],
            f"{gain.value:+.3f}{_spread(gain, '+.3f')}",
            f"{gain.p:.3f}",
            gain.verdict,
        ]
        for (measure, k), gain in measured.gains.items()
    ]
