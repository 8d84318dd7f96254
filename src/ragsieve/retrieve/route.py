"""Choose which sources to ask, and ask them at once."""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ragsieve.errors import BadReply, InputError
from ragsieve.models.base import LLM, Embedder, Prompt, yes_probability
from ragsieve.pipeline import Source
from ragsieve.prompts import render, shown
from ragsieve.trace import (
    Step,
    Trace,
    log_event,
    note,
    overheard,
    record_unreadable,
    record_usage,
    warn,
)
from ragsieve.types import Document, Query, Segment, rounded

MAX_LATE = 64
"""A source that is still busy with so many questions that gave up on it is not asked again."""

_SHOWN = 2000  # characters of a question, so that a long one does not pass a model's context

ASKED = "ragsieve.source"
"""What a document's metadata call the source that it is from."""

RECORD = "ragsieve.record"
"""What the metadata of a document made of an API's answer call that answer."""


@dataclass(frozen=True)
class Named:
    """A source with what a router knows of it.

    Args:
        name: What the trace calls it, and the ids of its documents begin with; printable, not
            blank.
        description: What it holds, for a router.
        search: Gives evidence for a question, best first.
        timeout_s: Seconds after which it is left out, over 0 and at most 86,400.

    Raises:
        InputError: If ``name`` or ``timeout_s`` breaks its rule.
    """

    name: str
    description: str
    search: Source = field(repr=False)
    timeout_s: float = 20.0
    _late: set[threading.Thread] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name.strip() or not self.name.isprintable():
            raise InputError(f"name must be printable and not blank, got {self.name!r:.80}")
        if not 0 < self.timeout_s <= 86_400:
            got = f"{self.timeout_s!r:.80}"
            raise InputError(f"timeout_s must be over 0 and at most 86,400, got {got}")


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
class LLMRouter:
    """The sources that an LLM says would help, each asked about by itself, all in one batch.

    A source is chosen whose "yes" is at least as probable as ``min_probability``; one on which a
    model without ``choose`` stays unreadable is chosen, too. An LLM that was not trained for it
    makes answers worse (PruningRAG, table 8), and the trace says so.

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
    min_probability: float = 0.5
    trained: bool = False

    def __post_init__(self) -> None:
        _check_probability(self.min_probability)

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        if not self.trained:
            note("sources are chosen by an LLM that was not trained for it: answers may get worse")
        found = dict(zip(_names(sources), self.probabilities(query, sources), strict=True))
        return _chosen(found, self.min_probability, found if self.trained else ())

    def probabilities(self, query: Query, sources: Sequence[Named], /) -> list[float]:
        """How probably each source helps, in [0, 1]; 1 where a reply stays unreadable."""
        replies = yes_probability(self.llm, [asked(query, source) for source in sources])
        for source, reply in zip(sources, replies, strict=True):
            if isinstance(reply, BadReply):
                note(f"unreadable twice, so {source.name} is asked: {reply}")
        return [1.0 if isinstance(reply, BadReply) else reply for reply in replies]


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
    min_probability: float = 0.5

    def __post_init__(self) -> None:
        if len({len(row) for row in self.weights}) > 1:
            raise InputError("weights must be rows of one length")
        if not 0 < len(self.names) == len(self.weights) == len(self.bias):
            raise InputError(f"weights and bias must be {len(self.names)}, one a source")
        if not all(map(math.isfinite, [*self.bias, *(w for row in self.weights for w in row)])):
            raise InputError("weights and bias must be finite")
        _check_probability(self.min_probability)

    def __call__(self, query: Query, sources: Sequence[Named], /) -> list[str]:
        known = self.probabilities(query)
        found = {name: known.get(name, 1.0) for name in _names(sources)}
        return _chosen(found, self.min_probability, [name for name in found if name in known])

    def probabilities(self, query: Query, /) -> dict[str, float]:
        """How probably each source that it knows leads to a right answer, in [0, 1]."""
        vector = self.embedder.embed([query.text], query=True)[0]  # (dim,)
        weights = np.array(self.weights)  # (n_sources, dim)
        if weights.shape[1:] != vector.shape:
            raise InputError(
                f"embedder must give {weights.shape[1]} numbers a text, got {vector.shape[0]}"
            )
        logits = np.clip(weights @ vector + np.array(self.bias), -500, 500)  # (n_sources,)
        return dict(zip(self.names, (1 / (1 + np.exp(-logits))).tolist(), strict=True))


class Evidence(NamedTuple):
    """What became of asking one source: its evidence, or why it was left out, and how long."""

    name: str
    segments: list[Segment]
    error: str
    seconds: float


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
        taken = [source for source in self.sources if source.name in chosen]
        left = [name for name in names if name not in chosen]
        shown_taken, shown_left = ", ".join(_names(taken)), ", ".join(left)
        said = f"asked: {shown_taken or 'none'}; not asked: {shown_left or 'none'}"
        log_event(said, "sources", asked=_names(taken), left=left)
        return _merged(ask(taken, query))


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
    running = [_Asked(source, query) for source in sources]
    return [one.evidence() for one in running]


class _Asked:
    """A source that is being asked, in a thread and with a trace of its own."""

    def __init__(self, source: Named, query: Query) -> None:
        self._source = source
        self._began = time.monotonic()
        self._found: list[Segment] = []
        self._error = ""
        self._heard: tuple[Trace, Step] | None = None
        self._refused = ""  # why it is not asked
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._ask, query), daemon=True)
        if _busy(source):
            self._refused = f"it is still busy with {MAX_LATE} questions that gave up on it"
            return
        try:
            self._thread.start()
        except RuntimeError as error:  # the system has no thread left
            self._refused = str(error)

    def _ask(self, query: Query) -> None:
        trace = Trace()  # not the caller's: a late thread must not write into what was handed out
        with trace.recording(), overheard() as step:
            try:
                self._found = _checked(self._source.search(query))
            except (Exception, SystemExit) as error:  # anyone's source: its own evidence is lost
                self._error = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        self._heard = trace, step

    def evidence(self) -> Evidence:
        """What it gave, once that is there; what it told and spent is now the running step's."""
        name, limit = self._source.name, self._source.timeout_s
        if self._refused:
            return self._left_out(self._refused)
        self._thread.join(max(0.0, self._began + limit - time.monotonic()))
        heard = self._heard
        if heard is None:
            self._source._late.add(self._thread)
            return self._left_out(f"not done after {limit:g} s")
        story = _charged(name, *heard)
        if self._error:
            return self._left_out(self._error, story)
        seconds = heard[1].seconds
        said = f"{name}: {len(self._found)} found"
        facts = {"name": name, "found": len(self._found), "seconds": round(seconds, 4)}
        log_event(said, "source", **facts, **({"story": story} if story else {}))
        return Evidence(name, self._found, "", seconds)

    def _left_out(self, reason: str, story: Sequence[Any] = ()) -> Evidence:
        name, seconds = self._source.name, time.monotonic() - self._began
        facts = {"name": name, "error": reason, "seconds": round(seconds, 4)}
        said = f"{name} was left out: {reason}"
        log_event(f"warning: {said}", "source", **facts, story=[*story])
        warn(said)
        return Evidence(name, [], reason, seconds)


def _busy(source: Named) -> bool:
    """Whether too many threads still ask ``source`` for questions that gave up on it."""
    source._late.difference_update([t for t in source._late.copy() if not t.is_alive()])
    return len(source._late) >= MAX_LATE


def _charged(name: str, trace: Trace, own: Step) -> list[dict[str, Any]]:
    """Charge the running step with what a source did, steps inside it included; its story."""
    story: list[dict[str, Any]] = []
    for text in trace.notes:
        note(f"{name}: {text}")
    for step in (*trace.steps, own):
        record_usage(step.usages)
        story += step.story
        for text in step.notes:  # what is said of single items goes with the usages
            note(f"{name}: {text}")
        for text in step.warnings:
            warn(f"{name}: {text}")
        for _ in range(step.unreadable):
            record_unreadable()
    return story


def _checked(found: object) -> list[Segment]:
    if not isinstance(found, list | tuple):
        raise InputError(f"a source must give a list of segments, got a {type(found).__name__}")
    for one in found:
        if not isinstance(one, Segment):
            raise InputError(f"a source must give segments, got a {type(one).__name__} among them")
    return [*found]


def _merged(evidence: Sequence[Evidence]) -> list[Segment]:
    """Spans source by source; each document has an id and a rank of its own."""
    made: dict[tuple[str, str, str, str], Document] = {}
    ids: set[str] = set()
    merged: dict[tuple[str, int, int], Segment] = {}
    for name, segments, _, _ in evidence:
        for segment in segments:
            old = segment.document
            key = (name, old.id, old.title, old.text)
            if key not in made:
                fresh = f"{name}/{old.id}"
                while fresh in ids:  # another text by the same id
                    fresh += "'"
                ids.add(fresh)
                told = {**old.metadata, ASKED: name}
                made[key] = replace(old, id=fresh, rank=len(made), metadata=told)
            moved = replace(segment, document=made[key])
            merged.setdefault(moved.key, moved)
    return [*merged.values()]


def asked(query: Query, source: Named) -> Prompt:
    """What an LLM is asked about a source."""
    about = " ".join(f"{source.name}: {source.description}".split())
    return render("route", question=shown(query.text, _SHOWN), source=about)


def _chosen(found: dict[str, float], least: float, one_of: Iterable[str]) -> list[str]:
    """What reaches ``least``, and the best of ``one_of`` though it may not."""
    found = {name: rounded(value) for name, value in found.items()}
    best = max(one_of, key=found.__getitem__, default="")
    return [name for name, value in found.items() if value >= least or name == best]


def _names(sources: Sequence[Named]) -> list[str]:
    return [source.name for source in sources]


def _check_probability(value: float) -> None:
    if not 0 <= value <= 1:
        raise InputError(f"min_probability must lie in [0, 1], got {value!r}")
