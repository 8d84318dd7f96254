"""LangChain: a compressor in its retriever, with the real small models."""

import asyncio
import json
import threading

import pytest
from langchain_core.documents import Document

from ragsieve.integrations.langchain import RagsieveCompressor

from .conftest import FAKE, FRUIT, KEPT, PAGE, QUESTION

EIFFEL = {"title": "Eiffel Tower", "source": "https://example.org/eiffel", "emb": [0.1, 0.2]}
DOCUMENTS = [
    Document(PAGE, id="eiffel", metadata=EIFFEL),
    Document(FRUIT, metadata={"source": "fruit.txt"}),
]


def test_asynchronous_calls_run_in_a_thread():
    """The event loop is free meanwhile, and the result is the same."""
    threads = []
    sieve = RagsieveCompressor(
        "top-sentences", **FAKE, on_result=lambda _: threads.append(threading.current_thread())
    )
    alone = sieve.compress_documents(DOCUMENTS, QUESTION)
    found = asyncio.run(sieve.acompress_documents(DOCUMENTS, QUESTION))

    assert alone == found
    assert [True, False] == [one is threading.main_thread() for one in threads]


def test_a_listener_that_fails_costs_no_document(caplog):
    """The documents come as they were; with on_error="raise" its error comes."""

    def fail(_):
        raise OSError("no space left")

    options = {"system": "top-sentences", **FAKE, "on_result": fail}
    found = RagsieveCompressor(**options).compress_documents(DOCUMENTS, QUESTION)

    assert DOCUMENTS == found
    assert 1 == len(caplog.messages)
    with pytest.raises(OSError, match="no space left"):
        RagsieveCompressor(**options, on_error="raise").compress_documents(DOCUMENTS, QUESTION)


def test_a_document_without_an_id_has_none_afterwards():
    """The name that it has inside stays inside; metadata stay (langchain-ai/langchain#28511)."""
    found = RagsieveCompressor("all", llm="fake:echo").compress_documents(DOCUMENTS, QUESTION)

    assert [(Document, "eiffel"), (Document, None)] == [(type(one), one.id) for one in found]
    assert EIFFEL.items() <= json.loads(json.dumps(found[0].metadata)).items()


@pytest.mark.parametrize(
    ("start", "k", "expected"),
    [(1000, 1, 1000 + len(PAGE) - len(KEPT)), (1000, 2, 1000), (-1, 1, -1), (None, 1, None)],
)
def test_a_start_index_is_that_of_the_kept_text(start, k, expected):
    """As text splitters write it; -1 is theirs for a place that they do not know."""
    given = Document(PAGE, metadata={} if start is None else {"start_index": start})
    sieve = RagsieveCompressor("top-sentences", **FAKE | {"options": {"k": k}})
    (found,) = sieve.compress_documents([given], QUESTION)

    assert expected == found.metadata.get("start_index")


def test_a_splitters_documents_keep_true_offsets():
    """The source has the kept text at its index, or the index is None."""
    splitters = pytest.importorskip("langchain_text_splitters")
    source = " ".join([FRUIT, PAGE, FRUIT, PAGE])
    splitter = splitters.RecursiveCharacterTextSplitter(
        chunk_size=110, chunk_overlap=0, add_start_index=True
    )
    split = splitter.create_documents([source])
    sieve = RagsieveCompressor("top-sentences", **FAKE | {"options": {"k": 4}})
    found = sieve.compress_documents(split, QUESTION)
    starts = [(one.metadata["start_index"], one.page_content) for one in found]

    assert [0, *(d.metadata["start_index"] for d in split[1:])] != [start for start, _ in starts]
    assert all(source[a : a + len(text)] == text for a, text in starts if a is not None)


def test_options_can_be_seen_and_written_down():
    """As the fields of a model, without what is called."""
    sieve = RagsieveCompressor("top-sentences", **FAKE, max_tokens=9, on_result=print)

    assert "system='top-sentences'" in repr(sieve)
    fields = {"system": "top-sentences", **FAKE, "max_tokens": 9, "on_error": "keep"}
    assert fields == sieve.model_dump()
    assert sieve.model_dump() == RagsieveCompressor(**sieve.model_dump()).model_dump()
