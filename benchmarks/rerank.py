"""How well ragsieve.rank ranks documents, and in what time, beside BM25 and the given order.

    python benchmarks/rerank.py ../shared/data
    python benchmarks/rerank.py ../shared/data --sets noveleval --questions 12

Sets whose documents have human grades (noveleval: 0, 1, 2) or marked evidence (hotpotqa,
multihoprag: 0, 1); questions of which some document is relevant and some is not, of the sets that
the net learnt from those of the test part. NDCG@10 with 95% bootstrap intervals over questions;
milliseconds of a question and of a document, on all processors together, medians. Documents are
shuffled by a seed before each method but the first, so that no order helps a tie.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

import ragsieve
from ragsieve.run.questions import lines, parse_record
from ragsieve.score import BM25
from ragsieve.types import Document, Example, Segment
from ragsieve_research.datasets.parts import part_of

LEARNT = {"hotpotqa", "multihoprag"}
TOP = 10
Method = Callable[[Any, Sequence[Document]], Sequence[float]]
"""Scores of documents for a question."""


def given(_: Any, documents: Sequence[Document]) -> Sequence[float]:
    """The order in which the documents came."""
    return [float(-place) for place, _ in enumerate(documents)]


def bm25(query: Any, documents: Sequence[Document]) -> Sequence[float]:
    """BM25 of whole documents with their titles, statistics of the documents given."""
    whole = [Segment(one, 0, len(one.text)) for one in documents]
    return [segment.score for segment in BM25()(query, whole)]


def ranked(query: Any, documents: Sequence[Document]) -> Sequence[float]:
    """ragsieve.rank."""
    scores = [0.0] * len(documents)
    for one in ragsieve.rank(query, documents):
        scores[one.index] = one.score
    return scores


METHODS: dict[str, Method] = {"as given": given, "BM25": bm25, "ragsieve.rank": ranked}


def grade(document: Document) -> float:
    """A human grade, else 1 of what is marked as evidence."""
    return float(document.metadata.get("relevance") or document.metadata.get("is_positive") or 0)


def ndcg(grades: Sequence[float]) -> float:
    """NDCG@10 of grades in the order of a ranking, with gains 2^grade - 1 (Burges et al., 2005)."""

    def gain(some: Sequence[float]) -> float:
        return sum((2**g - 1) / math.log2(n + 2) for n, g in enumerate(some[:TOP]))

    return gain(grades) / gain(sorted(grades, reverse=True))


def examples(path: Path, most: int) -> list[Example]:
    """Questions of which some document is relevant and some is not."""
    parsed = (parse_record(line) for _, line in lines(path))
    usable = (
        one
        for one in parsed
        if len({grade(d) for d in one.documents}) > 1
        and (path.name.partition(".")[0] not in LEARNT or part_of(one.query.text) == "test")
    )
    return [*islice(usable, most)]


def interval(values: Sequence[float]) -> str:
    """The mean with a 95% bootstrap interval over questions."""
    draws = np.random.default_rng(0).choice(values, (2000, len(values))).mean(axis=1)
    low, high = np.percentile(draws, (2.5, 97.5))
    return f"{mean(values):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=["hotpotqa", "multihoprag", "noveleval"])
    parser.add_argument("--questions", type=int, default=100)
    arguments = parser.parse_args()
    ragsieve.rank("Is it warm?", ["It is warm."])
    print("| set | questions | method | NDCG@10 | CPU ms a question | CPU ms a document |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets:
        some = examples(arguments.folder / f"{name}.jsonl.gz", arguments.questions)
        for label, method in METHODS.items():
            shuffle = random.Random(0)
            values, seconds, per = [], [], []
            for example in some:
                documents = [*example.documents]
                if method is not given:
                    shuffle.shuffle(documents)
                began = time.process_time()
                scores = method(example.query, documents)
                seconds.append(time.process_time() - began)
                per.append(seconds[-1] / len(documents))
                order = np.argsort([-one for one in scores], kind="stable")
                values.append(ndcg([grade(documents[n]) for n in order]))
            times = f"{1000 * median(seconds):.1f} | {1000 * median(per):.2f}"
            print(f"| {name} | {len(some)} | {label} | {interval(values)} | {times} |", flush=True)


if __name__ == "__main__":
    main()
