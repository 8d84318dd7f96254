"""Wraps any model: calls from several threads become one batch."""

import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextvars import Context
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from ragsieve.errors import ModelError
from ragsieve.models.wrap import Columns, Model, Wrapper, canonical, check_columns
from ragsieve.schema import Count, Wait, check_number
from ragsieve.timeouts import Ends, check_time, deadline, ends, seconds_left, start, until
from ragsieve.trace import Usage, collect_step, note, record_usage

_after_fork = threading.Lock()


@dataclass(eq=False)
class _Call:
    """A caller's call, and what came of it."""

    method: str
    columns: Columns
    options: Mapping[str, Any]
    kind: tuple[str, bytes]
    answer: Future[Sequence[Any]] = field(default_factory=Future)
    usages: list[Usage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: bool = False  # nobody waits for it
    ends: Ends = field(default_factory=ends)

    @property
    def size(self) -> int:
        return len(self.columns[0])


class DynamicBatcher(Wrapper):
    """A model whose calls from several threads run as one batch, one batch at a time.

    Calls with the same method and options are joined, and run in the thread of the one that came
    first, or in one of their own where that one has a deadline. Each caller is charged for its own
    items, and an error fails only the caller whose input causes it: each call of a batch that fails
    runs again by itself, and the first is charged for both. Calls that were accepted before
    `close` are answered; with ``with``, the end of the block closes it.

    Args:
        model: An LLM, an embedder, a cross-encoder, a sentence pruner, a listwise reranker or a
            token classifier; only ``count`` is never batched.
        max_batch: Items that are joined at most; a single call of more goes through whole.
        wait_s: Seconds that a call waits for the next one, while others may come.
        callers: Threads that are known to call; while fewer are inside, others may come.

    Raises:
        InputError: If an option breaks its rule.
    """

    def __init__(
        self, model: Model, *, max_batch: int = 32, wait_s: float = 0.005, callers: int = 1
    ) -> None:
        super().__init__(model)
        for name, value in (("max_batch", max_batch), ("callers", callers)):
            check_number(name, value, Count)
        check_number("wait_s", wait_s, Wait)
        self.max_batch, self.wait_s, self.callers = max_batch, wait_s, callers
        self._open = True
        self._start()

    def close(self) -> None:
        """Answer the calls that are inside; later ones fail."""
        self._check_process()
        with self._changed:
            self._open = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._inside)

    def _start(self) -> None:
        """Begin with nothing waiting, in this process."""
        self._changed = threading.Condition()
        self.waiting: list[_Call] = []  # the first one runs a batch
        self._running: list[_Call] = []
        self._inside = 0
        self._process = os.getpid()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            with _after_fork:  # those inside are in the parent
                if self._process != os.getpid():
                    self._start()

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        check_columns(columns)
        call = _Call(method, columns, options, (method, canonical(options)))
        self._check_process()
        with self._changed:
            if not self._open:
                raise ModelError(f"the wrapper of {self.identity} is closed")
            self._inside += 1
            self.waiting.append(call)
            self._changed.notify_all()
        try:
            if batch := self._next(call):
                self._started(batch)
        finally:
            with self._changed:
                self._inside -= 1
                call.left = True
                if call not in self._running:  # else its batch goes on without it
                    self.waiting = [other for other in self.waiting if other is not call]
                self._changed.notify_all()
        record_usage(call.usages)
        for text in call.notes:
            note(text)
        return call.answer.result()

    def _next(self, call: _Call) -> list[_Call]:
        """The calls to run once ``call`` is the first that waits; none when it was answered.

        They stay where they wait until they are answered: where this caller is interrupted, the
        next one runs them.
        """
        with self._changed:
            first = self._changed.wait_for(
                lambda: call.answer.done() or self.waiting[0] is call, seconds_left()
            )
            if not first:
                check_time(deadline())
            if call.answer.done():
                return []
            closes = time.monotonic() + self.wait_s
            while (batch := self._gather()) and self._open and self._others():
                inside, left = self._inside, closes - time.monotonic()
                if left <= 0 or sum(other.size for other in batch) >= self.max_batch:
                    break
                self._changed.wait(left)
                if self._inside > inside:  # they are coming
                    closes = time.monotonic() + self.wait_s
        return batch

    def _started(self, batch: list[_Call]) -> None:
        """Run a batch; in another thread where its first caller has a deadline, and may leave."""

        def run() -> None:
            try:
                Context().run(self._run, batch)  # an empty context: no trace of this caller
            finally:
                with self._changed:
                    self.waiting = [c for c in self.waiting if not (c.answer.done() or c.left)]
                    self._running = []
                    self._changed.notify_all()

        self._running = batch
        if deadline() == math.inf:
            run()
            return
        try:
            start(run).result(seconds_left())
        except TimeoutError:
            check_time(deadline())
            raise

    def _others(self) -> bool:
        """Whether somebody may come who is not waiting yet, be it with a call of another kind."""
        return max(self._inside, self.callers) > len(self.waiting)

    def _gather(self) -> list[_Call]:
        """The first call waiting, and those of its kind that fit beside it."""
        batch: list[_Call] = []
        size = 0
        for call in self.waiting:
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
            with collect_step() as seen, until(lambda: max(call.ends() for call in batch)):
                results = self._inner(first.method, columns, first.options)
        except Exception as error:  # whatever it is, it belongs to the caller
            first.usages += seen.usages
            if len(batch) > 1:
                for call in batch:
                    self._run([call])
                return
            first.notes += seen.notes
            first.answer.set_exception(error)
            return
        one_each = len(seen.usages) == len(columns[0])
        if not one_each:
            first.usages += seen.usages
        start = 0
        for call in batch:
            part = slice(start, start := start + call.size)
            own = results[part]
            call.usages += seen.usages[part] if one_each else []
            call.notes += seen.notes
            # so that no caller holds another's part
            call.answer.set_result(own.copy() if isinstance(own, np.ndarray) else own)
