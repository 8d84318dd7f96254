"""Cohere's rerank API, and servers with the same ``/rerank``: vLLM, LiteLLM, Jina and others."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import InputError, MissingExtra, ModelError
from ragsieve.models import protocol
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage

try:
    import cohere
    import httpx
    from cohere.core.api_error import ApiError
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "cohere", extra="rerank") from error

_BLANK = "."  # sent for a blank text: Cohere and others refuse a request with one, spaces or not
_LARGEST = float(np.finfo(np.float32).max)
_WORD = re.compile(r"\w+")
_TOKENS = (  # where replies say what was read: Jina and vLLM; Cohere and Xinference; LiteLLM
    ("usage", "total_tokens"),
    ("meta", "tokens", "input_tokens"),
    ("meta", "billed_units", "input_tokens"),
    ("meta", "billed_units", "total_tokens"),
)


@dataclass(frozen=True)
class Rerank:
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
        api_key: The key; unset, ``none``, for servers that need none.
        max_documents: Documents in one request; Cohere advises 1,000, others may take fewer.
        timeout_s: Seconds that the server may stay silent, for each attempt.
        max_retries: Attempts after the first where the server is busy, broken, silent or away: 1,
            2, 4 … s apart, or what the server asks for, and 60 s at most.
        concurrency: Requests in flight at once, for each call.

    Raises:
        InputError: If an option breaks its rule.
    """

    model: str
    base_url: str = field(default="", kw_only=True)
    api_key: str = field(default="", kw_only=True, repr=False)
    max_documents: int = field(default=1000, kw_only=True)
    timeout_s: float = field(default=60.0, kw_only=True)
    max_retries: int = field(default=4, kw_only=True)
    concurrency: int = field(default=8, kw_only=True)
    _asked_for: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name, at, url = self.model.partition("@http")
        if at and not self.base_url:
            object.__setattr__(self, "model", name)
            object.__setattr__(self, "base_url", f"http{url}")
        object.__setattr__(self, "base_url", self.base_url.rstrip("/"))
        object.__setattr__(self, "api_key", self.api_key or "none")
        protocol.check_server(self, "max_documents")

    @property
    def identity(self) -> str:
        """The model and where it is served; a server does not tell its weights."""
        return f"rerank:{self.model}@{self.base_url}"

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
        scores = np.zeros(len(pairs), np.float32)
        if not parts:
            return scores
        tokens = [0] * len(pairs)
        with ThreadPoolExecutor(min(self.concurrency, len(parts))) as pool:
            replies = pool.map(lambda part: self._ask([pairs[place] for place in part]), parts)
            for part, reply in zip(parts, replies, strict=True):
                scores[part] = reply.scores
                for place, used in zip(part, reply.tokens, strict=True):
                    tokens[place] = used
        record_usage([Usage(self.identity, used) for used in tokens])
        return scores

    @cached_property
    def _client(self) -> cohere.ClientV2:
        wire = _Wire(f"{self.base_url}/rerank", self.timeout_s)
        return cohere.ClientV2(
            self.api_key, base_url=self.base_url, max_retries=self.max_retries, httpx_client=wire
        )

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> _Reply:
        """The reply for pairs that share their query."""
        query, *documents = [
            _sendable(text) for text in (pairs[0][0], *(text for _, text in pairs))
        ]
        texts = bool(self._asked_for)
        try:
            data = self._post(query, documents, texts)
        except _AsksForTexts:
            if texts:
                raise
            data = self._post(query, documents, texts=True)
            self._asked_for.add("texts")
        return _Reply(self._scores(data, len(documents)), _tokens(data, query, documents))

    def _post(self, query: str, documents: list[str], texts: bool) -> Any:
        more = {"texts": documents, "truncate": True} if texts else {}
        try:
            reply = self._client.with_raw_response.rerank(
                model=self.model,
                query=query,
                documents=documents,
                top_n=len(documents),
                request_options={"additional_body_parameters": more},
            )
            return json.loads(reply.response.extensions["content"])
        except ApiError as error:
            leaks = self.api_key != "none" and self.api_key in str(error)
            raise self._translated(error) from (None if leaks else error)
        except httpx.ConnectError as error:
            if isinstance(error.__cause__, httpx.TimeoutException):
                attempts = f"{self.max_retries + 1} attempt{'s' if self.max_retries else ''}"
                raise self._failed(f"no reply in {self.timeout_s} s, {attempts}") from error
            raise self._failed(f"no connection: {error}") from error
        except (httpx.DecodingError, ValueError, RecursionError) as error:
            raise self._failed(f"reply is not JSON: {error}") from error

    def _translated(self, error: ApiError) -> ModelError:
        status, said = error.status_code or 0, protocol.said(error.body)
        if status < 400:
            return self._failed(f"HTTP {status}: a redirect, which is not followed")
        failed = self._failed(f"HTTP {status}: {said}")
        asks = status in (400, 422) and re.search(r"\btexts\b", said)
        return _AsksForTexts(str(failed)) if asks else failed

    def _failed(self, what: str) -> ModelError:
        if self.api_key != "none":
            what = what.replace(self.api_key, "(key)")
        return ModelError(f"{self.identity}: {' '.join(safe(what).split())[:400]}")

    def _scores(self, data: Any, count: int) -> list[float]:
        """One score a document, in the order of the request."""
        results = data.get("results") if isinstance(data, dict) else data
        if not isinstance(results, list):
            raise self._failed(f"reply must have a list of results, got {data!r}")
        scores: dict[int, float] = {}
        for result in results:
            found = result if isinstance(result, dict) else {}
            index: Any = found.get("index")
            score: Any = found.get("relevance_score", found.get("score"))
            if type(index) is not int or not 0 <= index < count:
                raise self._failed(f"index must be from 0 to {count - 1}, got {result!r}")
            if index in scores:
                raise self._failed(f"each index must come once, got {index} twice")
            if type(score) not in (int, float) or not abs(score) <= _LARGEST:
                raise self._failed(f"relevance_score must be a finite number, got {result!r}")
            scores[index] = score
        if len(scores) < count:
            gone = next(index for index in range(count) if index not in scores)
            raise self._failed(f"{count} documents must come back, got {len(scores)}, not {gone}")
        return [scores[index] for index in range(count)]


@dataclass(frozen=True)
class Cohere(Rerank):
    """A model of Cohere's rerank API: `Rerank` with other defaults.

    Args:
        base_url: Unset, ``CO_API_URL`` or Cohere's own, with ``/v2`` behind it.
        api_key: The key; unset, ``CO_API_KEY``.

    Raises:
        InputError: If there is no key, or an option breaks its rule.
    """

    def __post_init__(self) -> None:
        root = os.environ.get("CO_API_URL") or "https://api.cohere.com"
        object.__setattr__(self, "base_url", self.base_url or f"{root.rstrip('/')}/v2")
        object.__setattr__(self, "api_key", self.api_key or os.environ.get("CO_API_KEY", ""))
        if not self.api_key:
            raise InputError("api_key must be given, or CO_API_KEY be set, for Cohere's models")
        super().__post_init__()


class _Wire(httpx.Client):
    """Carries what cohere sends to ``url``, and follows no redirect, which would take it along.

    cohere has one path, asks again only where there is no connection at all, and fills its classes
    with whatever comes. Here a server that is silent or hangs up counts as one that is away, and
    what came is kept for us, as the extension ``content``, behind an empty object for cohere.
    """

    def __init__(self, url: str, timeout_s: float) -> None:
        super().__init__(timeout=timeout_s, follow_redirects=False)
        self.url = url

    def request(self, *args: Any, **options: Any) -> httpx.Response:
        try:
            reply = super().request(*args, **{**options, "url": self.url})
        except httpx.TransportError as error:
            raise httpx.ConnectError(str(error), request=error.request) from error
        if not reply.is_success:
            return reply
        return httpx.Response(200, json={}, extensions={"content": reply.content})


class _AsksForTexts(ModelError):
    """The server refuses a request without ``texts``."""


class _Reply(NamedTuple):
    scores: list[float]
    tokens: list[int]


def _sendable(text: str) -> str:
    text = safe(text)
    return text if text.strip() else _BLANK


def _tokens(data: Any, query: str, documents: Sequence[str]) -> list[int]:
    """What each document cost, together with the query."""
    count = len(documents)
    for path in _TOKENS:
        found = data
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if isinstance(found, int | float) and 0 < found < math.inf:
            total = int(found)
            return [total * (i + 1) // count - total * i // count for i in range(count)]
    asked = len(_WORD.findall(query))
    return [asked + len(_WORD.findall(document)) for document in documents]
