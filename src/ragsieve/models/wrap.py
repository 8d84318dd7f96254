"""The base of wrappers: they offer what the model inside offers."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from ragsieve.errors import InputError, ModelError, Unsupported
from ragsieve.models.base import CALLS, LLM, CrossEncoder, Embedder, SentencePruner

Model = LLM | Embedder | CrossEncoder | SentencePruner

Columns = Sequence[Sequence[Any]]
"""The positional arguments of a model's call: one list, or two of one length."""


_CALLS = CALLS | {"embed", "embed_spans", "score", "prune", "rank", "classify"}
_OPTIONS: Any = {"complete": {"max_tokens": 128, "schema": None}, "embed": {"query": False}}
_ARRAYS = ("embed", "score")  # calls that give numbers in float32, no lists
_TOLD = ("identity", "can", "context", "relative", "leads", "thinking", "count", "threshold")


class Wrapper(ABC):
    """Offers what the model inside offers; every call but ``count`` goes through ``_call``."""

    def __init__(self, model: Model) -> None:
        self.model: Any = model

    def __getattr__(self, name: str) -> Any:
        if name in _CALLS:
            return partial(self._forward, name)
        if name not in _TOLD:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.model, name)

    def _forward(self, method: str, *columns: Sequence[Any], **options: Any) -> Any:
        results = self._call(method, columns, {**_OPTIONS.get(method, {}), **options})
        return np.asarray(results, np.float32) if method in _ARRAYS else [*results]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027, few hold something
        """Release what the wrapper holds."""

    def __repr__(self) -> str:
        return repr(self.model)  # as in a trace: no wrapper changes what a stage does

    @abstractmethod
    def _call(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        """One result an item."""

    def _inner(self, method: str, columns: Columns, options: Mapping[str, Any]) -> Sequence[Any]:
        """The call as the model inside answers it."""
        if not hasattr(self.model, method):
            raise Unsupported(f"{self.identity} has no {method}, it is {type(self.model).__name__}")
        results: Sequence[Any] = getattr(self.model, method)(*columns, **options)
        if len(results) != (count := len(columns[0])):
            raise ModelError(f"{self.identity} must give {count} results, got {len(results)}")
        return results


def unwrap(model: Any) -> Any:
    """The model inside all wrappers; of a wrapper one cannot see which calls it has."""
    while isinstance(model, Wrapper):
        model = model.model
    return model


def is_concurrent(model: Any) -> bool:
    """Whether calls of several threads run beside each other, and need no batches."""
    return bool(getattr(unwrap(model), "is_concurrent", False))


def check_columns(columns: Columns) -> None:
    """Raise `InputError` unless all columns have one length."""
    if len({*map(len, columns)}) > 1:
        raise InputError(f"arguments must be of one length, got {[*map(len, columns)]!r}")


def canonical(value: Any) -> bytes:
    """JSON that tells different inputs apart, lone surrogates and the order of keys included.

    Order counts because a model writes the properties of a schema in the order they stand in.

    Raises:
        InputError: If ``value`` is not JSON.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_dict)
    except (TypeError, ValueError) as error:
        raise InputError(f"a model's input must be JSON, got {value!r:.80}") from error
    return text.encode("utf-8", "surrogatepass")


def _as_dict(value: Any) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
