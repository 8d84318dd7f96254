"""The trace of a question: each stage, the segments it dropped and why, and its costs."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Self

from ragsieve.timeouts import setting
from ragsieve.types import Document, Key, Segment, StageResult


class Usage(NamedTuple):
    """Cost of one item of a model call, with notes on how it was read.

    A ``cached`` one cost it before, and no call now. An ``embedded`` one is a text that became a
    vector, no call of an LLM. ``note`` depends on the item alone, not on what came with it.
    """

    model: str
    tokens_in: int
    tokens_out: int = 0
    cached: bool = False
    note: str = ""
    embedded: bool = False


@dataclass(frozen=True)
class Verdict:
    """The verdict on a span: kept where ``stage`` is empty, else dropped by it, and why."""

    segment: Segment
    stage: str
    reason: str


class Promises(NamedTuple):
    """Numbers at which a stage cuts so that the evidence survives as often as promised.

    Args:
        keep_answer: The promise that is kept: the probability that the evidence survives.
        numbers: The number for each value of ``keep_answer``, the lowest value first.
    """

    keep_answer: float
    numbers: tuple[tuple[float, float], ...]

    def __repr__(self) -> str:
        return f"Promises(keep_answer={self.keep_answer})"


@dataclass(frozen=True)
class Cutoff:
    """A number at which a stage cut, with all that cutting at another one needs but a model.

    Args:
        option: What the stage calls the number.
        at: The number.
        keeps: ``"at least"``: segments that score at least the number, in their order; ``"best"``:
            so many of the best, best first; ``"worth"``: the K best, best first, where K is worth
            most less the number for each; ``"distinct"``: all but the worse of two segments that
            are at least so much alike, in their order. Best first is by the last score.
        segments: What was cut, in order.
        min_keep: At least so many of the best stay.
        worth: What K segments are worth, from K = 0 on; of ``"worth"``.
        near: Places of two segments, best first from 0, and how much alike they are; of
            ``"distinct"``. Pairs less alike than ``least`` are not among them.
        least: The number is at least this.
        promises: What the number was chosen by, where that was a promise.
    """

    option: str
    at: float
    keeps: Literal["at least", "best", "worth", "distinct"]
    segments: tuple[Segment, ...]
    min_keep: int = 0
    worth: tuple[float, ...] = ()
    near: tuple[tuple[int, int, float], ...] = ()
    least: float = 0.0
    promises: Promises | None = None


CUT, UNANSWERED = "a reply was cut at", 0.2  # begins a note; below this nothing seems to answer
Kind = Literal["stage", "source", "reader"]


@dataclass
class Step:
    """One stage's step: segments in and out, reasons and costs.

    Args:
        stage: The stage's name and options.
        kind: What ran: a stage, a source of documents, or the reader.
        seconds: Wall time.
        error: One line, where the stage failed and was skipped.
        events: What happened, as JSON values, where a stage logs it.
        unreadable: Replies of a model that could not be read.
        warnings: What the stage did without, a line each, though it did not fail.
        cutoffs: Numbers at which the stage cut, one for each set of segments that it cut.
        answerable: How probable it is that some document answers, where the stage says so.
        restored: Of a step read from JSON how many segments went in and came out, and those that
            were dropped; there are no others.
    """

    stage: str
    before: tuple[Segment, ...] = ()
    after: tuple[Segment, ...] = ()
    kind: Kind = "stage"
    seconds: float = 0.0
    error: str = ""
    notes: list[str] = field(default_factory=list)
    reasons: dict[Key, str] = field(default_factory=dict)
    usages: list[Usage] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    unreadable: int = 0
    warnings: list[str] = field(default_factory=list)
    cutoffs: list[Cutoff] = field(default_factory=list)
    answerable: float | None = None
    restored: tuple[int, int, tuple[Verdict, ...]] | None = None

    @property
    def messages(self) -> list[str]:
        """All notes: the stage's, then what models say of single items, with how often."""
        often = Counter(usage.note for usage in self.usages if usage.note)
        items = [f"{text} ({times} times)" if times > 1 else text for text, times in often.items()]
        return [*self.notes, *sorted(items)]

    @property
    def dropped(self) -> list[Verdict]:
        """Segments that went in, or parts of them, and did not come out, in their order."""
        if self.restored:
            return [*self.restored[2]]
        from ragsieve.spans import left_out  # of traces that somebody looks at

        usual = f"not kept by {self.stage}"
        gone = left_out(self.before, self.after)
        return [Verdict(part, self.stage, self.reasons.get(s.key, usual)) for s, part in gone]

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON values; embedded texts are no calls.

        ``events``, ``warnings`` and ``answerable`` where there are some.
        """
        paid = [u for u in self.usages if not u.cached]
        sizes = self.restored or (len(self.before), len(self.after))
        embedded, cached = sum(u.embedded for u in paid), len(self.usages) - len(paid)
        told = {"events": self.events, "warnings": self.warnings}
        return {
            **{"stage": self.stage, "segments_in": sizes[0], "segments_out": sizes[1]},
            **{"calls": len(paid) - embedded, "embedded": embedded, "cached": cached},
            **{name: sum(getattr(u, name) for u in paid) for name in ("tokens_in", "tokens_out")},
            **{"unreadable": self.unreadable, "seconds": round(self.seconds, 4)},
            **{"notes": self.messages, "error": self.error},
            "dropped": [{**segment_to_dict(d.segment), "reason": d.reason} for d in self.dropped],
            **{name: some for name, some in told.items() if some},
            **({} if self.answerable is None else {"answerable": round(self.answerable, 4)}),
        }


def _repeated(step: Step) -> Step:
    """A step that costs nothing now."""
    return replace(step, seconds=0.0, usages=[one._replace(cached=True) for one in step.usages])


Observer = Callable[[Step], AbstractContextManager[object]]


class Call(NamedTuple):
    """A stage's call that did not fail: input, output, and its steps, those inside it first."""

    stage: str
    before: list[Segment]
    after: StageResult
    steps: tuple[Step, ...]


class Trace:
    """The record of one question: a `Step` for each stage that ran.

    Stages run inside ``with trace.recording():`` are recorded; elsewhere recording costs one look
    at a context variable.

    Args:
        earlier: The trace of the same question before, of whose calls those that would come again
            are not made: their steps are repeated, what they cost as cached.
        steps: Steps of it that are repeated whatever comes again.
    """

    def __init__(self, earlier: "Trace | None" = None, steps: Iterable[Step] = ()) -> None:
        self.steps = [*map(_repeated, steps)]
        self.notes: list[str] = [*earlier.notes] if earlier else []
        self.calls: list[Call] = []
        self._earlier = tuple(earlier.calls) if earlier else ()

    def repeated(self, stage: str, before: list[Segment]) -> Call | None:
        """The earlier call of a stage with the same input, now of this trace, too."""
        for known in self._earlier:
            if (known.stage, known.before) == (stage, before):
                known = known._replace(steps=(*map(_repeated, known.steps),))
                self.steps += known.steps
                self.calls.append(known)
                return known
        return None

    def keep(self, stage: str, before: list[Segment], after: StageResult, begin: int) -> None:
        """Let a call come again whose steps begin at a place, unless one of them failed."""
        steps = tuple(self.steps[begin:])
        if not any(map(attrgetter("error"), steps)):
            self.calls.append(Call(stage, [*before], after, steps))

    def recording(self) -> AbstractContextManager[Self]:
        """Record what runs in this thread until the block ends."""
        return setting(_trace, self)

    @property
    def answerable(self) -> float | None:
        """Probability that some document answers; None where no stage gave one."""
        return max((s.answerable for s in self.steps if s.answerable is not None), default=None)

    @property
    def warnings(self) -> list[str]:
        """What failed, what others did without, and that nothing answers: a line each."""
        lines = []
        for step in self.steps:
            skipped = [f"{step.stage} was skipped: {step.error}"] if step.error else []
            lines += [*step.warnings, *skipped]
        calls = [usage for step in self.steps for usage in step.usages if not usage.embedded]
        if 2 * (bad := sum(step.unreadable for step in self.steps)) > len(calls):
            lines.append(f"{bad} of {len(calls)} replies of models could not be read")
        if (chance := self.answerable) is not None and chance < UNANSWERED:
            lines.append(f"no document seems to answer ({chance:.0%})")
        return [*dict.fromkeys(lines)]

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON values."""
        steps = [s.to_dict() for s in self.steps]
        return {"steps": steps, "notes": self.notes, "warnings": self.warnings}


def running() -> Trace | None:
    """The trace that is recording, if any is."""
    return _trace.get()


_trace: ContextVar[Trace | None] = ContextVar("trace", default=None)
_step: ContextVar[Step | None] = ContextVar("step", default=None)
_observers: list[Observer] = []


def observe(observer: Observer) -> Callable[[], None]:
    """Enter ``observer(step)`` around every step of this process, until the result is called.

    The step is complete where the context ends. An observer must not raise. To call the result
    again does nothing.
    """
    _observers.append(observer)

    def end() -> None:
        with suppress(ValueError):  # it has ended before
            _observers.remove(observer)

    return end


@contextmanager
def step(stage: str, before: Sequence[Segment] = (), kind: Kind = "stage") -> Iterator[Step]:
    """Record what happens in the block as one step of the trace that is recording, if any is."""
    with ExitStack() as stack, collect_step() as current:
        current.stage, current.before, current.kind = stage, tuple(before), kind
        for observer in [*_observers]:
            stack.enter_context(observer(current))
        try:
            yield current
        finally:
            if trace := _trace.get():
                trace.steps.append(current)


@contextmanager
def collect_step() -> Iterator[Step]:
    """Collect what the block notes and spends, in a step that no trace records."""
    current = Step("")
    began = time.perf_counter()
    try:
        with setting(_step, current):
            yield current
    finally:
        current.seconds = time.perf_counter() - began


def note(text: str) -> None:
    """Record a line that a person should be able to read, in the running step.

    The step keeps it once, between steps the trace; where nothing is recorded this is a no-op.
    """
    record = _step.get() or _trace.get()
    if record and text not in record.notes:
        record.notes.append(text)


def _current() -> Step:
    """The step that is running; outside of any, one that is thrown away."""
    return _step.get() or Step("")


def warn(text: str) -> None:
    """Tell the running step what it does without; whoever asked shall see it; a no-op elsewhere."""
    _current().warnings.append(text)


def record_unreadable() -> None:
    """Count a reply that could not be read; a no-op outside a step."""
    _current().unreadable += 1


def log_event(text: str, event: str, **facts: Any) -> None:
    """Tell the running step what happened: a line for people, and the same as JSON values."""
    current = _current()
    current.notes.append(text)
    current.events.append({"event": event, **facts})


def set_answerable(probability: float) -> None:
    """Record how probable it is that some document answers, to four digits as JSON has it.

    A no-op outside a step.
    """
    _current().answerable = round(float(probability), 4)


def record_drop(segment: Segment, reason: str) -> None:
    """Tell the running step why ``segment`` goes; the first reason stands; a no-op elsewhere."""
    _current().reasons.setdefault(segment.key, reason)


def record_cutoff(cutoff: Cutoff) -> None:
    """Tell the running step at which number its stage cuts; a no-op elsewhere."""
    _current().cutoffs.append(cutoff)


def running_step() -> Step | None:
    """The step that is running, if any is: without one, nothing that it is told is kept."""
    return _step.get()


def record_usage(usages: Sequence[Usage]) -> None:
    """Charge the running step for a model call, one `Usage` an item; a no-op elsewhere."""
    current = _current()
    current.usages.extend(usages)
    who = "answer_tokens allows more" if current.kind == "reader" else current.stage
    for said in dict.fromkeys(map(attrgetter("note"), usages)):
        if said.startswith(CUT):
            current.warnings.append(f"{said}: {who.partition('(')[0]}")


def recorded_usages() -> tuple[Usage, ...]:
    """Usages of the running step so far; none outside a step."""
    return tuple(_current().usages)


def segment_to_dict(segment: Segment) -> dict[str, Any]:
    """A kept or dropped span as JSON values: where it is, what it says, its scores.

    Of a text that a model wrote also which one, and from which spans.
    """
    place = {"document": segment.document.id, "start": segment.start, "end": segment.end}
    said = {"text": segment.text, "score": segment.score if segment.scores else None}
    return {**place, **said, "scores": dict(segment.scores), **origin(segment.document)}


def origin(document: Document) -> dict[str, Any]:
    """Of a text that a model wrote, as JSON values, which one, and from which spans."""
    parents = [list(parent.key) for parent in document.parents]
    return {"written_by": document.written_by, "parents": parents} if document.written_by else {}
