"""Measure whether the pruner's scores are probabilities: a reliability diagram as a table.

    python experiments/pruner_calibration.py ../shared/data --questions 40

On questions of the test part, which neither the weights nor their curve have seen. Of the sentences
that score near a number so many should be evidence; the expected calibration error is the mean
difference over ten equal bins, by the sentences in them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pruner_data import RETRIEVED, marked
from pruner_passages import read, record

from ragsieve.models.pruner import Pruner
from ragsieve_research.datasets.parts import part_of
from ragsieve_research.train.promises import Reading, readings

BINS = 10
Values = NDArray[np.float64]


def held_out(name: str, folder: Path, most: int) -> list[dict[str, object]]:
    """Questions of the test part with known evidence."""
    found = []
    for question in read(folder / f"{name}.jsonl.gz"):
        if part_of(question["question"]) == "test":
            documents = [one for d in question["documents"] if (one := marked(d, question))]
            if name == "clapnq" or any(d["evidence"] for d in documents):
                values = (question["question"], question["answers"], documents)
                found.append(record(f"{name}:{question['id']}", *values))
    return random.Random(0).sample(found, min(most, len(found)))


def pooled(some: Sequence[Reading]) -> tuple[Values, Values]:
    """Scores of sentences, and whether each is evidence."""
    labels = np.concatenate([one.labels for one in some])
    return np.concatenate([one.scores for one in some])[labels >= 0], labels[labels >= 0]


def error(scores: Values, labels: Values) -> float:
    """The expected calibration error."""
    places = np.minimum((scores * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(places, scores - labels, BINS)).sum() / len(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=40, help="of each set, at most")
    parser.add_argument("--pruner", default="pruner")
    options = parser.parse_args()
    pruner, known = Pruner(options.pruner), {}
    for name in RETRIEVED:
        known[name] = [*readings(pruner, held_out(name, options.data, options.questions))]
    scores, labels = pooled([one for some in known.values() for one in some])
    places = np.minimum((scores * BINS).astype(int), BINS - 1)
    print("| score | sentences | mean score | evidence |\n| --- | ---: | ---: | ---: |")
    for place in range(BINS):
        if (at := places == place).any():
            means = f"{scores[at].mean():.3f} | {labels[at].mean():.3f}"
            print(f"| {place / BINS:.1f} to {(place + 1) / BINS:.1f} | {at.sum():,} | {means} |")
    print(f"\nexpected calibration error: {error(scores, labels):.4f} of {len(scores):,} sentences")
    for name, some in known.items():
        print(f"{name}: {error(*pooled(some)):.3f} of {len(some)} questions")


if __name__ == "__main__":
    main()
