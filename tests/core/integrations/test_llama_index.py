"""LlamaIndex: a postprocessor in its query engine, with the real small models."""

import asyncio

import pytest
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeWithScore,
    TextNode,
)

from ragsieve import Pipeline, System
from ragsieve.answer import Reader
from ragsieve.integrations.llama_index import RagsievePostprocessor
from ragsieve.models.fake import ScriptedLLM
from ragsieve.split import Sentences

from .conftest import FAKE, KEPT, PAGE, QUESTION


def nodes():
    eiffel = TextNode(id_="eiffel", text=PAGE, metadata={"title": "Eiffel Tower", "page": 7})
    return [
        NodeWithScore(node=eiffel, score=0.5),
        NodeWithScore(node=TextNode(id_="fruit", text="Bananas are yellow."), score=0.4),
    ]


def filtered(given, **more):
    """What is kept of nodes."""
    sieve = RagsievePostprocessor("top-sentences", **{**FAKE, **more})
    return sieve.postprocess_nodes(given, query_str=QUESTION)


def test_neither_llm_nor_embedder_reads_the_marks():
    """What the filter and the retriever say of a node is for the program."""
    found = filtered(nodes())

    assert "ragsieve" in found[0].node.metadata
    assert found[0].node.metadata["retriever_score"] == 0.5
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        shown = found[0].node.get_content(mode)
        assert not any(name in shown for name in ("ragsieve", "retriever_score"))
    assert [] == nodes()[0].node.excluded_llm_metadata_keys


def test_nodes_without_text_pass_untouched(caplog):
    """Images are not thrown away for having no sentence: they come last, and a warning says so."""
    picture = NodeWithScore(node=ImageNode(image_url="https://example.org/a.png"), score=0.1)
    sound = NodeWithScore(node=Node(audio_resource=MediaResource(data=b"x")), score=0.1)
    found = filtered([picture, *nodes(), sound])

    assert [KEPT] == [one.text for one in found[:1]]
    assert [picture, sound] == found[1:]
    assert ["2 of 4 documents have no text: they pass as they were"] == caplog.messages


@pytest.mark.parametrize(
    "node",
    [
        Document(text=PAGE),
        IndexNode(text=PAGE, index_id="i", obj=object()),
        Node(text_resource=MediaResource(text=PAGE), image_resource=MediaResource(data=b"x")),
    ],
    ids=["Document", "IndexNode", "Node"],
)
def test_every_kind_of_node_keeps_its_kind(node):
    """Of what else it holds, nothing is lost or copied."""
    (found,) = [one.node for one in filtered([NodeWithScore(node=node, score=0.5)])]

    assert type(node) is type(found)
    assert (KEPT, PAGE) == (found.get_content(), node.get_content())
    assert getattr(node, "obj", None) is getattr(found, "obj", None)
    assert getattr(node, "image_resource", None) == getattr(found, "image_resource", None)


LATE = (
    "The harbour opened in 1912. Ships from nine countries call there. The late fee is 20 cents a "
    "day. Cranes were replaced in 1980. The cafe serves soup. Rome is far. Trains leave hourly."
)


@pytest.mark.parametrize(
    ("stage", "indices", "expected"),
    [
        (slice(2, 3), (1000, 1183), (1066, 1097)),
        (slice(2, 4), (1000, 1183), (1066, 1127)),  # two sentences that stand side by side
        (slice(0, 7), (1000, 1183), (1000, 1183)),
        (slice(0, 3, 2), (1000, 1183), (None, None)),
        (slice(2, 3), (1000, 1500), (None, None)),  # of more than the text
        (slice(2, 3), (1000, None), (1066, 1097)),
        (slice(2, 3), (None, None), (None, None)),
        (slice(2, 3), (None, 1183), (None, None)),
    ],
)
def test_a_shortened_node_says_where_its_text_is(stage, indices, expected):
    """The kept part's place in the source; none where parts are left out within
    (run-llama/llama_index PR 22537)."""
    start, end = indices
    node = TextNode(text=LATE, start_char_idx=start, end_char_idx=end)
    pick = System(Pipeline(Sentences(), lambda _, s: s[stage]), Reader(ScriptedLLM([])))
    given = [NodeWithScore(node=node)]
    (found,) = RagsievePostprocessor(pick).postprocess_nodes(given, query_str="What is it?")

    assert isinstance(found.node, TextNode)
    assert expected == (found.node.start_char_idx, found.node.end_char_idx)
    assert indices == (node.start_char_idx, node.end_char_idx)


def test_without_a_question_nodes_pass(caplog):
    """LlamaIndex may leave it out; that costs nobody the nodes."""
    found = RagsievePostprocessor("top-sentences", **FAKE).postprocess_nodes(nodes())

    assert nodes() == found
    assert 1 == len(caplog.messages)


def test_asynchronous_calls_give_the_same():
    """They run in a thread."""
    results = []
    sieve = RagsievePostprocessor("top-sentences", **FAKE, on_result=results.append)
    alone = sieve.postprocess_nodes(nodes(), query_str=QUESTION)

    assert alone == asyncio.run(sieve.apostprocess_nodes(nodes(), query_str=QUESTION))
    assert 2 == len(results)


def test_it_can_be_written_down():
    """`to_dict` and `from_dict`, as LlamaIndex does it."""
    sieve = RagsievePostprocessor("top-sentences", **FAKE, max_tokens=9)
    again = RagsievePostprocessor.from_dict(sieve.to_dict())

    assert sieve.to_dict() == again.to_dict()
    assert sieve.postprocess_nodes(nodes(), query_str=QUESTION) == again.postprocess_nodes(
        nodes(), query_str=QUESTION
    )
