"""Compare ways to place the bar of the default filter: survival of the evidence at equal words.

    python experiments/pruner_bars.py DATA

DATA is what ``experiments/pruner_data.py`` wrote; its validation questions are read once. Of each
way the bar is moved until so many of the words stay, and the survival is the mean over sets of 10
questions or more; *worst* is the least of sets of 25. What is fitted is fitted on four fifths of
the questions and used on the fifth.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pruner_release import KINDS
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from ragsieve.models.pruner import Pruner
from ragsieve.text import words
from ragsieve_research.train.promises import Reading, levelled, log_odds, readings

SHARES = (0.25, 0.30, 0.35, 0.40)  # of the words
FOLDS = 5
NAMES = re.compile(r"(?<!^)\b[A-Z][\w'’-]+")
GOES_ON = re.compile(
    r"\W*(it|its|this|that|these|those|they|their|them|he|she|his|her|such|consequently|therefore"
    r"|thus|hence|so|however|but|otherwise|then|instead|also|moreover|furthermore)\b",
    re.IGNORECASE,
)
Values = NDArray[np.float64]
Levels = list[Values]
Fit = Callable[[Values, Values], Values]
"""Weights of `features`, by those and what they are to tell."""


class Question(NamedTuple):
    """A question of a set, and log-odds over the bar of what leads in it."""

    name: str
    one: Reading
    levels: Values

    @property
    def least(self) -> float:
        """The bar above which the evidence is lost."""
        return float(self.levels[self.one.holds].max())


def read(pruner: Pruner, path: Path) -> list[Question]:
    """Questions with evidence."""
    found = []
    for record in map(json.loads, path.open("rb")):
        for one in readings(pruner, [record]):
            levels = log_odds(levelled(pruner, one).scores)
            if one.holds.any():
                found.append(Question(record["id"].partition(":")[0], one, levels))
    return found


def features(q: Question) -> list[float]:
    """Words, names, and the share of the question's words that the best unit has."""
    asked = {*words(q.one.question)}
    best = {*words(q.one.units[int(q.levels.argmax())][1])}
    sizes = np.log(len(words(q.one.question)) + 1), len(NAMES.findall(q.one.question)) / 4
    return [1.0, *sizes, len(asked & best) / max(len(asked), 1), np.log(len(q.levels))]


def cross_fitted(some: Sequence[Question], fit: Fit, target: Values) -> Values:
    """What ``fit`` of the other folds gives for each question's `features`."""
    x = np.array([features(q) for q in some])
    places, values = np.arange(len(some)) % FOLDS, np.zeros(len(some))
    for fold in range(FOLDS):
        rest = places != fold
        values[~rest] = x[~rest] @ fit(x[rest], target[rest])
    return values


def by_kind(x: Values, several: Values) -> Values:
    """Weights that tell whether several passages answer, by words and names."""
    model = LogisticRegression(class_weight="balanced").fit(x[:, 1:3], several)
    return np.array([model.intercept_[0], *model.coef_[0], 0, 0])


def by_quantile(x: Values, least: Values) -> Values:
    """Weights of the bar under which one question in twenty loses its evidence."""
    n, k = x.shape
    costs = np.r_[np.zeros(2 * k), np.full(n, 0.05), np.full(n, 0.95)]
    sides = np.hstack([x, -x, np.eye(n), -np.eye(n)])
    found = linprog(costs, A_eq=sides, b_eq=least, method="highs").x
    return np.asarray(found[:k] - found[k : 2 * k])


def two_kinds(some: Sequence[Question]) -> Levels:
    """A bar for what looks like several passages, and one for the rest, each for .95."""
    known = np.array([q.name in KINDS["several passages answer"] for q in some], float)
    several = cross_fitted(some, by_kind, known) > 0
    least = np.array([q.least for q in some])
    bars = np.where(several, *(np.quantile(least[x], 0.05) for x in (several, ~several)))
    return [q.levels - bar for q, bar in zip(some, bars, strict=True)]


def quantiles(some: Sequence[Question]) -> Levels:
    """A bar for each question."""
    bars = cross_fitted(some, by_quantile, np.array([q.least for q in some]))
    return [q.levels - bar for q, bar in zip(some, bars, strict=True)]


def levels(some: Sequence[Question]) -> Levels:
    return [q.levels for q in some]


def joined(some: Sequence[Question]) -> Levels:
    """A unit that begins with a pronoun or a consequence, and the one before it, count alike."""
    found = []
    for q in some:
        values = q.levels.copy()
        pairs = zip(q.one.units, q.one.units[1:], strict=False)
        for n, ((before, _), (own, text)) in enumerate(pairs):
            if before == own and GOES_ON.match(text):
                values[n : n + 2] = q.levels[n : n + 2].max()
        found.append(values)
    return found


WAYS: dict[str, Callable[[Sequence[Question]], Levels]] = {
    "as it is": levels,
    "a bar for one passage, one for several, by words and names": two_kinds,
    "quantile regression: words, names, what the best unit covers, units": quantiles,
    "units with a pronoun or a consequence joined to the one before": joined,
}


def figures(some: Sequence[Question], values: Levels) -> list[float]:
    """Survival at each of `SHARES`, and the worst set's at the last one."""
    names, counts = np.array([q.name for q in some]), Counter(q.name for q in some)
    rows = []
    for bar in np.arange(-6, 6, 0.05):
        kept = [(v >= bar) | (v == v.max()) for v in values]
        lives = np.array([(k & q.one.holds).any() for k, q in zip(kept, some, strict=True)])
        share = np.array([q.one.lengths[k].sum() for k, q in zip(kept, some, strict=True)])
        share = share / [q.one.lengths.sum() for q in some]
        sets = [name for name, count in counts.items() if count >= 10]
        worst = min(lives[names == name].mean() for name, count in counts.items() if count >= 25)
        means = [np.mean([v[names == name].mean() for name in sets]) for v in (share, lives)]
        rows.append((*means, worst))
    share, lives, worst = np.array(rows[::-1]).T
    at = [float(np.interp(one, share, lives)) for one in SHARES]
    return [*at, float(np.interp(SHARES[-1], share, worst))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    pruner = Pruner()
    found = read(pruner, options.data / "validation.jsonl")
    print(f"{len(found)} questions; survival at so many of the words\n")
    print("| the bar |", " | ".join(f"{share:.0%}" for share in SHARES), "| worst |")
    print("|---" * (len(SHARES) + 2) + "|")
    for name, way in WAYS.items():
        print(f"| {name} |", " | ".join(f"{v:.3f}" for v in figures(found, way(found))), "|")


if __name__ == "__main__":
    main()
