"""The base of wrappers: they offer what the model inside offers."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np

from ragsieve.errors import InputError, ModelError, Unsupported
from ragsieve.models.base import LLM, CrossEncoder, Embedder, SentencePruner

Model = LLM | Embedder | CrossEncoder | SentencePruner

Columns = Sequence[Sequence[Any]]
"""The positional arguments of a model's call: one list, or two of one length."""


class _WrappedCall:
    """A call that goes through ``_call`` of a wrapper, with its options and their defaults."""

    def __init__(self, kind: Callable[[Any], Any] = list, **defaults: Any) -> None:
        self.kind, self.defaults = kind, defaults

    def __set_name__(self, owner: "type[Wrapper]", name: str) -> None:
        self.name = name

    def __get__(self, wrapper: "Wrapper | None", owner: "type[Wrapper]") -> Any:
        return self if wrapper is None else partial(self.forward, wrapper)

    def forward(self, wrapper: "Wrapper", *columns: Sequence[Any], **options: Any) -> Any:
        return self.kind(wrapper._call(self.name, columns, {**self.defaults, **options}))


_float32 = partial(np.asarray, dtype=np.float32)


class Wrapper(ABC):
    """Offers what the model inside offers; every call but ``count`` goes through ``_call``."""

    def __init__(self, model: Model) -> None:
        self.model: Any = model

    identity = property(attrgetter("model.identity"))
    can = property(attrgetter("model.can"))
    context = property(attrgetter("model.context"))
    relative = property(attrgetter("model.relative"))
    leads = property(attrgetter("model.leads"))
    thinking = property(attrgetter("model.thinking"))
    count = property(attrgetter("model.count"))
    threshold = property(attrgetter("model.threshold"))

    complete: Any = _WrappedCall(max_tokens=128, schema=None)
    choose: Any = _WrappedCall()
    loglik: Any = _WrappedCall()
    surprisals: Any = _WrappedCall()
    embed: Any = _WrappedCall(_float32, query=False)
    embed_spans: Any = _WrappedCall()
    score: Any = _WrappedCall(_float32)
    prune: Any = _WrappedCall()
    rank: Any = _WrappedCall()
    classify: Any = _WrappedCall()

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
        if len(results) != len(columns[0]):
            raise ModelError(
                f"{self.identity} must give {len(columns[0])} results, got {len(results)}"
            )
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
