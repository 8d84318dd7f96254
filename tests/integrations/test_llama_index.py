"""LlamaIndex: a postprocessor in its query engine, with the real small models."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragsieve import models
from ragsieve.models.base import Message
from ragsieve.result import Result

pytest.importorskip("llama_index.core")

from llama_index.core import SummaryIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeWithScore,
    QueryBundle,
    TextNode,
)

from ragsieve.integrations.llama_index import RagsievePostprocessor

FAKE: dict[str, Any] = {"llm": "fake:echo", "embedder": "fake:hashing", "options": {"k": 1}}
QUESTION = "Who drew the first design of the Eiffel Tower?"
TEXT = "The tower is 330 metres tall. Maurice Koechlin drew the first design of the tower."
KEPT = "Maurice Koechlin drew the first design of the tower."


class Small(CustomLLM):
    """SmolLM2 as an LLM of LlamaIndex; it keeps what it was asked."""

    model: Any
    asked: list[str] = []  # noqa: RUF012  # pydantic copies it

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=2048, num_output=16)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        self.asked.append(prompt)
        reply = self.model.complete([(Message("user", prompt),)], max_tokens=12)
        return CompletionResponse(text=reply[0])

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


def nodes() -> list[NodeWithScore]:
    eiffel = TextNode(id_="eiffel", text=TEXT, metadata={"title": "Eiffel Tower", "page": 7})
    return [
        NodeWithScore(node=eiffel, score=0.5),
        NodeWithScore(node=TextNode(id_="fruit", text="Bananas are yellow."), score=0.4),
    ]


@pytest.mark.models
def test_a_query_engine_answers_from_what_is_kept() -> None:
    """The generator reads the kept sentences only; metadata of the filter is not in its prompt."""
    index = SummaryIndex([found.node for found in nodes()])
    llm = Small(model=models.load("smollm2"))
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(),
        llm=llm,
        node_postprocessors=[RagsievePostprocessor(on_error="raise")],
    )
    answer = engine.query(QUESTION)
    later = asyncio.run(engine.aretrieve(QueryBundle(QUESTION)))

    assert "Koechlin" in str(answer)
    assert ["eiffel"] == [found.node_id for found in answer.source_nodes]
    assert answer.source_nodes == later
    assert KEPT in llm.asked[0]
    assert "Bananas" not in llm.asked[0]
    assert "spans" not in llm.asked[0]


def test_neither_llm_nor_embedder_reads_the_marks() -> None:
    """What the filter says of a node is for the program."""
    found = RagsievePostprocessor("top-sentences", **FAKE).postprocess_nodes(
        nodes(), query_str=QUESTION
    )

    assert "ragsieve" in found[0].node.metadata
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert "ragsieve" not in found[0].node.get_content(mode)
    assert [] == nodes()[0].node.excluded_llm_metadata_keys


def test_nodes_without_text_pass_untouched(caplog: pytest.LogCaptureFixture) -> None:
    """Images are not thrown away for having no sentence: they come last, and a warning says so."""
    picture = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.1)
    sound = NodeWithScore(node=Node(audio_resource=MediaResource(data=b"x")), score=0.1)
    found = RagsievePostprocessor("top-sentences", **FAKE).postprocess_nodes(
        [picture, *nodes(), sound], query_str=QUESTION
    )

    assert [KEPT] == [one.text for one in found[:1]]
    assert [picture, sound] == found[1:]
    assert ["2 of 4 documents have no text: they pass as they were"] == caplog.messages


@pytest.mark.parametrize(
    "node",
    [
        Document(text=TEXT),
        IndexNode(text=TEXT, index_id="i", obj=object()),
        Node(text_resource=MediaResource(text=TEXT), image_resource=MediaResource(data=b"x")),
    ],
    ids=["Document", "IndexNode", "Node"],
)
def test_every_kind_of_node_keeps_its_kind(node: Any) -> None:
    """Of what else it holds, nothing is lost or copied."""
    given = [NodeWithScore(node=node, score=0.5)]
    found = RagsievePostprocessor("top-sentences", **FAKE).postprocess_nodes(
        given, query_str=QUESTION
    )

    assert type(node) is type(found[0].node)
    assert (KEPT, TEXT) == (found[0].node.get_content(), node.get_content())
    assert getattr(node, "obj", None) is getattr(found[0].node, "obj", None)
    assert getattr(node, "image_resource", None) == getattr(found[0].node, "image_resource", None)


def test_without_a_question_nodes_pass(caplog: pytest.LogCaptureFixture) -> None:
    """LlamaIndex may leave it out; that costs nobody the nodes."""
    found = RagsievePostprocessor("top-sentences", **FAKE).postprocess_nodes(nodes())

    assert nodes() == found
    assert 1 == len(caplog.messages)


def test_asynchronous_calls_give_the_same() -> None:
    """They run in a thread."""
    results: list[Result] = []
    sieve = RagsievePostprocessor("top-sentences", **FAKE, on_result=results.append)
    alone = sieve.postprocess_nodes(nodes(), query_str=QUESTION)

    assert alone == asyncio.run(sieve.apostprocess_nodes(nodes(), query_str=QUESTION))
    assert 2 == len(results)


def test_it_can_be_written_down() -> None:
    """`to_dict` and `from_dict`, as LlamaIndex does it."""
    sieve = RagsievePostprocessor("top-sentences", **FAKE, max_tokens=9)
    again = RagsievePostprocessor.from_dict(sieve.to_dict())

    assert sieve.to_dict() == again.to_dict()
    assert sieve.postprocess_nodes(nodes(), query_str=QUESTION) == again.postprocess_nodes(
        nodes(), query_str=QUESTION
    )
