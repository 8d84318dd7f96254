"""The contract: sources, stages and readers, and the systems made of them.

A `System` joins a stage, mostly a `Pipeline` of stages, and a reader: documents in, kept spans and
an answer out.
"""

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from ragsieve.context.budget import ContextBudget, fit_parts
from ragsieve.context.budget import fit as fit
from ragsieve.context.choose import Rate
from ragsieve.context.limits import ReaderLike as ReaderLike
from ragsieve.documents import Documents, documents_and_places
from ragsieve.errors import InputError
from ragsieve.pipeline import Cuts as Cuts
from ragsieve.pipeline import Cutting, Rating, recorded
from ragsieve.pipeline import OnError as OnError
from ragsieve.pipeline import Pipeline as Pipeline
from ragsieve.pipeline import Source as Source
from ragsieve.pipeline import Stage as Stage
from ragsieve.result import Result, Tokens
from ragsieve.retriever import AnySource, as_source, evidence_of
from ragsieve.run.concurrency import Question, Streaming, in_own_context, in_thread, run_many
from ragsieve.structure import as_written, partial_lists
from ragsieve.trace import Trace, note, record_drop, step, warn
from ragsieve.types import USUAL, Answer, CutNumbers, Document, Layout, Query, Segment, StageResult
from ragsieve.types import best_first as best_first

if TYPE_CHECKING:
    from ragsieve.context.excerpts import DocumentExcerpts


@dataclass(frozen=True)
class System:
    """A whole method: documents in, the spans that matter out, and an answer when asked.

    Args:
        stage: What filters; usually a `Pipeline`.
        reader: What answers, and counts tokens.
        source: Finds evidence where the caller passes no documents; without one there is none. See
            `ragsieve.retriever.as_source` for those of others.
        budget: Limits of the context, which is never longer than all documents either.
        layout: How what is kept of a document is shown, where the document does not say otherwise.

    Raises:
        InputError: If ``source`` is none.
    """

    stage: Stage
    reader: ReaderLike
    source: AnySource | None = None
    budget: ContextBudget = field(default=ContextBudget(), kw_only=True)
    layout: Layout = field(default=USUAL, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if self.source is not None:
            object.__setattr__(self, "source", as_source(self.source))

    def __call__(self, query: Query | str, documents: Documents | None = None) -> Result:
        """Filter: keep the spans of ``documents`` that matter to ``query``.

        Args:
            query: The question, not blank.
            documents: Best first; a string is a document without a title, a mapping one with the
                key ``text`` (or another of `ragsieve.documents.TEXT_KEYS`), and where known ``id``,
                ``title``, ``source``; those of LangChain, LlamaIndex and Haystack are taken as they
                are. Two of one id and one text are one; of other equal ids, the later ones become
                ``id#2``, ``id#3``; the trace notes both.
                Where None, the source is asked, and what it finds, which may be spans of documents,
                is filtered.

        Raises:
            InputError: If the question or a document breaks a rule.
            ModelError: If a model failed and the stage does not say ``on_error="keep"``.
        """
        return self._filtered(query, documents)[0]

    def _filtered(
        self, query: Query | str, documents: Documents | None
    ) -> tuple[Result, Answer | None]:
        """The result, and the answer that a stage or the source already gave."""
        query = query if isinstance(query, Query) else Query(query)
        trace = Trace()
        with trace.recording():
            return self._cut(query, *self._evidence(query, documents), trace)

    def _cut(
        self, query: Query, inputs: tuple[Document, ...], evidence: StageResult, trace: Trace
    ) -> tuple[Result, Answer | None]:
        """The same of evidence; ``trace`` is recording, and has the steps of its source."""
        found = [*trace.steps]
        result = StageResult.of(self.stage(query, _with_text(evidence)), self.stage)
        kept, answer = [*result], result.answer or evidence.answer
        documents, read = _with_found(inputs, evidence, result.found)
        whole = self.reader.context([*map(as_written, read)])
        text = self.reader.context(kept)
        before, after = self.reader.count([whole, text])
        budget = self.budget
        limit = before if budget.max_tokens is None else min(before, budget.max_tokens)
        idle = budget.max_share is not None and budget.max_tokens is budget.max_chars is None
        # over the budget, or in a new order that needs more joints
        if idle or after > limit or (budget.has_others and budget.passed(kept, self.reader)):
            with step(f"System({budget!r})", kept) as record:
                if idle:
                    warn("max_share is a share of max_tokens or max_chars, of which none is given")
                finer, kept = fit_parts(kept, budget, self.reader, query, before, self.rate(query))
                record.before, record.after = tuple(finer), tuple(kept)
                record.warnings += partial_lists(kept, finer)
            text = self.reader.context(kept)
            before, after = self.reader.count([whole, text])

        def again(**numbers: Any) -> Result:
            with Trace(trace, found).recording() as anew:
                return self.at(**numbers)._cut(query, inputs, evidence, anew)[0]

        tokens = Tokens(before, after)
        return Result(query, documents, tuple(kept), text, tokens, trace, again=again), answer

    def excerpts(
        self, query: Query | str, documents: Documents | None = None
    ) -> "list[DocumentExcerpts]":
        """What is kept of each document as excerpts, the best first; arguments and errors as above.

        Limits are of the excerpts' texts, without titles, in all.
        """
        from ragsieve.context.excerpts import ExcerptReader, excerpts_of  # takes 30 ms

        return excerpts_of(replace(self, reader=ExcerptReader(self.reader))(query, documents))

    def ask(self, query: Query | str, documents: Documents | None = None) -> Result:
        """Filter, then let the reader answer from what was kept; arguments and errors as above.

        Control characters and lone surrogates of the answer become U+FFFD (`ragsieve.text.safe`).
        Where a stage has answered by itself, that is the answer and the reader is not asked.
        """
        *_, result = self._answered(query, documents)
        return cast(Result, result)

    def ask_stream(
        self,
        query: Query | str,
        documents: Documents | None = None,
        *,
        on_kept: Callable[[Result], object] | None = None,
    ) -> Iterator[str | Result]:
        """`ask`, as it goes: pieces of the answer's text as the model writes them, then the result.

        Joined, the pieces are the text of the result's answer; a warning says where a model's
        thoughts, which its template opens, were among them. Where the model or the reader cannot
        stream, or a stage has answered, there is one piece. Work begins, and errors come, with the
        first piece. ``on_kept`` is called with what was kept before the reader is asked.
        """
        from ragsieve.text import safe  # takes 40 ms

        pieces = in_own_context(self._answered(query, documents, stream=True, on_kept=on_kept))
        yield from (safe(piece) if isinstance(piece, str) else piece for piece in pieces)

    def _answered(
        self,
        query: Query | str,
        documents: Documents | None,
        stream: bool = False,
        on_kept: Callable[[Result], object] | None = None,
    ) -> Generator[str | Result, None, None]:
        from ragsieve.text import safe  # as above

        documents = () if documents is None and not self.source else documents
        result, answer = self._filtered(query, documents)
        if on_kept:
            on_kept(result)
        with result.trace.recording(), step(repr(self.reader), result.kept, "reader") as record:
            if stream and not answer and isinstance(self.reader, Streaming):
                answer = yield from self.reader.stream(result.query, result.kept)
                record.after = answer.segments
            elif answer:
                note("not asked: a stage before it has answered")
                record.after = result.kept
                yield answer.text
            else:
                answer = self.reader(result.query, result.kept)
                record.after = answer.segments
                yield answer.text
        answer = replace(answer, text=safe(answer.text), reply=safe(answer.reply))
        yield replace(result, answer=answer)

    def map(
        self,
        questions: Iterable[Question],
        *,
        answer: bool = False,
        workers: int = 8,
        progress: bool = False,
    ) -> Iterator[Result]:
        """Results of many questions, each as alone, in their order and as soon as they are there.

        Args:
            questions: Pairs ``(question, documents)`` or `Example`; questions alone where the
                system has a source. Any iterable: at most ``2 * workers`` are held at a time.
            answer: Whether the reader answers, as by `ask`.
            workers: Questions at once, in threads; at least 1.
            progress: Whether to show a bar on the terminal.

        Raises:
            InputError: If an option or a question breaks a rule; at its place, what a call raises.
        """
        call = self.ask if answer else self.__call__
        return run_many(call, questions, workers=workers, progress=progress)

    def batch(
        self,
        questions: Iterable[Question],
        *,
        answer: bool = False,
        workers: int = 8,
        progress: bool = False,
    ) -> list[Result]:
        """`map`, as a list."""
        return [*self.map(questions, answer=answer, workers=workers, progress=progress)]

    def map_dataset(
        self, dataset: Any, *, answer: bool = False, workers: int = 8, num_proc: int | None = None
    ) -> Any:
        """Results of a Hugging Face data set, a row a question: `ragsieve.run.dataframes.schema`.

        Args:
            dataset: Has the columns ``question`` and ``documents``; streaming ones go, too.
            answer: Whether the reader answers, as by `ask`.
            workers: Questions at once in a process.
            num_proc: Processes, of data sets that are not streamed.
        """
        from ragsieve.run import dataframes  # a first call needs no tables

        call = self.ask if answer else self
        return dataframes.map_dataset(call, dataset, workers=workers, num_proc=num_proc)

    async def acall(self, query: Query | str, documents: Documents | None = None) -> Result:
        """The same as calling the system, in a thread of its own: the event loop goes on."""
        return await in_thread(self, query, documents)

    async def aask(self, query: Query | str, documents: Documents | None = None) -> Result:
        """`ask` in a thread of its own: the event loop goes on."""
        return await in_thread(self.ask, query, documents)

    async def abatch(
        self, questions: Iterable[Question], *, answer: bool = False, workers: int = 8
    ) -> list[Result]:
        """`batch` in threads of its own: the event loop goes on."""
        return await in_thread(self.batch, questions, answer=answer, workers=workers)

    def with_budget(self, max_tokens: int | None) -> Self:
        """The same, with a context of at most ``max_tokens`` tokens; other limits stay."""
        return replace(self, budget=replace(self.budget, max_tokens=max_tokens))

    def with_answer_tokens(self, answer_tokens: int | None) -> Self:
        """The same, whose reader's answers have at most so many tokens; None: as it is."""
        if answer_tokens is None:
            return self
        if not hasattr(self.reader, "max_tokens"):
            raise InputError(f"answer_tokens needs a reader with max_tokens, not {self.reader!r}")
        return replace(self, reader=replace(cast(Any, self.reader), max_tokens=answer_tokens))

    def at(self, **numbers: Unpack[CutNumbers]) -> Self:
        """The same, cutting at other numbers; what is None stays as it is.

        Args:
            numbers: See `ragsieve.types.CutNumbers`.

        Raises:
            InputError: If a number breaks its rule, or no stage cuts at such a one.
        """
        limits: dict[str, Any] = {n: value for n, value in numbers.items() if value is not None}
        cuts, stage = Cuts(**{name: limits.pop(name, None) for name in Cuts._fields}), self.stage
        for name, value in cuts._asdict().items():
            if not (value is None or (isinstance(value, Real) and math.isfinite(value))):
                raise InputError(f"{name} must be a finite number, got {value!r:.80}")
        if cuts.keep_answer is not None and cuts.min_score is not None:
            raise InputError("name keep_answer or min_score, a threshold, not both")
        if isinstance(stage, Cutting):
            stage, cuts = stage.at(cuts)
        for name, value in cuts._asdict().items():
            if value is not None:
                raise InputError(f"no stage of this system cuts at {name}, got {value!r}")
        return replace(self, stage=stage, budget=replace(self.budget, **limits))

    def with_source(self, source: AnySource | None) -> Self:
        """The same, finding evidence by ``source`` where the caller passes no documents."""
        return replace(self, source=source)

    def lenient(self) -> Self:
        """The same, but a stage that fails is skipped: its input passes and the trace says so.

        A source that fails has found nothing.
        """
        stage = self.stage if isinstance(self.stage, Pipeline) else Pipeline(self.stage)
        return replace(self, stage=stage.lenient())

    def rate(self, query: Query) -> Rate | None:
        """What rates parts of a segment that a budget cuts; see `ragsieve.pipeline.Rating`."""
        return partial(self.stage.rated, query) if isinstance(self.stage, Rating) else None

    def _evidence(
        self, query: Query, documents: Documents | None
    ) -> tuple[tuple[Document, ...], StageResult]:
        """Segments to filter: of the caller's documents, else of the source."""
        if documents is not None or self.source is None:
            inputs = tuple(map(self._laid_out, documents_and_places(documents)[0]))
            return inputs, StageResult(map(Segment.whole, inputs))
        source = cast(Source, self.source)
        on_error = self.stage.on_error if isinstance(self.stage, Pipeline) else "raise"
        results = recorded(source, "source", [], lambda: self._found(source, query), on_error)
        return tuple({s.document.id: s.document for s in results}.values()), results

    def _found(self, source: Source, query: Query) -> StageResult:
        found = evidence_of(source, query)
        found[:] = [replace(s, document=self._laid_out(s.document)) for s in found]
        return found

    def _laid_out(self, document: Document) -> Document:
        """The document with the system's layout, where it has none of its own."""
        own = self.layout == USUAL or document.layout != USUAL
        return document if own else replace(document, layout=self.layout)


def _with_text(evidence: StageResult) -> StageResult:
    """The same without what has neither title nor text, and would take another's place."""
    full = [s for s in evidence if s.document.title.strip() or s.text.strip()]
    if len(full) == len(evidence):
        return evidence
    with step("System", evidence) as record:
        record.after = tuple(full)
        for segment in evidence:
            record_drop(segment, "neither title nor text")
    return StageResult(full, answer=evidence.answer, found=evidence.found)


def _with_found(
    documents: tuple[Document, ...], segments: Sequence[Segment], found: Sequence[Segment]
) -> tuple[tuple[Document, ...], list[Segment]]:
    """The same with what stages found by themselves."""
    if not found:
        return documents, [*segments]
    known = {segment.key for segment in segments}
    more = {s.key: s for s in found if s.key not in known}
    others = {s.document.id: s.document for s in more.values()}
    for document in documents:
        others.pop(document.id, None)
    return (*documents, *others.values()), [*segments, *more.values()]
