"""Encoders on onnxruntime: one window a pass, as many passes at once as there are cores.

Calls of several threads share the passes, so that they fill the cores that a call's last windows
leave idle, and those of few windows go before those of many. No window shares a pass
with another, so that neither padding nor the scale of an int8 activation depends on company: a
window gives the same bits alone, among others and from any thread.
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from ragsieve.errors import ModelError
from ragsieve.models.windows import Window
from ragsieve.timeouts import PROGRESS, check_time, ends

_log = logging.getLogger(__name__)

_INPUTS = ("input_ids", "token_type_ids", "attention_mask")
_LONGEST = 4  # turns of which one goes by waiting alone
_SLOW = "SkipLayerNormFusion"  # its kernel takes eight times as long as an addition and a norm
_TOLD_S = 2.0  # from when on, and at twice the time again, it is said how far a call is
_SO_FAR = "read %d of %d windows of the documents, %.0f s so far"


class Encoder:
    """A net that gives each token of a window two logits.

    Args:
        file: An ONNX file with inputs ``input_ids`` and, as it likes, ``token_type_ids`` and
            ``attention_mask``, all ``(1, length)``, and one output ``(1, length, 2)``.

    Raises:
        ModelError: If the file has other inputs or outputs.
        Exception: Of onnxruntime, if it is no ONNX file.
    """

    def __init__(self, file: Path) -> None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 4  # what fails is raised
        self._session = ort.InferenceSession(
            file,  # of bytes it would keep a copy
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=[_SLOW],
            enable_fallback=0,  # it would print of it, and try the same again
        )
        self._inputs = {node.name for node in self._session.get_inputs()}
        outputs = [out.shape for out in self._session.get_outputs()]
        if "input_ids" not in self._inputs or not self._inputs <= {*_INPUTS}:
            raise ModelError(f"inputs must be among {sorted(_INPUTS)}, got {sorted(self._inputs)}")
        if len(outputs) != 1 or len(outputs[0]) != 3 or outputs[0][2] != 2:
            raise ModelError(f"there must be one output of two logits a token, got {outputs}")

    def run(self, windows: Sequence[Window], threads: int) -> list[NDArray[np.float32]]:
        """Logits of each window's tokens, ``(length, 2)`` each.

        Args:
            windows: What is read.
            threads: Windows that are read at a time, by all calls with this number together.

        Raises:
            ModelError: If onnxruntime fails, or a logit is not finite.
            Overdue: At the deadline; windows that were not begun are not read.
        """
        moment = ends()

        def read(window: Window) -> NDArray[np.float32]:
            check_time(moment())
            return self._logits(window)

        passes, began, told = _passes(threads, os.getpid()), time.monotonic(), _TOLD_S
        queued: deque[Future[NDArray[np.float32]]] = deque()
        logits = []
        for place, window in enumerate(windows):
            if len(queued) > threads:  # the turn of others
                logits.append(queued.popleft().result())
            if (seconds := time.monotonic() - began) > told:
                _log.log(PROGRESS, _SO_FAR, len(logits), len(windows), seconds)
                told = 2 * seconds
            queued.append(passes.submit(place, partial(read, window)))
        return [*logits, *(one.result() for one in queued)]

    def _logits(self, window: Window) -> NDArray[np.float32]:
        ids, types = np.array([[window.ids], [window.types]], np.int64)  # (1, length) each
        every = dict(zip(_INPUTS, (ids, types, np.ones_like(ids)), strict=True))
        feed = {name: every[name] for name in self._inputs}
        try:
            (output,) = self._session.run(None, feed)
        except Exception as error:  # onnxruntime's errors have no class in common but this
            raise ModelError(f"onnxruntime: {' '.join(str(error).split())[:300]}") from error
        logits: NDArray[np.float32] = output[0]
        if logits.shape != (len(window.ids), 2) or not np.isfinite(logits).all():
            raise ModelError("the net must give two finite logits a token")
        return logits


class _Passes:
    """Threads that read windows: the one that comes first in its call, then who waits longest.

    Every fourth is the one that waits longest, so that a call of many ends beside many of few.
    """

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ragsieve-onnx")
        self._waiting: list[tuple[int, Future[Any], Callable[[], Any]]] = []
        self._turns = count(1)
        self._lock = threading.Lock()

    def submit(self, place: int, read: Callable[[], Any]) -> Future[Any]:
        """Read what stands at a place of its call when it is its turn."""
        future = Future[Any]()
        with self._lock:
            self._waiting.append((place, future, read))
        self._pool.submit(self._next)
        return future

    def _next(self) -> None:
        with self._lock:
            first = min(range(len(self._waiting)), key=lambda n: self._waiting[n][0])
            _, future, read = self._waiting.pop(first if next(self._turns) % _LONGEST else 0)
        try:
            future.set_result(read())
        except BaseException as error:  # given up: it goes to who waits
            future.set_exception(error)


@cache
def _passes(threads: int, _process: int) -> _Passes:
    """Threads that all calls of a process share; a forked one has none of its parent's."""
    return _Passes(threads)
