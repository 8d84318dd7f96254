"""Wraps an embedder: what was embedded lately is not embedded again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError
from ragsieve.models.base import Embedder
from ragsieve.models.wrap import Columns, Wrapper
from ragsieve.trace import Usage, note, overheard, record_usage

_Entry = tuple[NDArray[np.float32], Usage]


class MemoryCached(Wrapper):
    """An embedder that keeps its last vectors in memory; hits are charged as cached.

    So a chunk of one sentence costs nothing where its sentence was embedded before.

    Args:
        model: An embedder.
        most: Vectors that are kept, at least 1; those asked for longest ago go first.

    Raises:
        InputError: If ``most`` is under 1.
    """

    def __init__(self, model: Embedder, *, most: int = 8192) -> None:
        if most < 1:
            raise InputError(f"most must be at least 1, got {most!r}")
        super().__init__(model)
        self.most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, bool], _Entry] = OrderedDict()

    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        if method != "embed" or not columns[0]:
            return self._inner(method, columns, options)
        keys = [(text, bool(options["query"])) for text in columns[0]]
        with self._lock:
            found = {key: self._known[key] for key in keys if key in self._known}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            texts = [text for text, _ in missing]
            try:
                with overheard() as seen:
                    vectors = self._inner(method, [texts], options)
            finally:  # a call that fails has its cost, too
                record_usage(seen.usages)
                for text in seen.notes:
                    note(text)
            costs = seen.usages if len(seen.usages) == len(texts) else [Usage("", 0)] * len(texts)
            found |= zip(missing, zip(vectors, costs, strict=True), strict=True)
        paid = set(missing)
        free = []
        for key in keys:
            if key in paid:
                paid.remove(key)
            else:
                free.append(found[key][1]._replace(model=self.identity, cached=True))
        record_usage(free)
        with self._lock:
            self._known.update(found)
            for key in found:
                self._known.move_to_end(key)
            while len(self._known) > self.most:
                self._known.popitem(last=False)
        return [found[key][0] for key in keys]
