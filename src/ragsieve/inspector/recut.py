"""Cut again at another threshold from the scores in the trace, without a model.

The page's script does the same; what cannot be cut again here as it was cut gets no slider there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragsieve.result import Result
from ragsieve.trace import Cutoff, Step
from ragsieve.types import Segment, rounded

_ORDER = re.compile(r"Order\(by='(document|score|ends)'\)")

Key = tuple[str, int, int]


def keys(segments: Sequence[Segment]) -> list[Key]:
    """What tells the segments apart, in their order."""
    return [segment.key for segment in segments]


def chain(result: Result) -> range:
    """Places of the last steps of the trace that hand on to each other and end in what was kept."""
    steps = result.trace.steps
    end = len(steps) - (result.answer is not None)  # the last one is the reader's
    start, after = end, keys(result.kept)
    while start and steps[start - 1].before and keys(steps[start - 1].after) == after:
        start -= 1
        after = keys(steps[start].before)
    return range(start, end)


def cut_again(cutoff: Cutoff, at: float) -> list[Segment]:
    """What of the given segments stays at the number ``at``, in the order in which it stays."""
    segments = cutoff.segments
    ranked = sorted(range(len(segments)), key=lambda n: _rank(segments[n]))
    if cutoff.keeps == "best":
        return [segments[n] for n in ranked[: int(at)]]
    if cutoff.keeps == "worth":
        worths = [worth - at * k for k, worth in enumerate(cutoff.worth)]
        k = max(worths.index(max(worths)), cutoff.min_keep) if worths else cutoff.min_keep
        return [segments[n] for n in ranked[:k]]
    if cutoff.keeps == "distinct":
        return _distinct(cutoff, ranked, at)
    spared = {segments[n].key for n in ranked[: cutoff.min_keep]}
    return [s for s in segments if rounded(s.score) >= at or s.key in spared]


def step_again(step: Step) -> list[Segment]:
    """What the step's cut-offs keep of what went in: set by set, the others where they stood."""
    sets = {key: n for n, cutoff in enumerate(step.cutoffs) for key in keys(cutoff.segments)}
    kept: list[Segment] = []
    done: set[int] = set()
    for segment in step.before:
        number = sets.get(segment.key)
        if number is None:
            kept.append(segment)
        elif number not in done:
            done.add(number)
            kept += cut_again(step.cutoffs[number], step.cutoffs[number].at)
    return kept


def recuts(step: Step) -> bool:
    """Whether the step's cut-offs are all there is to it: they keep what it kept, so ordered."""
    before = {*keys(step.before)}
    cut = [key for cutoff in step.cutoffs for key in keys(cutoff.segments)]
    if not cut or step.error or len({*cut}) != len(cut) or not {*cut} <= before:
        return False
    return keys(step_again(step)) == keys(step.after)


def ordering(step: Step) -> str:
    """By what the step orders all segments, as `select.Order` says it; empty of other steps."""
    order = _ORDER.fullmatch(step.stage)
    return order[1] if order and {*keys(step.before)} == {*keys(step.after)} else ""


def _rank(segment: Segment) -> float:
    return -rounded(segment.score) if segment.scores else math.inf


def _distinct(cutoff: Cutoff, ranked: Sequence[int], at: float) -> list[Segment]:
    dropped: set[int] = set()
    for better, worse, alike in sorted(cutoff.near, key=lambda pair: (pair[1], pair[0])):
        if alike >= at - 1e-9 and better not in dropped:
            dropped.add(worse)
    gone = {ranked[place] for place in dropped}
    return [segment for n, segment in enumerate(cutoff.segments) if n not in gone]
