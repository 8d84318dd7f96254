"""The base of every adapter: name the documents, filter, return what was kept of each."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self

from ragsieve import errors, spec
from ragsieve.context.budget import ContextBudget
from ragsieve.documents import as_documents
from ragsieve.errors import InputError, check_choice, typed_line
from ragsieve.models.reopen import once
from ragsieve.result import Result
from ragsieve.schema import read
from ragsieve.spec import SystemSpec
from ragsieve.structure import text_of
from ragsieve.system import OnError, System
from ragsieve.systems.base import divided, limited
from ragsieve.trace import origin
from ragsieve.types import Document, Segment, Span, T, grouped

logger = logging.getLogger(__name__)

KEY = "ragsieve"
"""Key of a document's metadata that says what was kept of it."""
RETRIEVED = "retriever_score"
"""Key of a document's metadata with the score that it came with."""

_ARGUMENTS = ("system", "llm", "embedder", "options", "max_tokens", "on_error")
_SOURCES = ("source", "url", "file_path")


class Kept(NamedTuple):
    """The spans kept of one document.

    Args:
        document: The document as the system knows it.
        place: Which of the framework's documents it is, from 0; None where a model wrote it, or a
            stage found it.
        text: The kept spans as the reader reads them: see `ragsieve.structure.joined`.
        score: The best of the spans' last scores; None where nothing scored them.
        about: JSON values for the metadata: ``spans``, each with ``start``, ``end`` and ``scores``
            by name; ``answerable``, the probability that some document answers the question, None
            where nothing tells it; where a model wrote the text, ``written_by`` and ``parents``, a
            list of ``[id, start, end]``.
    """

    document: Document
    place: int | None
    text: str
    score: float | None
    about: dict[str, Any]

    @property
    def metadata(self) -> dict[str, Any]:
        """Metadata of a document that the framework did not bring."""
        document = self.document
        return {**document.metadata, "title": document.title, "source": document.source}

    @property
    def extent(self) -> Span | None:
        """The characters of the document that are the text; None where some between are left out.

        Parts of a document that were joined as they stand there are one.
        """
        spans = self.about["spans"]
        start, end = min(s["start"] for s in spans), max(s["end"] for s in spans)
        return (start, end) if self.document.text[start:end] == self.text else None

    def marked(
        self, metadata: Mapping[str, Any], offset: str = "", retrieved: float | None = None
    ) -> dict[str, Any]:
        """Metadata of the whole document as those of the text, with what was kept under `KEY`.

        Args:
            metadata: What the framework's document has.
            offset: The key under which a framework's splitter puts the document's place in what it
                was cut from: it becomes that of the text, None where the text has more than one.
            retrieved: The score that the framework's document came with, under `RETRIEVED`.
        """
        start = metadata.get(offset)
        moved: dict[str, int | None] = {}
        if type(start) is int and start >= 0:  # LangChain puts -1 where it does not know
            moved = {offset: start + self.extent[0] if self.extent else None}
        came = {} if retrieved is None else {RETRIEVED: retrieved}
        return {**metadata, **moved, **came, KEY: self.about}


@dataclass(frozen=True)
class Filtered(Generic[T]):
    """The result of an adapter.

    Args:
        documents: The framework's documents, in the order in which they are to be read.
        result: What the system made of them; None where it failed.
        error: How it failed, in a line; empty where it did not.
    """

    documents: list[T]
    result: Result | None = None
    error: str = ""

    @property
    def report(self) -> dict[str, Any]:
        """Tokens before and after, ``answerable``, the whole trace, ``error``, as JSON values."""
        values = self.result.to_dict(documents=False) if self.result else {}
        known = {name: values.get(name) for name in ("tokens", "answerable", "trace")}
        return {**known, "error": self.error}


class Adapter:
    """A system as a framework sees it: documents in, what is kept of them out, first read first.

    Many threads may share one: it makes its system once. A copy is the same adapter.

    Args:
        system: A system, or the name of one or of a trained filter, which is then loaded when it is
            first needed; with options of its own at once, which checks them.
        llm: The generator of a system by name, as `ragsieve.models.load` takes it, which counts
            tokens also where it answers nothing; the usual one, see `ragsieve.load`, where None.
        embedder: The embedder of a system by name, likewise.
        options: Options of a system by name; of any system also the limits of
            `ragsieve.context.budget.ContextBudget`, as ``max_chars``.
        max_tokens: Budget of all that is kept, in the generator's tokens; the system's own if None.
        on_error: ``"keep"``: a stage that fails is skipped, and where that does not help, the
            documents come back as they were, over the budget too; a warning is logged.
            ``"raise"``: what fails raises. An argument that breaks its rule raises in both.
        own: Options by their own names, as ``keep_answer=0.8``.

    Raises:
        InputError: If there is no such system, model or option, or one breaks its rule.
    """

    def __init__(
        self,
        system: System | str = "finefilter",
        llm: str | None = None,
        embedder: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        on_error: OnError = "keep",
        **own: Any,
    ) -> None:
        self.system, self.llm, self.embedder = system, llm, embedder
        self.options, self.max_tokens = with_own(options, own), max_tokens
        self.on_error = on_error
        self.lock = threading.Lock()
        self._check()

    def _check(self) -> None:
        check_choice(OnError, on_error=self.on_error)
        if not isinstance(self.options, Mapping) or {*map(type, self.options)} - {str}:
            raise InputError(f"options must be values by name, got {self.options!r:.80}")
        ContextBudget(max_tokens=self.max_tokens)
        options, _ = divided(self.options)
        if isinstance(self.system, System):
            if self.llm or self.embedder or options:
                raise InputError("llm, embedder and options go with a system by name, not a System")
            return
        named = {"system": self.system, "options": {**self.options}, "llm": self.llm}
        own = {} if self.embedder is None else {"embedder": self.embedder}
        read(SystemSpec, {**named, **own}).check()
        if options:
            # of the place where it is made
            with suppress(errors.ModelError, errors.StoreError, errors.MissingExtra):
                _ = self.loaded

    def __reduce__(self) -> tuple[type[Adapter], tuple[Any, ...]]:
        return type(self), tuple(self.arguments.values())

    def __deepcopy__(self, _: object) -> Self:
        return self  # else a framework's copy of a program would copy its models

    @property
    def arguments(self) -> dict[str, Any]:
        """Its arguments by name, those by names of their own among the options."""
        return {name: getattr(self, name) for name in _ARGUMENTS}

    @once
    def loaded(self) -> System:
        """The system, ready to run."""
        if isinstance(self.system, System):
            system = limited(self.system, self.options)
        else:
            system = spec.load(self.system, self.llm, self.embedder, options=self.options)
        system = system.at(max_tokens=self.max_tokens)
        return system.lenient() if self.on_error == "keep" else system

    def __call__(
        self,
        question: str,
        documents: Sequence[T],
        read: Callable[[T], Mapping[str, Any] | None],
        write: Callable[[T | None, Kept], T],
        on_result: Callable[[Result], object] | None = None,
    ) -> Filtered[T]:
        """The documents of which something is kept, in the order in which they are to be read.

        Those that cannot be read come last, as they were. Of two with one id and one text only the
        first is there.

        Args:
            question: The question.
            documents: The framework's documents, best first; none is changed.
            read: A document as `read_document` gives it; None of one without text.
            write: A copy of a document with what is kept of it; of None, a new one.
            on_result: Called with the result; where it fails, so has the adapter.
        """
        documents = [*documents]  # an iterator, too, comes back whole
        try:
            texts = {n: text for n, d in enumerate(documents) if (text := read(d)) is not None}
            unread = [d for n, d in enumerate(documents) if n not in texts]
            named = [{**text, "id": text.get("id") or str(n)} for n, text in texts.items()]
            result = self.loaded(question, named)
            given = [*texts]
            places = [given[document.rank] for document in as_documents(named)]
            found = kept(result, places)
            written = [write(None if k.place is None else documents[k.place], k) for k in found]
            if on_result:
                on_result(result)
            if unread:
                counts = len(unread), len(documents)
                logger.warning("%d of %d documents have no text: they pass as they were", *counts)
            return Filtered([*written, *unread], result)
        except Exception as error:  # anyone's stage: "keep" promises the documents, whatever fails
            if self.raises(error):
                raise
            line = typed_line(error)
            logger.warning("documents pass as they were, ragsieve failed: %s", line)
            return Filtered(documents, None, line)

    def warm_up(self) -> None:
        """Make the system now, where nobody waits for an answer."""
        try:
            _ = self.loaded
        except Exception as error:  # as above; the next call tries again, and logs what fails
            if self.raises(error):
                raise

    def raises(self, error: Exception) -> bool:
        """Whether an error is raised: with ``"keep"`` only one of the arguments."""
        of_arguments = isinstance(error, InputError) and "loaded" not in vars(self)
        return self.on_error == "raise" or of_arguments

    def to_dict(self) -> dict[str, Any]:
        """The arguments as JSON values, for a framework that writes its pipelines down.

        Raises:
            InputError: If the system is none by name.
        """
        if not isinstance(self.system, str):
            raise InputError("only a system by name can be written down, got a System")
        return {**self.arguments, "options": dict(self.options)}


def with_own(options: Any, own: Mapping[str, Any]) -> Any:
    """Options of a call, with those that are arguments by their own names.

    Raises:
        InputError: If one is named in both ways.
    """
    if not isinstance(options, Mapping | None):
        return options
    if twice := {*own} & {*(options or {})}:
        raise InputError(f"name {min(twice)} or options[{min(twice)!r}], not both")
    return {**(options or {}), **own}


def read_document(name: str | None, text: object, metadata: object) -> dict[str, Any] | None:
    """A framework's document as `ragsieve.System` takes it; None of one without text.

    Args:
        name: Its id, if it has one.
        text: Its text.
        metadata: Its metadata: ``title`` is read, and as the source the first text among
            ``source``, ``url`` and ``file_path``.
    """
    if not isinstance(text, str):
        return None
    known = metadata if isinstance(metadata, Mapping) else {}
    texts = {key: value for key, value in known.items() if isinstance(value, str)}
    source = next((texts[key] for key in _SOURCES if texts.get(key)), "")
    title = texts.get("title", "")
    return {"id": name, "text": text, "title": title, "source": source, "metadata": known}


def kept(result: Result, places: Sequence[int]) -> list[Kept]:
    """Kept spans of each document, in the order in which its first span is read.

    Args:
        result: What a system made of documents.
        places: Where each of them stands among the framework's, as the system took them.
    """
    documents = result.documents[: len(places)]
    place = {document.id: n for document, n in zip(documents, places, strict=True)}
    spans = grouped(result.kept, lambda s: (s.document.id, s.document.written_by))
    chance = probability(result)
    return [_kept(None if by else place.get(name), of, chance) for (name, by), of in spans.items()]


def probability(result: Result) -> float | None:
    """A result's ``answerable`` as JSON has it."""
    return None if result.answerable is None else round(result.answerable, 4)


def over_limits(result: Result) -> dict[str, str]:
    """Text in the place of each document, by its id, of which a limit left something out."""
    steps = (s for s in result.trace.steps if s.stage.startswith(("System(", "ToolRule(")))
    limits = {d.segment.document.id: d.reason.split(" pass ")[-1] for s in steps for d in s.dropped}
    return {name: f"[what matters does not fit {limit}]" for name, limit in limits.items()}


def _kept(place: int | None, spans: Sequence[Segment], answerable: float | None) -> Kept:
    document = spans[0].document
    scored = [(s, {name: float(score) for name, score in s.scores.items()}) for s in spans]
    values = [{"start": s.start, "end": s.end, "scores": scores} for s, scores in scored]
    about = {"spans": values, "answerable": answerable, **origin(document)}
    scores = [float(s.score) for s in spans if s.scores]
    return Kept(document, place, text_of(spans), max(scores, default=None), about)
