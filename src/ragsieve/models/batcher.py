"""Wraps any model: calls from several threads become one batch."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np

from ragsieve.errors import InputError, ModelError
from ragsieve.models.wrap import Columns, Model, Wrapper, canonical, check_columns
from ragsieve.trace import Usage, note, overheard, record_usage

_IDLE_S = 10.0  # an idle worker ends then, so that a forgotten wrapper can be collected

_after_fork = threading.Lock()


@dataclass(eq=False)
class _Call:
    """A caller's call on its way to the worker and back."""

    method: str
    columns: Columns
    options: Mapping[str, Any]
    kind: tuple[str, bytes]
    result: Any = ()
    error: Exception | None = None
    usages: list[Usage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def size(self) -> int:
        return len(self.columns[0])


class DynamicBatcher(Wrapper):
    """A model whose calls from several threads run as one batch, in one worker thread.

    Calls with the same method and options are joined. Each caller is charged for its own items, and
    an error fails only the caller whose input causes it. Calls that were accepted before `close`
    are answered; with ``with``, the end of the block closes it.

    Args:
        model: An LLM, an embedder, a cross-encoder or a sentence pruner; only
            ``count`` runs in the caller's thread.
        max_batch: Items that are joined at most; a single call of more goes through whole.
        wait_s: Seconds that a call waits for the next one, while others may come.
        callers: Threads that are known to call; while fewer are inside, others may come.

    Raises:
        InputError: If ``max_batch`` or ``callers`` is under 1, or ``wait_s`` is negative or not
            finite.
    """

    def __init__(
        self,
        model: Model,
        *,
        max_batch: int = 32,
        wait_s: float = 0.005,
        callers: int = 1,
    ) -> None:
        for name, value in (("max_batch", max_batch), ("callers", callers)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value!r}")
        if not 0 <= wait_s < math.inf:
            raise InputError(f"wait_s must be finite and not negative, got {wait_s!r}")
        super().__init__(model)
        self.max_batch = max_batch
        self.wait_s = wait_s
        self.callers = callers
        self._open = True
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer the calls that are inside, then let the worker end; later calls fail."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
            worker = self._worker
        if worker and worker is not threading.current_thread():
            worker.join()

    def _start(self) -> None:
        """Begin with nothing waiting, in this process."""
        self._changed = threading.Condition()
        self._waiting: deque[_Call] = deque()
        self._inside = 0
        self._worker: threading.Thread | None = None
        self._process = os.getpid()

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        check_columns(columns)
        call = _Call(method, columns, options, (method, canonical(options)))
        if self._process != os.getpid():
            with _after_fork:  # the worker, and who waits for it, are in the parent
                if self._process != os.getpid():
                    self._start()
        self._enter(call)
        try:
            call.done.wait()
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()
                if call in self._waiting:  # interrupted
                    self._waiting.remove(call)
        record_usage(call.usages)
        for text in call.notes:
            note(text)
        if call.error:
            raise call.error
        results: Sequence[Any] = call.result
        return results

    def _enter(self, call: _Call) -> None:
        with self._changed:
            if not self._open:
                raise ModelError(f"the wrapper of {self.identity} is closed")
            if not self._worker:
                # an empty context: no trace is recording in the worker, whoever starts it
                worker = threading.Thread(
                    target=Context().run, args=(self._work,), name="ragsieve-batcher", daemon=True
                )
                worker.start()
                self._worker = worker
            self._inside += 1
            self._waiting.append(call)
            self._changed.notify_all()

    def _work(self) -> None:
        batch: list[_Call] = []
        try:
            while batch := self._next():
                self._run(batch)
        finally:
            with self._changed:
                if self._worker is threading.current_thread():  # it dies in the middle
                    self._worker = None
                    for call in (*batch, *self._waiting):
                        if not call.done.is_set():
                            call.error = ModelError(f"the worker of {self.identity} died")
                            call.done.set()
                    self._waiting.clear()

    def _next(self) -> list[_Call]:
        """The calls to run together, taken from the queue; none when the worker is to end."""
        with self._changed:
            if self._open and not self._waiting:
                self._changed.wait_for(lambda: self._waiting or not self._open, _IDLE_S)
            if not self._waiting:
                self._worker = None
                return []
            ends = time.monotonic() + self.wait_s
            while (batch := self._gather()) and self._open and self._others():
                inside, left = self._inside, ends - time.monotonic()
                if left <= 0 or sum(call.size for call in batch) >= self.max_batch:
                    break
                self._changed.wait(left)
                if self._inside > inside:  # they are coming
                    ends = time.monotonic() + self.wait_s
            for call in batch:
                self._waiting.remove(call)
        return batch or self._next()  # every caller was interrupted

    def _others(self) -> bool:
        """Whether somebody may come who is not waiting yet, be it with a call of another kind."""
        return max(self._inside, self.callers) > len(self._waiting)

    def _gather(self) -> list[_Call]:
        """The first call waiting, and those of its kind that fit beside it."""
        batch: list[_Call] = []
        size = 0
        for call in self._waiting:
            fits = size + call.size <= self.max_batch
            if not batch or (fits and call.kind == batch[0].kind):
                batch.append(call)
                size += call.size
        return batch

    def _run(self, batch: Sequence[_Call]) -> None:
        """Answer every call of the batch; where that fails, each one by itself."""
        first = batch[0]
        columns = [list(chain(*parts)) for parts in zip(*(c.columns for c in batch), strict=True)]
        try:
            with overheard() as seen:
                results = self._inner(first.method, columns, first.options)
        except Exception as error:  # whatever it is, it belongs to the caller
            first.usages += seen.usages
            if len(batch) > 1:
                for call in batch:
                    self._run([call])
                return
            first.notes += seen.notes
            first.error = error
            first.done.set()
            return
        one_each = len(seen.usages) == len(columns[0])
        if not one_each:
            first.usages += seen.usages
        start = 0
        for call in batch:
            part = slice(start, start := start + call.size)
            call.result = results[part]
            if isinstance(call.result, np.ndarray):  # so that no caller holds another's part
                call.result = call.result.copy()
            call.usages += seen.usages[part] if one_each else []
            call.notes += seen.notes
            call.done.set()
