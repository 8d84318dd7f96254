"""Measure whether the pruner's scores are probabilities: a reliability diagram as a table.

    python experiments/pruner_calibration.py ../shared/data --questions 40

On questions of the test part, which neither the weights nor their curve have seen. Of the sentences
that score near a number so many should be evidence; the expected calibration error is the mean
difference over ten equal bins, by the sentences in them.

With `--features`, whether knowing more of a question would help: for each set a curve of the
score's log-odds and of a number is fitted to the other sets, and its error on this one is printed.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
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


FEATURES: dict[str, Callable[[Reading], Values]] = {
    "score alone": lambda one: np.zeros(len(one.units)),
    "documents": lambda one: _same(one, len({document for document, _ in one.units})),
    "sentences": lambda one: _same(one, len(one.units)),
    "words": lambda one: _same(one, int(one.lengths.sum())),
    "words of the sentence": lambda one: np.log1p(one.lengths),
}


def _same(one: Reading, number: int) -> Values:
    return np.full(len(one.units), np.log(number))


def features(some: Sequence[Reading], feature: Callable[[Reading], Values]) -> Values:
    """Log-odds of sentences, the number and one, a row a sentence."""
    rows = []
    for one in some:
        scores = np.clip(one.scores, 1e-4, 1 - 1e-4)
        columns = (np.log(scores / (1 - scores)), feature(one), np.ones(len(scores)))
        rows.append(np.stack(columns, 1)[one.labels >= 0])
    return np.concatenate(rows)


def fitted(rows: Values, labels: Values) -> Values:
    """Weights of a logistic regression, by Newton's steps; hardly any penalty."""
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (chance - labels) + 0.01 * weights
        bent = (rows * (chance * (1 - chance))[:, None]).T @ rows
        weights -= np.linalg.solve(bent + 0.01 * np.eye(len(weights)), gradient)
    return weights


def print_features(known: Mapping[str, Sequence[Reading]]) -> None:
    """A row a set: the error of today's score, and with each feature."""
    print(f"\n| set | now | {' | '.join(FEATURES)} |\n| --- |{' ---: |' * (len(FEATURES) + 1)}")
    means = []
    for name, some in known.items():
        others = [one for other, more in known.items() if other != name for one in more]
        errors = [error(*pooled(some))]
        for feature in FEATURES.values():
            weights = fitted(features(others, feature), pooled(others)[1])
            chance = 1 / (1 + np.exp(-features(some, feature) @ weights))
            errors.append(error(chance, pooled(some)[1]))
        means.append(errors)
        print(f"| {name} | {' | '.join(f'{one:.3f}' for one in errors)} |")
    print(f"| mean | {' | '.join(f'{one:.3f}' for one in np.mean(means, 0))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=40, help="of each set, at most")
    parser.add_argument("--pruner", default="pruner")
    parser.add_argument("--features", action="store_true", help="whether more numbers help")
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
    if options.features:
        print_features(known)


if __name__ == "__main__":
    main()
