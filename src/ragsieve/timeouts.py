"""A moment at which waiting ends, and work in threads that nobody has to wait for."""

import contextvars
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

from ragsieve.errors import Overdue

P = ParamSpec("P")
PROGRESS = 25  # level of log lines that say how far something is: the command line shows them

T = TypeVar("T")

_OVER = "the time for a reply is over"
Ends = Callable[[], float]
"""Says a moment of `time.monotonic`, which may come to be an earlier one."""

NEVER = -math.inf
"""The moment of work that nobody waits for any more, not even for what it has so far."""


class GivenUp(BaseException):
    """Nobody waits for what a thread does: no stage goes on without what raised it."""


_ends: ContextVar[Ends | None] = ContextVar("ends", default=None)


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[Any]:
    """Give a context variable another value until the block ends."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def until(moment: float | Ends) -> AbstractContextManager[None]:
    """Give up in the block, with `Overdue`, at a moment of `time.monotonic`; an earlier one stands.

    Local models look at it before each token or window; servers' replies, sources and batches of
    other threads are no longer waited for. Other models are not cut short.
    """
    outer = ends()
    own: Ends = moment if callable(moment) else lambda: moment
    return setting(_ends, lambda: min(own(), outer()))


def ends() -> Ends:
    """What says the moment that is set, also in other threads."""
    return _ends.get() or (lambda: math.inf)


def deadline() -> float:
    """The moment that is set; infinite where none is."""
    return ends()()


def seconds_left(moment: float | None = None) -> float | None:
    """Seconds until a moment, the one that is set if None, at least 0; None where it is never."""
    moment = deadline() if moment is None else moment
    return None if moment == math.inf else max(0.0, moment - time.monotonic())


def check_time(moment: float) -> None:
    """Raise `Overdue` where a moment has passed, `GivenUp` where nobody waits."""
    if moment == NEVER:
        raise GivenUp
    if time.monotonic() >= moment:
        raise Overdue(_OVER)


def check_wanted() -> None:
    """Raise `GivenUp` where nobody waits for this thread's work; a deadline alone does not count.

    Whatever computes for long looks at it now and then.
    """
    moment = _ends.get()
    if moment and moment() == NEVER:
        raise GivenUp


def start(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a daemon thread of its own, in a copy of this thread's context.

    Raises:
        RuntimeError: If the system has no thread left.
    """
    future: Future[T] = Future()
    run = contextvars.copy_context().run
    threading.Thread(target=_settle, args=(future, partial(run, work)), daemon=True).start()
    return future


def in_time(items: Iterable[T], moment: float) -> Iterator[T]:
    """The same items, made in a daemon thread.

    Raises:
        Overdue: Where the next one is not there at a moment.
    """
    queue: SimpleQueue[list[T]] = SimpleQueue()
    listening = True

    def work() -> None:
        for item in items:
            if not listening:
                return
            queue.put([item])

    made = start(work)
    made.add_done_callback(lambda _: queue.put([]))
    try:
        while item := queue.get(timeout=seconds_left(moment)):
            yield item[0]
        made.result()
    except Empty:
        raise Overdue(_OVER) from None
    finally:
        listening = False


class Pool:
    """Daemon threads for calls, begun in their order under the caller's deadline; none idles.

    Args:
        workers: Threads at most.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._open = True
        self.threads = 0  # that run

    def submit(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> Future[T]:
        """Call ``work`` when a thread is free.

        Raises:
            RuntimeError: If the pool is closed, or the system has no thread left.
        """
        future: Future[T] = Future()
        job = future, partial(_under, ends(), partial(work, *args, **options))
        with self._lock:
            if not self._open:
                raise RuntimeError("the pool is closed")
            if self.threads < self._workers:
                threading.Thread(target=self._run, daemon=True).start()
                self.threads += 1
            self._waiting.append(job)
        future.add_done_callback(self._ended)
        return future

    def close(self) -> None:
        """Cancel what has not begun; what has is not waited for."""
        with self._lock:
            self._open = False
            left = [future for future, _ in self._waiting]
            self._waiting.clear()
        for future in left:
            if future.cancel():
                future.set_running_or_notify_cancel()

    def _ended(self, future: Future[Any]) -> None:
        """Forget what was cancelled, and all that it holds."""
        if future.cancelled():
            with self._lock:
                self._waiting = deque(job for job in self._waiting if job[0] is not future)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self.threads -= 1
                    return
                job = self._waiting.popleft()
            _settle(*job)
            del job  # its result may be large


def _under(moment: Ends, work: Callable[[], T]) -> T:
    with until(moment):
        return work()


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            result = work()
        except BaseException as error:  # raised where the result is read
            future.set_exception(error)
        else:
            future.set_result(result)
