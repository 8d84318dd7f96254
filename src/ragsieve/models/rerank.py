"""Cohere's rerank API, and servers with the same ``/rerank``: vLLM, LiteLLM, Jina and others."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ContextOverflow, InputError, ModelError
from ragsieve.models import protocol
from ragsieve.models.server import Home, Server
from ragsieve.schema import Count
from ragsieve.trace import Usage, note, record_usage, warn
from ragsieve.types import grouped

_Row = tuple[float, int, str]  # a pair's score, its tokens, and a note on how it was cut
_Rows = list[tuple[int, _Row]]  # by places of pairs
_LARGEST = float(np.finfo(np.float32).max)
_WANTS_TEXTS = re.compile(r"HTTP (?:400|422): .*\btexts\b")
_CUTS = 8  # times that documents are cut further
_PROBE = (  # a question, its answer and texts that are none
    *("When does the library open?", "The library opens at ten.", "Bananas are yellow."),
    *("He sold his car.", "Snow fell in Oslo.", "Cats sleep a lot.", "The soup is cold."),
)
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
    (Text Embeddings Inference) is sent the documents by that name too from then on. Documents that
    are longer than a server reads (llama.cpp) are cut to what it does, which the trace notes.

    A server without a key is asked for scores of an answer among other texts, once: llama.cpp ranks
    by a chat model too, and its scores are noise, which the trace warns of.

    Each pair is charged an equal share of the tokens that the reply counts, or, where it counts
    none (as Cohere's, which are billed by search) or characters (Infinity's), the words of both its
    texts.

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
        groups, size = grouped(range(len(pairs)), lambda n: pairs[n][0]), self.max_documents
        parts = [g[i : i + size] for g in groups.values() for i in range(0, len(g), size)]

        def asked(part: Sequence[int]) -> _Rows:
            return [*zip(part, self._ask([pairs[place] for place in part]), strict=True)]

        rows = sorted(chain(*self._map(asked, parts, self._charge)))
        for cut in dict.fromkeys(cut for _, (*_, cut) in rows if cut):
            note(cut)
        if rows and self.api_key == "none" and "probed" not in self._wants:
            self._wants.add("probed")
            with suppress(ModelError):  # what was asked for is there
                self._probe()
        return np.array([score for _, (score, *_) in rows], np.float32)

    def _probe(self) -> None:
        """Warn of scores by which an answer does not stand out of other texts."""
        question, *texts = _PROBE
        rows = self._ask([(question, text) for text in texts])
        self._charge([[*enumerate(rows)]])
        best, *others = (score for score, *_ in rows)
        if best - max(others) <= max(others) - min(others):
            what = f"scores an answer {best:.3g} and other texts up to {max(others):.3g}"
            warn(f"{self.identity} {what}: is its model a reranker?")

    def _charge(self, parts: Sequence[_Rows]) -> None:
        record_usage([Usage(self.identity, used) for _, (_, used, _) in sorted(chain(*parts))])

    def _ask(self, pairs: Sequence[tuple[str, str]]) -> list[_Row]:
        """Each of some pairs that share their query; documents are cut until the server takes all.

        Which of them is too long it does not say.
        """
        query, *documents = map(protocol.filled, (pairs[0][0], *(text for _, text in pairs)))
        longest, cut = max(map(len, documents)), ""
        for left in reversed(range(_CUTS + 1)):
            try:
                data = self._sent(query, documents)
                break
            except ContextOverflow as error:
                longest = int(longest * 0.9 * error.limit / error.needed)
                if not left or longest < 1 or error.limit >= error.needed:
                    raise
                holds = f"the server holds {error.limit} tokens"
                cut = f"documents are read to character {longest}: {holds}"
                documents = [document[:longest] for document in documents]
        tokens, scores = _tokens(data, query, documents), self._scores(data, len(documents))
        return [(*one, cut) for one in zip(scores, tokens, strict=True)]

    def _sent(self, query: str, documents: Sequence[str]) -> Any:
        size = len(documents)
        body = {"model": self.model, "query": query, "documents": documents, "top_n": size}
        texts = {"texts": documents, "truncate": True}
        wanted = "texts" in self._wants
        try:
            return self._post("rerank", {**body, **texts} if wanted else body)
        except ModelError as error:
            if wanted or not _WANTS_TEXTS.search(str(error)):
                raise
            self._wants.add("texts")
            return self._sent(query, documents)

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

    home: ClassVar[Home] = Home("https://api.cohere.com/v2", key_name="CO_API_KEY")

    def __post_init__(self) -> None:
        if (root := os.environ.get("CO_API_URL")) and not self.base_url:
            object.__setattr__(self, "base_url", f"{root.rstrip('/')}/v2")
        if not (self.api_key or os.environ.get(self.home.key_name)):
            raise InputError("api_key must be given, or CO_API_KEY be set, for Cohere's models")
        super().__post_init__()


def _tokens(data: Any, query: str, documents: Sequence[str]) -> list[int]:
    """Usage of each document, together with the query."""
    sent = sum(len(query) + len(document) for document in documents)
    for path in _TOKENS:
        value = data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int | float) and 0 < value < 2**31 and value != sent:
            return protocol.shares(int(value), documents)
    return protocol.shares(None, [f"{query} {document}" for document in documents])
