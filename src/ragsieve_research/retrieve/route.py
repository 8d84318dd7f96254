"""Choose which sources to ask, and ask them concurrently."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from ragsieve.documents import unused_id
from ragsieve.errors import InputError, typed_line
from ragsieve.models.base import LLM, Embedder, Prompt
from ragsieve.prompts import render
from ragsieve.retriever import SOURCE_KEY, AnySource, as_source, segments_of
from ragsieve.schema import Options, Probability, check_options
from ragsieve.system import Source
from ragsieve.timeouts import seconds_left, start, until
from ragsieve.trace import (
    Step,
    Trace,
    collect_step,
    log_event,
    note,
    record_unreadable,
    record_usage,
    warn,
)
from ragsieve.types import Document, Query, Segment, rounded
from ragsieve_research.models.choices import yes_probability
from ragsieve_research.models.parsed import readable
from ragsieve_research.prompts import shown

MAX_LATE = 64
"""A source that is still busy with so many questions that gave up on it is not asked again."""

_SHOWN = 2000  # characters of a question, so that a long one does not pass a model's context

RECORD = "ragsieve.record"
"""Key of an API's answer in the metadata of a document made of it."""


@dataclass(frozen=True)
class Named:
    """A source with what a router knows of it.

    Args:
        name: What the trace calls it, and the ids of its documents begin with; printable, not
            blank.
        description: What it holds, for a router.
        search: Gives evidence for a question, best first; whatever `ragsieve.retriever.as_source`
            takes.
        timeout_s: Seconds after which it is left out, over 0 and at most 86,400; None for no limit,
            as suits what computes here: it may have to wait while a local model writes.

    Raises:
        InputError: If ``name``, ``search`` or ``timeout_s`` breaks its rule.
    """

    name: str
    description: str
    search: AnySource = field(repr=False)
    timeout_s: float | None = 20.0
    late: set[Future[Any]] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise InputError(f"name must be printable and not blank, got {self.name!r:.80}")
        if self.timeout_s is not None and not 0 < self.timeout_s <= 86_400:
            got = f"{self.timeout_s!r:.80}"
            raise InputError(f"timeout_s must be over 0 and at most 86,400, got {got}")
        object.__setattr__(self, "search", as_source(self.search))


def nothing(_query: Query, /) -> list[Segment]:
    """No evidence: what a source gives that stands for the model's own memory."""
    return []


class Router(Protocol):
    """Chooses sources for a question."""

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        """Names of the sources to ask; none where the model shall answer by itself."""


@dataclass(frozen=True)
class AskAll:
    """Every source: no routing."""

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        return [source.name for source in sources]


@dataclass(frozen=True)
class Only:
    """The same sources for every question.

    Args:
        names: Of the sources to ask; none where the model shall answer by itself.
    """

    names: tuple[str, ...]

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        return [*self.names]


@dataclass(frozen=True)
class LLMRouter(Options):
    """The sources that an LLM says would help, each asked about by itself, all in one batch.

    A source is chosen whose "yes" is at least as probable as ``min_probability``; one on which the
    model stays unreadable is not, unless that is all of them: then the first is. An LLM that was
    not trained for it makes answers worse (PruningRAG, table 8), and the trace says so.

    Args:
        llm: Decides.
        min_probability: In [0, 1].
        trained: Whether ``llm`` was trained for it: then the trace holds no warning, and the
            most probable source is chosen though it may stay below ``min_probability``.

    Raises:
        InputError: If ``min_probability`` is out of range.
        ModelError: If the model fails.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.1.
    Differs: One decision a source, in place of one on the subset, so that a single pass decides
        whatever the number of sources.
    """

    llm: LLM
    min_probability: Probability = 0.5
    trained: bool = False

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        if not self.trained:
            warn("sources are chosen by an LLM that was not trained for it: answers may get worse")
        values = dict(zip(_names(sources), self.probabilities(query, sources), strict=True))
        return _chosen(values, self.min_probability, values if self.trained else ())

    def probabilities(self, query: Query, sources: Sequence[Named], /) -> list[float]:
        """Probabilities that each source helps, in [0, 1]; 0 where a reply stays unreadable.

        1 for the first one where all do.
        """
        replies = yes_probability(self.llm, [router_prompt(query, source) for source in sources])
        if sources and all(reply is None for reply in replies):
            note(f"no reply could be read, so {sources[0].name} alone is asked")
            return [1.0] + [0.0] * (len(sources) - 1)
        pairs = zip(sources, replies, strict=True)
        return [readable(reply, 0.0, f"{source.name} is not asked") for source, reply in pairs]


@dataclass(frozen=True)
class LightRouter:
    """The sources whose learnt probability reaches ``min_probability``; of those known, the best.

    A logistic regression on the question's embedding for each source: no LLM is asked.

    Args:
        embedder: The one it was trained with.
        names: Sources it knows, in the order of the rows; one it does not know is chosen.
        weights: A row a source, ``(n_sources, dim)``.
        bias: ``(n_sources,)``.
        min_probability: In [0, 1].

    Raises:
        InputError: If the shapes do not fit, a number is not finite, or ``min_probability`` is out
            of range; on a question, if the embedder has another ``dim``.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.1, its labels.
    Differs: A regression on embeddings where the paper tunes an LLM.
    """

    embedder: Embedder
    names: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...] = field(repr=False)
    bias: tuple[float, ...] = field(repr=False)
    min_probability: Probability = 0.5

    def __post_init__(self) -> None:
        if len({len(row) for row in self.weights}) > 1:
            raise InputError("weights must be rows of one length")
        if not 0 < len(self.names) == len(self.weights) == len(self.bias):
            raise InputError(f"weights and bias must be {len(self.names)}, one a source")
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias).all()):
            raise InputError("weights and bias must be finite")
        check_options(self)

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        known = self.probabilities(query)
        values = {name: known.get(name, 1.0) for name in _names(sources)}
        return _chosen(values, self.min_probability, [name for name in values if name in known])

    def probabilities(self, query: Query, /) -> dict[str, float]:
        """Probabilities that the sources it knows lead to a right answer, in [0, 1]."""
        vector = self.embedder.embed([query.text], query=True)[0]  # (dim,)
        weights = np.array(self.weights)  # (n_sources, dim)
        if weights.shape[1:] != vector.shape:
            raise InputError(
                f"embedder must give {weights.shape[1]} numbers a text, got {vector.shape[0]}"
            )
        logits = np.clip(weights @ vector + np.array(self.bias), -500, 500)  # (n_sources,)
        return dict(zip(self.names, (1 / (1 + np.exp(-logits))).tolist(), strict=True))


class Evidence(NamedTuple):
    """The results of one source, or the error it was left out by, with its warnings."""

    name: str
    segments: list[Segment]
    error: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Routed:
    """A source made of several: a router chooses, and those it chose are asked at once.

    One that fails, or is not done in its time, is left out, and the trace says so. The evidence
    stands source by source in their order, and its documents are ranked so; ids begin with the
    source's name and a slash.

    Args:
        sources: With different names; at least one.
        router: Chooses among them.

    Raises:
        InputError: If there is no source, two have one name, or the router chooses what is none.
        ModelError: If the router fails.

    Source: PruningRAG (arXiv 2409.13694), section 4.2.1.
    """

    sources: tuple[Named, ...]
    router: Router = field(default_factory=AskAll)

    def __post_init__(self) -> None:
        check_names(self.sources)

    def __call__(self, query: Query, /) -> list[Segment]:
        names = _names(self.sources)
        chosen = {*self.router(query, self.sources)}
        if unknown := chosen - {*names}:
            raise InputError(f"router must choose among {', '.join(names)}, got {unknown.pop()!r}")
        sources = [source for source in self.sources if source.name in chosen]
        asked, left = _names(sources), [name for name in names if name not in chosen]
        text = f"asked: {', '.join(asked) or 'none'}; not asked: {', '.join(left) or 'none'}"
        log_event(text, "sources", asked=asked, left=left)
        return _merged(ask(sources, query))


def check_names(sources: Sequence[Named]) -> None:
    """Raise `InputError` unless there are sources, each with a name of its own."""
    names = _names(sources)
    if not names:
        raise InputError("sources must not be empty")
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"names of sources must differ, got {twice!r} twice")


def ask(sources: Sequence[Named], query: Query) -> list[Evidence]:
    """Ask all sources at once, and wait for each as long as it may take.

    What they noted and spent becomes the running step's, in the order of the sources; of one that
    is left out for being late, nothing does. A source that does not stop keeps its thread.
    """
    running = [(source, time.monotonic(), _start(source, query)) for source in sources]
    return [_evidence(*search) for search in running]


class _Outcome(NamedTuple):
    """Results of a search, with a trace of its own: a late one must not write into the caller's."""

    segments: list[Segment]
    error: str
    trace: Trace
    step: Step


def _start(source: Named, query: Query) -> Future[_Outcome] | str:
    """The search, or why there is none."""
    source.late.difference_update([late for late in source.late.copy() if late.done()])
    if len(source.late) >= MAX_LATE:
        return f"it is still busy with {MAX_LATE} questions that gave up on it"
    try:
        with _limit(source, time.monotonic()):
            return start(lambda: _searched(source, query))
    except RuntimeError as error:  # the system has no thread left
        return str(error)


def _limit(source: Named, began: float) -> AbstractContextManager[object]:
    return until(math.inf if source.timeout_s is None else began + source.timeout_s)


def _searched(source: Named, query: Query) -> _Outcome:
    trace, segments, reason = Trace(), list[Segment](), ""
    with trace.recording(), collect_step() as step:
        try:
            segments = segments_of(cast(Source, source.search), query)
        except (Exception, SystemExit) as error:  # anyone's source: its own evidence is lost
            reason = typed_line(error, 500)
    return _Outcome(segments, reason, trace, step)


def _evidence(source: Named, began: float, running: Future[_Outcome] | str) -> Evidence:
    """Results of a search in time; its notes and costs are now the running step's."""
    if isinstance(running, str):
        return _left_out(source, running, began)
    limit = source.timeout_s
    try:
        with _limit(source, began):
            segments, error, trace, step = running.result(seconds_left())
    except TimeoutError:
        source.late.add(running)
        own = limit is not None and time.monotonic() >= began + limit
        reason = f"not done after {limit:g} s" if own else "the time for a reply is over"
        return _left_out(source, reason, began)
    events, warnings = _charge(source.name, [*trace.steps, step], trace.notes)
    if error:
        return _left_out(source, error, began, events)
    facts = {"name": source.name, "found": len(segments), "seconds": round(step.seconds, 4)}
    more = {"events": events} if events else {}
    log_event(f"{source.name}: {len(segments)} found", "source", **facts, **more)
    return Evidence(source.name, segments, warnings=warnings)


def _left_out(source: Named, reason: str, began: float, events: Sequence[Any] = ()) -> Evidence:
    seconds = round(time.monotonic() - began, 4)
    facts = {"name": source.name, "error": reason, "seconds": seconds}
    text = f"{source.name} was left out: {reason}"
    log_event(f"warning: {text}", "source", **facts, events=[*events])
    warn(text)
    return Evidence(source.name, [], reason)


def _charge(
    name: str, steps: Sequence[Step], notes: Sequence[str]
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Charge the running step with what a source did; its events and warnings."""
    for text in (*notes, *(text for step in steps for text in step.notes)):
        note(f"{name}: {text}")
    warnings = tuple(text for step in steps for text in step.warnings)
    for text in warnings:
        warn(f"{name}: {text}")
    for step in steps:
        record_usage(step.usages)
        for _ in range(step.unreadable):
            record_unreadable()
    return [event for step in steps for event in step.events], warnings


def _merged(evidence: Sequence[Evidence]) -> list[Segment]:
    """Spans source by source; each document has an id and a rank of its own."""
    documents: dict[tuple[str, str, str, str], Document] = {}
    used: Counter[str] = Counter()
    merged: dict[tuple[str, int, int], Segment] = {}
    for name, segments, *_ in evidence:
        for segment in segments:
            old = segment.document
            key = (name, old.id, old.title, old.text)
            if key not in documents:
                id_ = unused_id(f"{name}/{old.id}", used)  # another text may have this one's
                metadata = {**old.metadata, SOURCE_KEY: name}
                documents[key] = replace(old, id=id_, rank=len(documents), metadata=metadata)
            moved = replace(segment, document=documents[key])
            merged.setdefault(moved.key, moved)
    return [*merged.values()]


def router_prompt(query: Query, source: Named) -> Prompt:
    """The question to an LLM whether a source would help."""
    about = " ".join(f"{source.name}: {source.description}".split())
    return render("route", question=shown(query.text, _SHOWN), source=about)


def _chosen(probabilities: dict[str, float], least: float, one_of: Iterable[str]) -> list[str]:
    """The names that reach ``least``, and the best of ``one_of`` though it may not."""
    values = {name: rounded(value) for name, value in probabilities.items()}
    best = max(one_of, key=values.__getitem__, default="")
    return [name for name, value in values.items() if value >= least or name == best]


def _names(sources: Sequence[Named]) -> list[str]:
    return [source.name for source in sources]
