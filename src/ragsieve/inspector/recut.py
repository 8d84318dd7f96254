"""Steps of a trace that the page's script can cut again, without a model.

A step that it does not cut as it was cut, by the scores in the trace, gets no slider there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragsieve.result import Result
from ragsieve.trace import Step
from ragsieve.types import Segment

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


def cuts_apart(step: Step) -> bool:
    """Whether the step's cut-offs are of what went in, each segment in one of them at most."""
    before = {*keys(step.before)}
    cut = [key for cutoff in step.cutoffs for key in keys(cutoff.segments)]
    return bool(cut) and not step.error and len({*cut}) == len(cut) and {*cut} <= before


def ordering(step: Step) -> str:
    """By what the step orders all segments, as `select.Order` says it; empty of other steps."""
    order = _ORDER.fullmatch(step.stage)
    return order[1] if order and {*keys(step.before)} == {*keys(step.after)} else ""
