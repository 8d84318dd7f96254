"""Cohere's rerank API, and servers with the same ``/rerank``: vLLM, LiteLLM, Jina and others."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, ModelError
from ragsieve.models.server import Server
from ragsieve.schema import Count
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage

_Rows = list[tuple[int, tuple[float, int]]]  # place of a pair, its score and tokens
_BLANK = "."  # sent for a blank text: Cohere and others refuse a request with one, spaces or not
_LARGEST = float(np.finfo(np.float32).max)
_WORD = re.compile(r"\w+")
_WANTS_TEXTS = re.compile(r"HTTP (?:400|422): .*\btexts\b")
_TOKENS = (  # where replies say what was read: Jina and vLLM; Cohere and Xinference; LiteLLM
    ("usage", "total_tokens"),
    ("meta", "tokens", "input_tokens"),
    ("meta", "billed_units", "input_tokens"),
    ("meta", "billed_units", "total_tokens"),
)


class _RankedResult(msgspec.Struct):
    index: int
    relevance_score: float | None = None
    score: float | None = None  # as Text Embeddings Inference calls it


@dataclass(frozen=True)
class Rerank(Server):
    """A reranker behind a server's ``/rerank``, as a cross-encoder.

    Pairs of one first text, the query, are one request, of ``max_documents`` at most; all their
    documents must come back, each once. Control characters become U+FFFD, and a blank text is sent
    as ``.``, because one blank document makes a server refuse all. A server that asks for ``texts``
    (Text Embeddings Inference) is sent the documents by that name too from then on.

    Each pair is charged an equal share of the tokens that the reply counts, or, where it counts
    none (as Cohere's, which are billed by search), the words of both its texts.

    Args:
        model: The model's name on the server, or ``NAME@URL`` with the ``base_url``.
        base_url: What stands before ``/rerank``: ``http://127.0.0.1:8000`` for vLLM, LiteLLM,
            Infinity and llama.cpp, ``https://api.jina.ai/v1`` for Jina.
        max_documents: Documents in one request; Cohere advises 1,000, others may take fewer.
        api_key, timeout_s, max_retries, total_s, concurrency: See `ragsieve.models.server.Server`.

    Raises:
        InputError: If an option breaks its rule.
    """

    max_documents: Count = field(default=1000, kw_only=True)
    _wants: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    backend: ClassVar[str] = "rerank"

    def __post_init__(self) -> None:
        name, at, url = self.model.partition("@http")
        if at and not self.base_url:
            object.__setattr__(self, "model", name)
            object.__setattr__(self, "base_url", f"http{url}")
        super().__post_init__()

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The server's scores, ``(len(pairs),)``; higher is better, of Cohere's models in [0, 1].

        Raises:
            ModelError: If the server fails, or its reply has not one finite score a document.
        """
        groups: dict[str, list[int]] = {}
        for place, (query, _) in enumerate(pairs):
            groups.setdefault(query, []).append(place)
        size = self.max_documents
        parts = [g[i : i + size] for g in groups.values() for i in range(0, len(g), size)]

        def asked(part: Sequence[int]) -> _Rows:
            return [*zip(part, self._ask([pairs[place] for place in part]), strict=True)]

        rows = sorted(chain(*self._map(asked, parts, self._charge)))
        return np.array([score for _, (score, _) in rows], np.float32)

    def _charge(self, parts: Sequence[_Rows]) -> None:
        record_usage([Usage(self.identity, used) for _, (_, used) in sorted(chain(*parts))])

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, int]]:
        """Score and tokens of each of some pairs that share their query."""
        query, *documents = map(_sendable, (pairs[0][0], *(text for _, text in pairs)))
        count = len(documents)
        body = {"model": self.model, "query": query, "documents": documents, "top_n": count}
        texts = {"texts": documents, "truncate": True}
        wanted = bool(self._wants)
        try:
            data = self._post("rerank", {**body, **texts} if wanted else body)
        except ModelError as error:
            if wanted or not _WANTS_TEXTS.search(str(error)):
                raise
            data = self._post("rerank", {**body, **texts})
            self._wants.add("texts")
        return [*zip(self._scores(data, count), _tokens(data, query, documents), strict=True)]

    def _scores(self, data: Any, count: int) -> list[float]:
        """One score a document, in the order of the request."""
        listed = data.get("results") if isinstance(data, dict) else data
        try:
            results = msgspec.convert(listed, list[_RankedResult])
        except msgspec.ValidationError as error:
            raise self._failed(f"results cannot be read: {error}, got {data!r}") from error
        if sorted(result.index for result in results) != [*range(count)]:
            places = [result.index for result in results]
            raise self._failed(f"{count} documents must come back, each once, got {places}")
        scores = [0.0] * count
        for result in results:
            score = result.score if result.relevance_score is None else result.relevance_score
            if score is None or not abs(score) <= _LARGEST:
                raise self._failed(f"relevance_score must be a finite number, got {score!r}")
            scores[result.index] = score
        return scores


@dataclass(frozen=True)
class Cohere(Rerank):
    """A model of Cohere's rerank API: `Rerank` with other defaults.

    Args:
        base_url: Unset, ``CO_API_URL`` or Cohere's own, with ``/v2`` behind it.
        api_key: The key; unset, ``CO_API_KEY``.

    Raises:
        InputError: If there is no key, or an option breaks its rule.
    """

    own_url: ClassVar[str] = "https://api.cohere.com/v2"
    key_name: ClassVar[str] = "CO_API_KEY"

    def __post_init__(self) -> None:
        if (root := os.environ.get("CO_API_URL")) and not self.base_url:
            object.__setattr__(self, "base_url", f"{root.rstrip('/')}/v2")
        if not (self.api_key or os.environ.get(self.key_name)):
            raise InputError("api_key must be given, or CO_API_KEY be set, for Cohere's models")
        super().__post_init__()


def _sendable(text: str) -> str:
    text = safe(text)
    return text if text.strip() else _BLANK


def _tokens(data: Any, query: str, documents: Sequence[str]) -> list[int]:
    """Usage of each document, together with the query."""
    count = len(documents)
    for path in _TOKENS:
        value = data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int | float) and 0 < value < 2**31:
            total = int(value)
            return [total * (i + 1) // count - total * i // count for i in range(count)]
    words = len(_WORD.findall(query))
    return [words + len(_WORD.findall(document)) for document in documents]
