"""Run blocking work in threads: limits on threads, queue and time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from ragsieve.deadline import Pool
from ragsieve.server.faults import Fault, fault_of
from ragsieve.server.settings import Limits

T = TypeVar("T")


class Work:
    """Threads that run what requests ask for.

    Args:
        limits: How many run and wait at once, and for how long.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.open()
        self._lock = threading.Lock()
        self.inside = 0

    def open(self) -> None:
        """Begin with no thread, also after `close`."""
        self._pool = Pool(self._limits.workers)
        self._parser = Pool(1)

    @property
    def running(self) -> int:
        """Requests that have a thread."""
        return min(self.inside, self._limits.workers)

    @property
    def waiting(self) -> int:
        """Requests that wait for a thread."""
        return self.inside - self.running

    def start(self, function: Callable[[], T]) -> Future[T]:
        """Run ``function`` when a thread is free.

        Raises:
            Fault: 503 where as many wait as may.
        """
        limits = self._limits
        with self._lock:
            if self.inside >= limits.workers + limits.queue:
                waits = f"queue must be at most {limits.queue}, so many requests are waiting"
                raise Fault(503, "queue_full", waits, retry_s=2)
            self.inside += 1
        try:
            future = self._pool.submit(function)
        except RuntimeError as error:  # the pool is closed
            self._left()
            raise Fault(503, "stopping", "the server is stopping", retry_s=10) from error
        future.add_done_callback(self._left)
        return future

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
            async with asyncio.timeout(self._limits.timeout_s) as clock:
                return await asyncio.wrap_future(running)  # cancelled, what has begun runs on
        except TimeoutError as error:
            raise (self.late() if clock.expired() else fault_of(error)) from error
        except Exception as error:  # whatever it is, the client gets a fault
            raise fault_of(error) from error

    def late(self) -> Fault:
        """Error of a request whose time is over."""
        over = f"timeout_s must not pass, got over {self._limits.timeout_s:g} s"
        return Fault(503, "timeout", over, retry_s=5)

    def close(self) -> None:
        """Begin nothing more."""
        for pool in (self._pool, self._parser):
            pool.close()

    def _left(self, _: Any = None) -> None:
        with self._lock:
            self.inside -= 1
