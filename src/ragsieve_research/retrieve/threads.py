"""Work in daemon threads, which keep no process alive when they hang."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start(work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a thread of its own, in a copy of this thread's context.

    Raises:
        RuntimeError: If the system has no thread left.
    """
    future: Future[T] = Future()
    run = contextvars.copy_context().run

    def target() -> None:
        try:
            future.set_result(run(work))
        except BaseException as error:  # raised where the result is read
            future.set_exception(error)

    threading.Thread(target=target, daemon=True).start()
    return future
