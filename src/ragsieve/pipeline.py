"""Stages, and the pipelines made of them.

A stage is any callable ``(query, segments, /) -> list[segment]``. A `Pipeline` joins stages and is
one itself.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

from ragsieve.errors import InputError, check_choice, typed_line
from ragsieve.timeouts import check_wanted
from ragsieve.trace import Cutoff, Kind, Trace, record_cutoff, record_drop, running, step, warn
from ragsieve.types import Query, Segment, StageResult, best_first, rounded

logger = logging.getLogger(__name__)

OnError = Literal["raise", "keep"]
Stage = Callable[[Query, list[Segment]], list[Segment]]
Source = Callable[[Query], list[Segment]]
Work = Callable[[], list[Segment]]


@runtime_checkable
class Lenient(Protocol):
    """A stage that runs stages itself, and can be one that skips those which fail."""

    def lenient(self) -> Stage:
        """The same, but what fails inside is skipped."""


class Cuts(NamedTuple):
    """Numbers at which stages cut; None stays as it is.

    Args:
        keep_answer: Probability that the evidence survives.
        min_score: The least score, whatever leads.
        min_answerable: The least probability that some document answers.
        first_look: Characters that a model reads at most.
    """

    keep_answer: float | None = None
    min_score: float | None = None
    min_answerable: float | None = None
    first_look: int | None = None


@runtime_checkable
class Cutting(Protocol):
    """A stage that cuts at a number, and can be one that cuts at another."""

    def at(self, cuts: Cuts) -> tuple[Stage, Cuts]:
        """The same at its numbers among these, and those that are another stage's."""


@runtime_checkable
class Rating(Protocol):
    """A stage that tells which parts of a segment answer, where a budget has to cut it."""

    def rated(self, query: Query, parts: Sequence[Segment], /) -> Sequence[float] | None:
        """A value in [0, 1] for each of a document's parts; None where it cannot tell."""


@dataclass(frozen=True)
class AtLeast:
    """Keep segments whose `rounded` score is at least ``min_score``, best first.

    It stands in place of a stage that keeps a number of the best, where `Pipeline.at` is given a
    threshold.
    """

    min_score: float

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> list[Segment]:
        least = rounded(self.min_score)
        for segment in segments:
            if rounded(segment.score) < least:
                record_drop(segment, f"score {segment.score:.3f} is below min_score={least:.6g}")
        record_cutoff(Cutoff("min_score", least, "at least", tuple(segments)))
        return [s for s in best_first(segments) if rounded(s.score) >= least]


@dataclass(frozen=True, init=False, repr=False)
class Pipeline:
    """Stages in order, as one stage.

    Args:
        stages: Callables ``(query, segments, /) -> list[segment]``.
        on_error: ``"raise"``, or ``"keep"``: a stage that fails is skipped, its input passes on,
            and the trace and a warning say so.

    Raises:
        InputError: If a stage is not callable or ``on_error`` is neither.
    """

    stages: tuple[Stage, ...]
    on_error: OnError

    def __init__(self, *stages: Stage, on_error: OnError = "raise") -> None:
        for stage in stages:
            if not callable(stage):
                raise InputError(f"a stage must be callable, got {stage!r}")
        check_choice(OnError, on_error=on_error)
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "on_error", on_error)

    def __repr__(self) -> str:
        inside = ", ".join([*map(repr, self.stages), f"on_error={self.on_error!r}"])
        return f"{type(self).__name__}({inside})"

    def __call__(self, query: Query, segments: Sequence[Segment], /) -> StageResult:
        kept = StageResult(segments)
        for stage in self.stages:
            work = partial(stage, query, kept)
            if isinstance(stage, Pipeline):  # it records its stages
                last = StageResult.of(work(), stage)
            else:
                last = recorded(stage, "stage", kept, work, self.on_error)
            found = last.found if last is kept else (*kept.found, *last.found)
            kept = StageResult(last, answer=last.answer or kept.answer, found=found)
        return kept

    def lenient(self) -> Self:
        """The same with ``on_error="keep"``, and so every stage inside that can be ``lenient``."""
        stages = (s.lenient() if isinstance(s, Lenient) else s for s in self.stages)
        return type(self)(*stages, on_error="keep")

    def at(self, cuts: Cuts) -> tuple[Self, Cuts]:
        """The same at other numbers; each goes to the last stage that cuts at such a one.

        Where none cuts at ``min_score``, it stands in place of the last that keeps a number of the
        best, one whose ``ranked`` is true.
        """
        stages = [*self.stages]
        for place, stage in reversed([*enumerate(stages)]):
            if isinstance(stage, Cutting):
                stages[place], cuts = stage.at(cuts)
        ranks = [n for n, stage in enumerate(stages) if getattr(stage, "ranked", False)]
        if cuts.min_score is not None and ranks:
            stages[ranks[-1]] = AtLeast(cuts.min_score)
            cuts = cuts._replace(min_score=None)
        return type(self)(*stages, on_error=self.on_error), cuts

    def rated(self, query: Query, parts: Sequence[Segment], /) -> Sequence[float] | None:
        """How the last stage that can rates parts of a segment; see `Rating`."""
        for stage in reversed(self.stages):
            try:
                values = stage.rated(query, parts) if isinstance(stage, Rating) else None
            except Exception as error:  # as in `recorded`
                if self.on_error == "raise":
                    raise
                warn(f"parts are not rated: {typed_line(error)}")
                return None
            if values is not None:
                return values
        return None


def recorded(
    what: object, kind: Kind, before: list[Segment], work: Work, on_error: OnError
) -> StageResult:
    """Result of ``work``, as a step of the trace; ``before`` where it may fail and does."""
    check_wanted()
    name, trace = repr(what), running() or Trace()
    if known := trace.repeated(name, before):
        return known.after
    begin = len(trace.steps)
    with step(name, before, kind) as record:
        try:
            kept = StageResult.of(work(), what)
        except Exception as error:  # "keep" promises the answer, whatever a stage raises
            if on_error == "raise":
                raise
            record.error = typed_line(error)
            logger.warning("%s was skipped: %s", name, record.error)
            kept = StageResult(record.before)  # which the stage cannot have changed
        record.after = tuple(kept)
    trace.keep(name, before, kept, begin)
    return kept
