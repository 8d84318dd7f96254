"""LlamaIndex's filters of retrieved nodes, on our models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ragsieve.errors import MissingExtra
from ragsieve.models.base import Embedder, Message, Prompt
from ragsieve.schema import Amount, Count, Options, Share
from ragsieve.trace import record_unreadable
from ragsieve_research.peers.filters.base import EXTRA, Asking, Peer, PeerInput, PeerOutput

try:
    from llama_index.core import postprocessor
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        CompletionResponse,
        CompletionResponseGen,
        LLMMetadata,
    )
    from llama_index.core.indices.utils import default_parse_choice_select_answer_fn
    from llama_index.core.llms import CustomLLM
    from llama_index.core.schema import NodeWithScore, TextNode
except ModuleNotFoundError as error:
    raise MissingExtra(error.name or "llama_index", extra=EXTRA) from error


class Vectors(BaseEmbedding):
    """Our embedder as one of LlamaIndex's."""

    embedder: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self.embedder.embed(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        vector: list[float] = self.embedder.embed([query], query=True)[0].tolist()
        return vector

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Model(CustomLLM):
    """Our LLM as one of LlamaIndex's: a chat model."""

    replies: Callable[[Sequence[Prompt]], list[str]]

    @property
    def metadata(self) -> LLMMetadata:
        """What the framework asks of a model."""
        return LLMMetadata(is_chat_model=True)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The reply to a chat."""
        prompt = tuple(Message(m.role.value, m.content or "") for m in messages)
        return ChatResponse(message=ChatMessage(self.replies([prompt])[0], role="assistant"))

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """The reply to what a user says."""
        return CompletionResponse(text=self.replies([(Message("user", prompt),)])[0])

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """The reply as one piece; no filter asks for it."""
        yield self.complete(prompt)


@dataclass(frozen=True)
class SentenceEmbeddingOptimizer(Options, Peer):
    """Of each document the sentences nearest to the question with neighbours; LlamaIndex's."""

    least: ClassVar[int] = 1
    embedder: Embedder
    percentile_cutoff: Share = 0.5
    context: Amount | None = None

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The documents' nearest sentences, with neighbours."""
        peer = postprocessor.SentenceEmbeddingOptimizer(
            embed_model=Vectors(embedder=self.embedder),
            percentile_cutoff=self.percentile_cutoff,
            context_before=self.context,
            context_after=self.context,
        )
        # It writes what a node shows a model of its title into the text, as if it stood there.
        nodes = _nodes(given, hidden=["title", "place"])
        return [_returned(n) for n in peer.postprocess_nodes(nodes, query_str=question)]


@dataclass(frozen=True)
class LLMRerank(Options, Asking):
    """Documents that an LLM names with a relevance from 1 to 10, the best first; LlamaIndex's.

    A reply that names none, though it says something, counts as unreadable.
    """

    top_n: Count = 10

    def returned(self, question: str, given: Sequence[PeerInput]) -> list[PeerOutput]:
        """The documents that are named, once for each time, with their relevance."""
        peer = postprocessor.LLMRerank(
            llm=Model(replies=self.replies),
            top_n=self.top_n,
            parse_choice_select_answer_fn=_named,
        )
        nodes = _nodes(given, hidden=["place"])
        kept = peer.postprocess_nodes(nodes, query_str=question)
        return [_returned(node) for node in kept]


def _named(reply: str, choices: int) -> tuple[list[int], list[float]]:
    """What the framework itself reads of a reply."""
    found = default_parse_choice_select_answer_fn(reply, choices)
    if reply.strip() and not found[0]:
        record_unreadable()
    return found


def _nodes(given: Sequence[PeerInput], *, hidden: list[str]) -> list[NodeWithScore]:
    nodes = []
    for place, one in enumerate(given):
        about: dict[str, Any] = {"title": one.title} if one.title else {}
        node = TextNode(
            text=one.text, metadata={**about, "place": place}, excluded_llm_metadata_keys=hidden
        )
        nodes.append(NodeWithScore(node=node))
    return nodes


def _returned(found: NodeWithScore) -> PeerOutput:
    score = float("nan") if found.score is None else found.score
    return PeerOutput(found.node.metadata["place"], found.node.get_content(), score)
