"""LangChain's filters of retrieved documents, on our models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragsieve.errors import InputError, MissingExtra
from ragsieve.models.base import LLM, Embedder, Message
from ragsieve.systems.peers.base import EXTRA, REPLY_TOKENS, Given, Peer, Returned

try:
    from langchain_classic.retrievers import document_compressors as compressors
    from langchain_community.document_transformers import embeddings_redundant_filter as redundant
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models.llms import BaseLLM
    from langchain_core.outputs import Generation, LLMResult
    from langsmith import tracing_context
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "langchain_classic", extra=EXTRA) from error


class Vectors(Embeddings):
    """Our embedder as one of LangChain's."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Vectors of texts."""
        vectors: list[list[float]] = self.embedder.embed(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self.embedder.embed([text], query=True)[0].tolist()
        return vector


class Model(BaseLLM):
    """Our LLM as one of LangChain's: a prompt is what a user says."""

    llm: Any
    reply_tokens: int

    @property
    def _llm_type(self) -> str:
        return "ragsieve"

    def _generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> LLMResult:
        asked = [(Message("user", prompt),) for prompt in prompts]
        replies = self.llm.complete(asked, max_tokens=self.reply_tokens)
        return LLMResult(generations=[[Generation(text=reply)] for reply in replies])


@dataclass(frozen=True)
class EmbeddingsFilter(Peer):
    """The ``k`` documents nearest to the question, those above a cosine; LangChain's."""

    embedder: Embedder
    k: int | None = 20
    similarity_threshold: float | None = None

    def __post_init__(self) -> None:
        if self.k is None and self.similarity_threshold is None:
            raise InputError("k or similarity_threshold must be given, got None and None")

    def returned(self, question: str, given: Sequence[Given]) -> list[Returned]:
        """The documents, nearest first, with their cosines."""
        kept = _compressed(
            compressors.EmbeddingsFilter(
                embeddings=Vectors(self.embedder),
                k=self.k,
                similarity_threshold=self.similarity_threshold,
            ),
            question,
            given,
        )
        scores = [float(vars(d)["state"]["query_similarity_score"]) for d in kept]
        return [_returned(d, score) for d, score in zip(kept, scores, strict=True)]


@dataclass(frozen=True)
class EmbeddingsRedundantFilter(Peer):
    """Documents but those alike to another; LangChain's."""

    embedder: Embedder
    similarity_threshold: float = 0.95

    def returned(self, question: str, given: Sequence[Given]) -> list[Returned]:
        """The documents, as given."""
        peer = redundant.EmbeddingsRedundantFilter(
            embeddings=Vectors(self.embedder), similarity_threshold=self.similarity_threshold
        )
        with tracing_context(enabled=False):
            return [_returned(d) for d in peer.transform_documents(_documents(given))]


@dataclass(frozen=True)
class LLMChainFilter(Peer):
    """Documents of which an LLM says YES; LangChain's."""

    llm: LLM
    reply_tokens: int = REPLY_TOKENS

    def returned(self, question: str, given: Sequence[Given]) -> list[Returned]:
        """The documents, as given; raises at a reply without YES or NO, or with both."""
        model = Model(llm=self.llm, reply_tokens=self.reply_tokens)
        peer = compressors.LLMChainFilter.from_llm(model)
        return [_returned(d) for d in _compressed(peer, question, given)]


@dataclass(frozen=True)
class LLMChainExtractor(Peer):
    """What an LLM writes as the relevant parts of each document; LangChain's."""

    llm: LLM
    reply_tokens: int = REPLY_TOKENS

    def returned(self, question: str, given: Sequence[Given]) -> list[Returned]:
        """The replies, but for those that are empty or exactly NO_OUTPUT."""
        model = Model(llm=self.llm, reply_tokens=self.reply_tokens)
        peer = compressors.LLMChainExtractor.from_llm(model)
        return [_returned(d) for d in _compressed(peer, question, given)]


def _compressed(
    peer: BaseDocumentCompressor, question: str, given: Sequence[Given]
) -> Sequence[Document]:
    with tracing_context(enabled=False):  # else the environment may send documents to a server
        return peer.compress_documents(_documents(given), question)


def _documents(given: Sequence[Given]) -> list[Document]:
    return [
        Document(page_content=one.text, metadata={"title": one.title, "place": place})
        for place, one in enumerate(given)
    ]


def _returned(document: Any, score: float = float("nan")) -> Returned:
    return Returned(document.metadata["place"], document.page_content, score)
