"""Run blocking work in threads: limits on threads, queue and time."""

import asyncio
import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from ragsieve.server.faults import Fault, fault_of
from ragsieve.server.settings import Limits
from ragsieve.timeouts import NEVER, Pool, T, start, until

_TRIM_S = 1.0  # its values are gone by then
LARGE_BYTES = 1_000_000
"""Bytes of a body from which on a request is large: it waits for others of its kind."""

large: ContextVar[bool] = ContextVar("large", default=False)
"""Whether the request at hand is large."""


def _trim() -> None:
    """Give memory back that nothing uses, where the C library keeps it."""
    time.sleep(_TRIM_S)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


class Work:
    """Threads that run what requests ask for.

    Args:
        limits: How many run and wait at once, and for how long.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open()
        self._lock = threading.Lock()
        self._ends: WeakKeyDictionary[Future[Any], list[float]] = WeakKeyDictionary()
        self.inside = 0

    def open(self) -> None:
        """Begin with no thread, also after `close`."""
        self._pool = Pool(self.limits.workers)
        self._large = Pool(max(1, self.limits.workers // 8))
        self._parser = Pool(1)

    @property
    def running(self) -> int:
        """Requests that have a thread."""
        return self._pool.threads + self._large.threads

    @property
    def waiting(self) -> int:
        """Requests that wait for a thread."""
        return max(0, self.inside - self.running)

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Run ``function`` when a thread is free, under a deadline: the limit, or `give_up`.

        Raises:
            Fault: 503 where as many wait as may.
        """
        limits = self.limits
        ends = [time.monotonic() + limits.timeout_s]
        with self._lock:
            if self.inside >= limits.workers + limits.queue:
                waits = f"queue must be at most {limits.queue}, so many requests are waiting"
                raise Fault(503, "queue_full", waits, retry_s=2)
            self.inside += 1
        try:
            with until(lambda: ends[0]):
                future = (self._large if large.get() else self._pool).submit(function)
        except RuntimeError as error:  # the pool is closed
            self._left()
            raise Fault(503, "stopping", "the server is stopping", retry_s=10) from error
        self._ends[future] = ends
        future.add_done_callback(self._left)
        if large.get():
            future.add_done_callback(lambda _: start(_trim))
        return future

    def give_up(self, running: Future[Any]) -> None:
        """End what nobody waits for: before it begins, or at its model's next window."""
        if not running.cancel() and (ends := self._ends.get(running)):
            ends[0] = NEVER

    async def run(self, function: Callable[[], T]) -> T:
        """Return the result of ``function``.

        Raises:
            Fault: 503 where as many wait as may, or the time is over; what an error of
                ``function`` is to a client.
        """
        return await self._result(self.start(function))

    async def parse(self, function: Callable[[], T]) -> T:
        """The same for parsing a large body, which takes memory: one after another."""
        return await self._result(self._parser.submit(function))

    async def _result(self, running: Future[T]) -> T:
        try:
            async with asyncio.timeout(self.limits.timeout_s) as clock:
                return await asyncio.wrap_future(running)  # cancelled, what has begun runs on
        except TimeoutError as error:
            raise (self.late() if clock.expired() else fault_of(error)) from error
        except Exception as error:  # whatever it is, the client gets a fault
            raise fault_of(error) from error
        finally:
            self.give_up(running)

    def late(self) -> Fault:
        """Error of a request whose time is over."""
        over = f"timeout_s must not pass, got over {self.limits.timeout_s:g} s"
        return Fault(503, "timeout", over, retry_s=5)

    def close(self) -> None:
        """Begin nothing more."""
        for pool in (self._pool, self._large, self._parser):
            pool.close()

    def _left(self, _: Any = None) -> None:
        with self._lock:
            self.inside -= 1
