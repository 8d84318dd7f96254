"""Search an index with questions: gold documents and answers among the first results."""

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.text import contains_answer, counted, visible_answers
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.evaluate.stats import MeanInterval, interval, json_figure
from ragsieve_research.retrieve.corpus import By, Corpus
from ragsieve_research.retrieve.index.store import digest_of

Passage = tuple[str, str]  # title and text
Measures = dict[str, list[float]]  # values of questions by measure

_DEEPER = 4  # times as many chunks are asked for where the first hold too few documents
_SECONDS = "seconds"  # of searches, beside their measures


@dataclass(frozen=True)
class Retrieval:
    """Figures of searches, as `recall` measures them.

    Args:
        means: By way of searching, then by measure: ``"recall@K"``, the mean share of a question's
            gold documents among the first K documents; ``"answer@K"``, the share of questions with
            a gold answer in the first K chunks.
        median_ms: By way, the median time of a search for the largest K's chunks, in milliseconds,
            with the embedding of the question.
        questions: Questions in all.
        with_gold: Of these, such with gold documents that the index holds.
        with_answers: Of these, such with a gold answer that is not yes or no.
        gold: Gold documents of all questions.
        absent: Of these, such that the index does not hold.
    """

    means: Mapping[By, Mapping[str, MeanInterval]]
    median_ms: Mapping[By, float]
    questions: int
    with_gold: int
    with_answers: int
    gold: int
    absent: int

    def counted(self) -> str:
        """One line on the questions."""
        gold = counted(self.gold, "gold document")
        absent = f"; {self.absent:,} of {gold} do not count: the index does not hold them"
        return (
            f"{counted(self.questions, 'question')}: {self.with_answers:,} with answers, "
            f"{self.with_gold:,} with gold documents in the index{absent if self.absent else ''}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON values."""
        counts = ("questions", "with_gold", "with_answers", "gold", "absent")
        ways = [
            {"by": by, **{name: json_figure(mean) for name, mean in means.items()}}
            | {"median_ms": self.median_ms[by]}
            for by, means in self.means.items()
        ]
        return {**{name: getattr(self, name) for name in counts}, "ways": ways}


def recall(
    corpus: Corpus,
    examples: Iterable[Example],
    at: Sequence[int] = (5, 20),
    by: Sequence[By] = ("bm25", "dense", "hybrid"),
) -> Retrieval:
    """Search an index with each question for its gold documents and answers.

    A question's gold documents are those labelled ``is_positive``, else ``gold_passages`` of its
    metadata. They are known again by title and text, since an index keeps equal passages once; what
    the index does not hold cannot be found and does not count. Intervals are 95% bootstrap ones.

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
    if not (held := corpus.digests()):
        raise InputError(f"{corpus!r} must hold documents, it is empty: has its build not ended?")
    values: dict[By, Measures] = {way: defaultdict(list) for way in by}
    counts = dict.fromkeys(("questions", "with_gold", "with_answers", "gold", "absent"), 0)
    for example in examples:
        labelled = gold_passages(example)
        gold = {p for p in labelled if digest_of(Document("", p[1], p[0])) in held}
        answers = visible_answers(example.answers)
        counts["questions"] += 1
        counts["with_gold"] += bool(gold)
        counts["with_answers"] += bool(answers)
        counts["gold"] += len(labelled)
        counts["absent"] += len(labelled) - len(gold)
        for way, own in values.items():
            _measure(corpus, example.query, way, at, gold, answers, own)
    if not counts["questions"]:
        raise InputError("there must be at least one question, got none")
    median_ms = {way: 1000 * statistics.median(own.pop(_SECONDS)) for way, own in values.items()}
    means = {
        way: {name: interval([np.array(v)]) for name, v in own.items()}
        for way, own in values.items()
    }
    return Retrieval(means, median_ms, **counts)


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
    values: Measures,
) -> None:
    """Add the values of a question, of every K in ``at``."""
    began = time.perf_counter()
    chunks = corpus.search(query, k=at[-1], by=by)
    values[_SECONDS].append(time.perf_counter() - began)
    if gold:
        found = deep(corpus, query, by, at[-1], chunks)
        first = {chunk.document.id: chunk.document for chunk in found}.values()
        documents = [(document.title, document.text) for document in first]
        for k in at:
            values[f"recall@{k}"].append(len(gold.intersection(documents[:k])) / len(gold))
    if answers:
        place = _first(chunks, answers)
        for k in at:
            values[f"answer@{k}"].append(float(place < k))


def _first(chunks: Sequence[Segment], answers: Sequence[str]) -> float:
    """Place of the first chunk that holds an answer, from 0; infinite where none does."""
    places = (n for n, chunk in enumerate(chunks) if contains_answer(chunk.text, answers))
    return next(places, float("inf"))


def deep(
    corpus: Corpus, query: Query, by: By, count: int, chunks: Sequence[Segment] = ()
) -> list[Segment]:
    """Chunks of the first documents, ``count`` of them or more where so many can be found.

    ``chunks`` are those of a search for ``count``, where there was one.
    """
    k, found = count, [*chunks] or corpus.search(query, k=count, by=by)
    while len({chunk.document.id for chunk in found}) < count and len(found) == k:
        k *= _DEEPER
        found = corpus.search(query, k=k, by=by)
    return found
