"""Documents as people have them: strings, mappings, and those of other frameworks."""

from __future__ import annotations

from typing import Any

import pytest

from ragsieve.documents import as_documents


@pytest.mark.parametrize("key", ["text", "page_content", "content", "body"])
def test_a_mapping_has_its_text_under_a_usual_key(key: str) -> None:
    """The text is not in the metadata as well; other keys are."""
    (document,) = as_documents([{"id": "d", key: "It rained.", "title": "Rain", "page": 3}])

    assert ("d", "It rained.", "Rain") == (document.id, document.text, document.title)
    assert {"page": 3} == document.metadata


def of_langchain() -> Any:
    documents = pytest.importorskip("langchain_core.documents")
    metadata = {"source": "rain.txt", "title": "Rain", "page": 3}
    return documents.Document(id="d", page_content="It rained.", metadata=metadata)


def of_llama_index() -> Any:
    schema = pytest.importorskip("llama_index.core.schema")
    metadata = {"source": "rain.txt", "title": "Rain", "page": 3}
    return schema.TextNode(id_="d", text="It rained.", metadata=metadata)


def of_llama_index_with_a_score() -> Any:
    schema = pytest.importorskip("llama_index.core.schema")
    return schema.NodeWithScore(node=of_llama_index(), score=0.5)


def of_haystack() -> Any:
    haystack = pytest.importorskip("haystack")
    metadata = {"source": "rain.txt", "title": "Rain", "page": 3}
    return haystack.Document(id="d", content="It rained.", meta=metadata)


@pytest.mark.parametrize(
    "make", [of_langchain, of_llama_index, of_llama_index_with_a_score, of_haystack]
)
def test_documents_of_other_frameworks_are_taken_as_they_are(make: Any) -> None:
    """Id, text and metadata stay; title and source are those of the metadata."""
    (document,) = as_documents([make()])

    assert ("d", "It rained.") == (document.id, document.text)
    assert ("Rain", "rain.txt") == (document.title, document.source)
    assert 3 == document.metadata["page"]
