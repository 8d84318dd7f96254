"""A moment at which calls of LLMs are given up: set around them, looked at by those who write."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ragsieve.errors import Overdue

_moment: ContextVar[float] = ContextVar("deadline", default=math.inf)


@contextmanager
def until(moment: float) -> Iterator[None]:
    """Have LLMs give up a reply in the block, with `Overdue`, at a moment of `time.monotonic`.

    Local models look at it before each token, servers' replies are no longer waited for. Other
    models, and what a model inside a `DynamicBatcher` is at for others, are not cut short.
    """
    token = _moment.set(moment)
    try:
        yield
    finally:
        _moment.reset(token)


def deadline() -> float:
    """The moment that is set; infinite where none is."""
    return _moment.get()


def seconds_left() -> float | None:
    """Seconds until that moment, at least 0; None where none is set."""
    return None if deadline() == math.inf else max(0.0, deadline() - time.monotonic())


def check_time(moment: float) -> None:
    """Raise `Overdue` where a moment has passed."""
    if time.monotonic() >= moment:
        raise Overdue("the time for a reply is over")
