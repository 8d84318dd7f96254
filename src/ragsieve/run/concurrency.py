"""Run a call for many questions, several at once, in their order; or piece by piece."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from contextvars import copy_context
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from ragsieve.documents import Documents
from ragsieve.errors import InputError
from ragsieve.result import Result
from ragsieve.schema import Count, check_number
from ragsieve.timeouts import P, Pool, T
from ragsieve.types import Answer, Example, Query, Segment

Question = Example | Query | str | tuple[Query | str, Documents | None]
"""A question with its documents, or one alone where the system has a source."""

S = TypeVar("S")

_QUOTA = Path("/sys/fs/cgroup/cpu.max")

Call = Callable[[Query | str, Documents | None], Result]
"""A system, or its ``ask``."""


def run_many(
    call: Call, questions: Iterable[Question], *, workers: int, progress: bool
) -> Iterator[Result]:
    """Results in the order of the questions, which are read as they are needed.

    Args:
        call: Gives the result of one question; called from several threads.
        questions: Any number; at most twice as many as `workers` are held at a time.
        workers: Questions at once; at least 1.
        progress: Whether to show a bar on the terminal.

    Raises:
        InputError: If ``workers`` is below 1, or a question is none.
    """
    check_number("workers", workers, Count)
    pairs = (_parts(question, place) for place, question in enumerate(questions))
    results = in_order(lambda pair: call(*pair), pairs, workers)
    if not progress:
        return results
    from rich.progress import track  # takes a tenth of a second

    total = len(questions) if isinstance(questions, Sequence) else None
    return iter(track(results, "questions", total=total))


def in_order(call: Callable[[S], T], items: Iterable[S], workers: int) -> Iterator[T]:
    """``call`` of each item, so many at once, in their order; see `run_many`."""
    pending: deque[Future[T]] = deque()
    errors: list[Exception] = []
    with closing(Pool(workers)) as pool:
        calls = (pool.submit(copy_context().run, call, item) for item in items)
        for future in until_error(calls, errors):
            pending.append(future)
            while pending and (pending[0].done() or len(pending) >= 2 * workers):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        for error in errors:
            raise error


def until_error(items: Iterable[S], errors: list[Exception]) -> Iterator[S]:
    """The same items; the error that ends them is kept, to be raised behind their results."""
    try:
        yield from items
    except Exception as error:
        errors.append(error)


def _parts(question: object, place: int) -> tuple[Query | str, Documents | None]:
    if isinstance(question, Example):
        return question.query, question.documents
    if isinstance(question, Query | str):
        return question, None
    if isinstance(question, tuple) and len(question) == 2:
        return question
    forms = "strings, Query, Example or pairs (question, documents)"
    raise InputError(f"questions must be {forms}, got {question!r:.80} at place {place}")


@runtime_checkable
class Streaming(Protocol):
    """A reader that can give its answer piece by piece."""

    def stream(self, query: Query, segments: Sequence[Segment], /) -> Generator[str, None, Answer]:
        """Pieces of the answer's text as they come; returns the answer."""


def in_own_context(pieces: Generator[T, None, None]) -> Iterator[T]:
    """The same pieces, made in a copy of this context: between them the caller's is as it was."""
    run, end = copy_context().run, cast(Any, object())
    try:
        yield from iter(lambda: run(next, pieces, end), end)
    finally:
        run(pieces.close)


async def in_thread(call: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """Result of ``call``, which runs in a thread of its own."""
    from asyncio import wrap_future  # takes 50 ms

    run = partial(copy_context().run, call, *arguments, **options)
    return await wrap_future(_threads(os.getpid()).submit(run))


@cache
def _threads(_process: int) -> Pool:
    """Threads of all calls of a process; a forked one has none of its parent's."""
    return Pool(32)


def cores() -> int:
    """Processors that this process may use: by its affinity, and by its control group's quota."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    with suppress(OSError, ValueError):  # no control group, or "max"
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        allowed = min(allowed, int(quota) // int(period))
    return max(allowed, 1)
