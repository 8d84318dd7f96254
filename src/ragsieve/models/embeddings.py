"""Embedders behind servers of the OpenAI protocol: ``/v1/embeddings``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragsieve.models import protocol
from ragsieve.models.server import OPENAI, Home, Server
from ragsieve.schema import Count
from ragsieve.trace import Usage, record_usage

_Vectors = list[tuple[list[float], int]]


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_Row]
    usage: Any = None


@dataclass(frozen=True)
class OpenAIEmbeddings(Server):
    """An embedder behind a server's ``/embeddings``; vectors are made of unit length.

    Control characters become U+FFFD; a blank text is sent as ``.``, as servers refuse one. Each
    text is charged an equal share of the tokens that the reply counts, else its words.

    Args:
        model: The model's name on the server, as ``text-embedding-3-small``.
        base_url: What stands before ``/embeddings``; unset, ``OPENAI_BASE_URL`` or OpenAI's own.
        api_key: The key; unset, ``OPENAI_API_KEY``.
        max_texts: Texts in one request.
        timeout_s, max_retries, concurrency: See `ragsieve.models.server.Server`.

    Raises:
        InputError: If an option breaks its rule.
    """

    max_texts: Count = field(default=64, kw_only=True)

    backend: ClassVar[str] = "openai_embeddings"
    home: ClassVar[Home] = OPENAI

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors of unit length, ``(len(texts), dim)``; a query is embedded as any text.

        Raises:
            ModelError: If the server fails, or its reply has not one finite vector a text.
        """
        parts = [texts[n : n + self.max_texts] for n in range(0, len(texts), self.max_texts)]
        rows = [*chain(*self._map(self._ask, parts, self._charge))]
        vectors = np.array([vector for vector, _ in rows], float)  # squares pass what float32 holds
        if not rows:
            return np.zeros((0, 1), np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)

    def _charge(self, parts: Sequence[_Vectors]) -> None:
        tokens = [tokens for _, tokens in chain(*parts)]
        record_usage([Usage(self.identity, some, embedded=True) for some in tokens])

    def _ask(self, texts: Sequence[str]) -> _Vectors:
        """Vector and tokens of each text."""
        sent = [*map(protocol.filled, texts)]
        body = {"model": self.model, "input": sent, "encoding_format": "float"}
        data = self._post("embeddings", body)
        try:
            reply = msgspec.convert(data, _Reply)
        except msgspec.ValidationError as error:
            raise self._failed(f"reply cannot be read: {error}, got {data!r}") from error
        rows = sorted(reply.data, key=lambda row: row.index)
        sizes = {len(row.embedding) for row in rows}
        if [row.index for row in rows] != [*range(len(sent))] or len(sizes) != 1 or 0 in sizes:
            rule = f"{len(sent)} texts must have a vector of one length each"
            raise self._failed(f"{rule}, got {len(rows)}")
        largest = np.abs([row.embedding for row in rows]).max()
        if not largest <= np.finfo(np.float32).max:
            raise self._failed("a vector must be finite")
        usage = reply.usage if isinstance(reply.usage, dict) else {}
        shares = protocol.shares(protocol.count(usage.get("prompt_tokens")), sent)
        return [(row.embedding, tokens) for row, tokens in zip(rows, shares, strict=True)]
