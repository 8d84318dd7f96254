"""What winnowing does on average: what its merging keeps, and how questions end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragsieve.evaluate.cells import Cell
from ragsieve.evaluate.stats import Mean, Values, interval
from ragsieve.evaluate.stories import Story, short, stories

_MAX_ENDS = 8  # ways to end that are told apart


@dataclass(frozen=True)
class Merging:
    """What one kind of merging keeps, all merges of the questions together.

    Args:
        by: The kind.
        merges: Merges a question.
        documents: Documents a question that were merged; one that is merged twice counts twice.
        holding: Share kept of the documents that hold a gold answer.
        others: The same of those that hold none.
        gain: The first less the second: above 0 where merging tells them apart.
        n_holding: Documents that hold a gold answer, of the questions that have one.
        n_others: Those that hold none.
    """

    by: str
    merges: float
    documents: float
    holding: Mean
    others: Mean
    gain: Mean
    n_holding: int
    n_others: int


@dataclass(frozen=True)
class Winnowing:
    """What winnowing did on average, over one data set or more that count the same.

    Args:
        questions: Questions with a story.
        merging: By kind.
        counts: Means a question: rounds, replies that could not be read, agents at the start,
            after equal answers have merged, at the end, agents and documents behind the answer.
        ends: Share of the questions by the reason why their answer stands.
    """

    questions: int
    merging: tuple[Merging, ...]
    counts: Mapping[str, float]
    ends: Mapping[str, float]


@dataclass(frozen=True)
class Tally:
    """The stories of a cell as numbers, and the first few as they are.

    Args:
        kinds: By kind of merging an array of (questions, `_KIND`).
        counts: An array of (questions, `COUNTS`).
        ends: Questions by the reason why their answer stands.
        stories: The first.
    """

    kinds: Mapping[str, Values]
    counts: Values
    ends: Mapping[str, int]
    stories: tuple[Story, ...]


COUNTS = ("rounds", "unreadable", "agents", "merged", "left", "behind", "documents")
_KIND = ("merges", "documents", "kept holding", "holding", "kept others", "others")
_Row = tuple[dict[str, list[float]], list[float], str]


def tally(cell: Cell, keep: int = 0) -> Tally | None:
    """The stories of a cell; None where it tells none. A question recorded twice counts once.

    Args:
        cell: Whose records are read line by line.
        keep: Stories that are kept as they are.

    Raises:
        InputError: If a story is not as a stage tells it.
    """
    rows: dict[int, _Row] = {}
    first: dict[int, Story] = {}
    for line, story in stories(cell):
        rows[line] = (_kinds(story), _counts(story), short(story.end.why, 100))
        if line in first or len(first) < keep:
            first[line] = story
    if not rows:
        return None
    names = dict.fromkeys(name for kinds, _, _ in rows.values() for name in kinds)
    none = [0.0] * len(_KIND)
    return Tally(
        {
            name: np.array([kinds.get(name, none) for kinds, _, _ in rows.values()])
            for name in names
        },
        np.array([counts for _, counts, _ in rows.values()]),
        Counter(end for _, _, end in rows.values()),
        tuple(first.values()),
    )


def winnowing(
    tallies: Sequence[Tally | None], *, draws: int = 10_000, seed: int = 0
) -> Winnowing | None:
    """Means over cells, each counting the same; None where one tells no story."""
    known = [one for one in tallies if one]
    if not known or len(known) < len(tallies):
        return None
    names = dict.fromkeys(name for one in known for name in one.kinds)
    counts = np.mean([one.counts.mean(axis=0) for one in known], axis=0)
    return Winnowing(
        questions=sum(len(one.counts) for one in known),
        merging=tuple(_merging(name, known, draws, seed) for name in names),
        counts=dict(zip(COUNTS, counts.tolist(), strict=True)),
        ends=_ends(known),
    )


def _ends(tallies: Sequence[Tally]) -> dict[str, float]:
    """Shares, the most common first."""
    shares: dict[str, float] = {}
    for one in tallies:
        for end, count in one.ends.items():
            shares[end] = shares.get(end, 0.0) + count / len(one.counts) / len(tallies)
    most = dict(sorted(shares.items(), key=lambda item: -item[1])[:_MAX_ENDS])
    rest = sum(share for end, share in shares.items() if end not in most)
    return {**most, "other": most.get("other", 0.0) + rest} if rest else most


def _kinds(story: Story) -> dict[str, list[float]]:
    """Numbers of each kind of merging, in the order of `_KIND`."""
    found: dict[str, list[float]] = {}
    for merge in story.merges:
        row = found.setdefault(short(merge.by, 20), [0.0] * len(_KIND))
        dropped = [fallen.document for fallen in merge.dropped]
        row[0] += 1
        row[1] += len(merge.kept) + len(dropped)
        for document, stays in [*((d, 1) for d in merge.kept), *((d, 0) for d in dropped)]:
            if story.gold:
                place = 2 if document in story.holding else 4
                row[place] += stays
                row[place + 1] += 1
    return found


def _counts(story: Story) -> list[float]:
    """Numbers of the question, in the order of `COUNTS`."""
    start = len({placed.agent for placed in story.clusters})
    behind = (len(story.end.agents), len(story.end.documents))
    rounds = (len(story.rounds), story.unreadable)
    return [*rounds, start, story.agents(0), story.agents(), *behind]


def _merging(kind: str, tallies: Sequence[Tally], draws: int, seed: int) -> Merging:
    tables = [one.kinds.get(kind, np.zeros((len(one.counts), len(_KIND)))) for one in tallies]
    holding = [_ratio(t[:, 2], t[:, 3]) for t in tables]
    others = [_ratio(t[:, 4], t[:, 5]) for t in tables]
    gains = [a - b for a, b in zip(holding, others, strict=True)]
    return Merging(
        by=kind,
        merges=_mean([t[:, 0].mean() for t in tables]),
        documents=_mean([t[:, 1].mean() for t in tables]),
        holding=_interval(holding, draws, seed),
        others=_interval(others, draws, seed),
        gain=_interval(gains, draws, seed),
        n_holding=int(sum(t[:, 3].sum() for t in tables)),
        n_others=int(sum(t[:, 5].sum() for t in tables)),
    )


def _interval(groups: Sequence[Values], draws: int, seed: int) -> Mean:
    """Over the data sets where it is known."""
    known = [values for values in groups if np.isfinite(values).all()]
    if not known:
        return Mean(math.nan, math.nan, math.nan, 0)
    return interval(known, draws=draws, seed=seed, exact=False)


def _ratio(kept: Values, seen: Values) -> Values:
    """One value a question, whose mean is sum / sum and whose spread is that of this ratio.

    The delta method: so that a ratio of sums gets the same interval as a mean of questions.
    """
    if not seen.sum():
        return np.full(len(seen), math.nan)
    share = kept.sum() / seen.sum()
    values: Values = share + (kept - share * seen) / seen.mean()
    return values


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
