"""LangChain's filters of retrieved documents, on our models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ragsieve.errors import MissingExtra
from ragsieve.models.base import Embedder, Message, Prompt
from ragsieve_research.peers.filters.base import EXTRA, Asking, Peer, PeerInput, PeerOutput

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
    """Our LLM as one of LangChain's: a prompt is what a user says.

    It stays out of the framework's cache, which would hide what replies cost.
    """

    replies: Callable[[Sequence[Prompt]], list[str]]
    cache: Literal[False] = False

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
        replies = self.replies([(Message("user", prompt),) for prompt in prompts])
        return LLMResult(generations=[[Generation(text=reply)] for reply in replies])


@dataclass(frozen=True)
class EmbeddingsFilter(Peer):
    """The ``k`` documents nearest to the question; LangChain's."""

    embedder: Embedder
    k: int | None = 20

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The documents, nearest first, with their cosines."""
        k = self.k or len(given)  # LangChain takes None for its own 20
        peer = compressors.EmbeddingsFilter(embeddings=Vectors(self.embedder), k=k)
        kept = _compressed(peer, question, given)
        scores = [float(vars(d)["state"]["query_similarity_score"]) for d in kept]
        return [_returned(d, score) for d, score in zip(kept, scores, strict=True)]


@dataclass(frozen=True)
class EmbeddingsRedundantFilter(Peer):
    """Documents but those alike to another; LangChain's."""

    embedder: Embedder

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The documents, as given."""
        peer = redundant.EmbeddingsRedundantFilter(embeddings=Vectors(self.embedder))
        with tracing_context(enabled=False):
            return [_returned(d) for d in peer.transform_documents(_documents(given))]


@dataclass(frozen=True)
class LLMChainFilter(Asking):
    """Documents of which an LLM says YES; LangChain's."""

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The documents, as given; raises at a reply without YES or NO, or with both."""
        peer = compressors.LLMChainFilter.from_llm(Model(replies=self.replies))
        return [_returned(d) for d in _compressed(peer, question, given)]


@dataclass(frozen=True)
class LLMChainExtractor(Asking):
    """What an LLM writes as the relevant parts of each document; LangChain's."""

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The replies, but for those that are empty or exactly NO_OUTPUT."""
        peer = compressors.LLMChainExtractor.from_llm(Model(replies=self.replies))
        return [_returned(d) for d in _compressed(peer, question, given)]


def _compressed(
    peer: BaseDocumentCompressor, question: str, given: Sequence[PeerInput]
) -> Sequence[Document]:
    with tracing_context(enabled=False):  # else the environment may send documents to a server
        return peer.compress_documents(_documents(given), question)


def _documents(given: Sequence[PeerInput]) -> list[Document]:
    return [
        Document(page_content=one.text, metadata={"title": one.title, "place": place})
        for place, one in enumerate(given)
    ]


def _returned(document: Any, score: float = float("nan")) -> PeerOutput:
    return PeerOutput(document.metadata["place"], document.page_content, score)
