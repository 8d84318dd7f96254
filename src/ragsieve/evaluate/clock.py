"""Time in which a model computes, so that all other time can be told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ragsieve.models.wrap import Columns, Model, Wrapper


class Clock:
    """Seconds in which at least one of several models was computing, whoever asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._began = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """The seconds until now."""
        with self._lock:
            running = time.perf_counter() - self._began if self._running else 0.0
            return self._seconds + running

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of the block, once where several blocks run."""
        with self._lock:
            if not self._running:
                self._began = time.perf_counter()
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._seconds += time.perf_counter() - self._began


class Timed(Wrapper):
    """A model whose calls a clock counts; counting tokens is not such a call.

    Args:
        model: An LLM, an embedder, a cross-encoder or a sentence pruner.
        clock: What counts.
    """

    def __init__(self, model: Model, clock: Clock) -> None:
        super().__init__(model)
        self.clock = clock

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        with self.clock.running():
            return self._inner(method, columns, options)
