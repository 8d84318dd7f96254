"""The base of wrappers: they offer what the model inside offers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError, Unsupported
from ragsieve.models.base import (
    LLM,
    ClassifiedToken,
    CrossEncoder,
    Embedder,
    Nats,
    Passage,
    Prompt,
    Pruned,
    SentencePruner,
    Span,
)

Model = LLM | Embedder | CrossEncoder | SentencePruner

Columns = Sequence[Sequence[Any]]
"""The positional arguments of a model's call: one list, or two of one length."""


class Wrapper(ABC):
    """Offers what the model inside offers; every call but ``count`` goes through ``_call``."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027, few hold something
        """Release what the wrapper holds."""

    @property
    def identity(self) -> str:
        """That of the model inside."""
        return self.model.identity

    @property
    def can(self) -> frozenset[str]:
        """The calls of the LLM inside that work."""
        return cast(LLM, self.model).can

    @property
    def context(self) -> int:
        """Tokens that prompt and reply may have together."""
        return cast(LLM, self.model).context

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text in the tokenizer of the LLM inside."""
        return cast(LLM, self.model).count(texts)

    def complete(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int = 128,
        schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Replies of the LLM inside."""
        options = {"max_tokens": max_tokens, "schema": schema}
        return list(self._call("complete", [prompts], options))

    def choose(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """The probabilities that the LLM inside gives."""
        return list(self._call("choose", [prompts, options], {}))

    def loglik(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[list[float]]:
        """The log-probabilities that the LLM inside gives."""
        return list(self._call("loglik", [prompts, continuations], {}))

    def surprisals(
        self, prefixes: Sequence[Sequence[str]], texts: Sequence[str]
    ) -> list[list[Nats]]:
        """The tokens and surprisals that the LLM inside gives."""
        return list(self._call("surprisals", [prefixes, texts], {}))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """The vectors that the embedder inside gives, ``(len(texts), dim)``."""
        return np.asarray(self._call("embed", [texts], {"query": query}), dtype=np.float32)

    def embed_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[list[list[float]]]:
        """The vectors of spans that the embedder inside gives."""
        return list(self._call("embed_spans", [texts, spans], {}))

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The scores that the cross-encoder inside gives, ``(len(pairs),)``."""
        return np.asarray(self._call("score", [pairs], {}), dtype=np.float32)

    def prune(
        self, questions: Sequence[str], passages: Sequence[Sequence[Passage]]
    ) -> list[Pruned]:
        """The probabilities that the sentence pruner inside gives."""
        return list(self._call("prune", [questions, passages], {}))

    @property
    def relative(self) -> float:
        """How far thresholds of the sentence pruner inside go with the best sentence."""
        return cast(SentencePruner, self.model).relative

    def threshold(self, keep_answer: float) -> float:
        """The threshold of the sentence pruner inside."""
        return cast(SentencePruner, self.model).threshold(keep_answer)

    def rank(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[int]]:
        """The orders that the listwise reranker inside gives."""
        return list(self._call("rank", [questions, texts], {}))

    def classify(self, texts: Sequence[str]) -> list[list[ClassifiedToken]]:
        """The tokens and probabilities that the token classifier inside gives."""
        return list(self._call("classify", [texts], {}))

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


def is_small(llm: Any) -> bool:
    """Whether an LLM is a local one with so few weights that it does not reason."""
    return bool(getattr(unwrap(llm), "is_small", False))


def is_concurrent(model: Any) -> bool:
    """Whether calls of several threads share the processors by themselves, and need no batches."""
    return bool(getattr(unwrap(model), "is_concurrent", False))


def counts_by_request(counter: Any) -> bool:
    """Whether counting the tokens of a text is a request to a server."""
    return bool(getattr(unwrap(counter), "counts_by_request", False))


def check_columns(columns: Columns) -> None:
    """Raise `InputError` unless all columns have one length."""
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"arguments must be of one length, got {[len(c) for c in columns]!r}")


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
