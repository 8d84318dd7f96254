"""Haystack: a component between retriever and prompt, with the real small models."""

import asyncio
import json

import pytest
from haystack import Document, Pipeline
from haystack.components.preprocessors import DocumentSplitter
from haystack.core.errors import DeserializationError
from haystack.dataclasses import ByteStream

from ragsieve.errors import Unsupported
from ragsieve.integrations.haystack import RagsieveFilter

from .conftest import FAKE, KEPT, QUESTION

ALLOWED = ["ragsieve.integrations.haystack"]
TOWER = "It is 330 metres tall. Maurice Koechlin drew the first design of the tower."
DOCUMENTS = [
    Document(id="eiffel", content=TOWER, meta={"title": "Eiffel Tower"}),
    Document(id="fruit", content="Bananas are yellow. The first design of them is old."),
]


def test_a_pipeline_can_be_written_down_and_read():
    """Parameters are JSON, and the pipeline that is read gives the same."""
    made = Pipeline()
    made.add_component("sieve", RagsieveFilter("top-sentences", **FAKE, max_tokens=20))
    read = Pipeline.loads(made.dumps(), allowed_modules=ALLOWED)
    parameters = made.to_dict()["components"]["sieve"]["init_parameters"]
    asked = {"sieve": {"query": QUESTION, "documents": DOCUMENTS}}
    kept = read.run(asked)["sieve"]["documents"]

    assert {"system": "top-sentences", **FAKE, "max_tokens": 20, "on_error": "keep"} == json.loads(
        json.dumps(parameters)
    )
    assert made.dumps() == read.dumps()
    assert [KEPT] == [document.content for document in kept]
    assert kept == asyncio.run(read.run_async(asked))["sieve"]["documents"]


def test_a_pipeline_loads_where_the_module_is_trusted(monkeypatch):
    """By the call or the environment, as the page says; Haystack's error names both (PR 11432)."""
    made = Pipeline()
    made.add_component("sieve", RagsieveFilter(max_tokens=60))
    text = made.dumps()
    with pytest.raises(DeserializationError, match="not on the trusted-module allowlist"):
        Pipeline.loads(text)
    by_call = Pipeline.loads(text, allowed_modules=ALLOWED).dumps()
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "ragsieve.*")

    assert text == by_call == Pipeline.loads(text).dumps()
    assert "max_tokens: 60" in text


def test_the_retrievers_score_stays():
    """Beside the metadata that came, where filters and rankers look."""
    given = [Document(id="eiffel", content=TOWER, score=0.12345)]
    (kept,) = RagsieveFilter("top-sentences", **FAKE).run(QUESTION, given)["documents"]

    assert kept.meta["retriever_score"] == 0.12345 != kept.score


def test_a_splitters_documents_keep_true_offsets():
    """The source has the kept text at ``split_idx_start``, or that is None."""
    text = " ".join(one.content or "" for one in DOCUMENTS * 2)
    splitter = DocumentSplitter("word", split_length=20, split_overlap=0)
    split = splitter.run([Document(content=text)])["documents"]
    sieve = RagsieveFilter("top-sentences", **FAKE | {"options": {"k": 4}})
    found = sieve.run(QUESTION, split)["documents"]
    known = [one for one in found if one.meta["split_idx_start"] is not None]

    assert {len(one.content) for one in known} != {len(one.content) for one in split}
    assert all(text[one.meta["split_idx_start"] :].startswith(one.content) for one in known)


def test_warming_up_makes_the_system():
    """Before the first question comes; what fails is raised by the run."""
    sieve = RagsieveFilter("top-sentences", **FAKE)
    sieve.warm_up()
    broken = {"system": "self-rag", "llm": "fake:echo", "embedder": "fake:hashing"}
    RagsieveFilter(**broken).warm_up()

    assert "loaded" in vars(sieve)
    with pytest.raises(Unsupported, match="lacks Self-RAG's reflection tokens"):
        RagsieveFilter(**broken, on_error="raise").warm_up()


def test_documents_without_content_pass_untouched(caplog):
    """Images are not thrown away for having no sentence: they come last, and a warning says so."""
    picture = Document(blob=ByteStream(b"x"), meta={"page": 7})
    found = RagsieveFilter("top-sentences", **FAKE).run(QUESTION, [picture, *DOCUMENTS])

    assert [KEPT] == [one.content for one in found["documents"][:1]]
    assert picture is found["documents"][1]
    assert ["1 of 3 documents have no text: they pass as they were"] == caplog.messages


def test_the_report_tells_what_was_dropped_and_failed():
    """As JSON values, with costs and how probable an answer is."""
    report = RagsieveFilter("top-sentences", **FAKE).run(QUESTION, DOCUMENTS)["report"]
    dropped = [one for step in report["trace"]["steps"] for one in step["dropped"]]

    assert report == json.loads(json.dumps(report))
    assert 3 == len(dropped)
    assert all(one["reason"] for one in dropped)
    assert 5 == sum(step["embedded"] for step in report["trace"]["steps"])
    assert "" == report["error"]
    assert None is report["answerable"]

    report = RagsieveFilter("top-sentences", **FAKE).run(" ", DOCUMENTS)["report"]

    assert None is report["trace"]
    assert report["error"].startswith("InputError: the question must not be blank")
