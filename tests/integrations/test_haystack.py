"""Haystack: a component between retriever and prompt, with the real small models."""

from __future__ import annotations

import asyncio
import json

import pytest

from ragsieve.errors import InputError, Unsupported
from ragsieve.systems import build

pytest.importorskip("haystack")

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream

from ragsieve.integrations.haystack import RagsieveFilter
from ragsieve.models.fake import ScriptedLLM

from .conftest import FAKE, KEPT, QUESTION

ALLOWED = ["ragsieve.integrations.haystack"]
DOCUMENTS = [
    Document(
        id="eiffel",
        content="It is 330 metres tall. Maurice Koechlin drew the first design of the tower.",
        meta={"title": "Eiffel Tower"},
    ),
    Document(id="fruit", content="Bananas are yellow. The first design of them is old."),
]


def test_a_pipeline_can_be_written_down_and_read() -> None:
    """Parameters are JSON, and the pipeline that is read gives the same."""
    made = Pipeline()
    made.add_component("sieve", RagsieveFilter("top-sentences", **FAKE, max_tokens=20))
    read = Pipeline.loads(made.dumps(), allowed_modules=ALLOWED)
    parameters = made.to_dict()["components"]["sieve"]["init_parameters"]
    asked = {"sieve": {"query": QUESTION, "documents": DOCUMENTS}}
    kept = read.run(asked)["sieve"]["documents"]

    assert {
        "system": "top-sentences",
        **FAKE,
        "max_tokens": 20,
        "on_error": "keep",
    } == json.loads(json.dumps(parameters))
    assert made.dumps() == read.dumps()
    assert [KEPT] == [document.content for document in kept]
    assert kept == asyncio.run(read.run_async(asked))["sieve"]["documents"]


def test_a_system_cannot_be_written_down() -> None:
    """The error says what can."""
    system = build("all", ScriptedLLM([]))
    with pytest.raises(InputError, match="only a system by name can be written down"):
        RagsieveFilter(system).to_dict()


def test_warming_up_makes_the_system() -> None:
    """Before the first question comes; what fails is raised by the run."""
    sieve = RagsieveFilter("top-sentences", **FAKE)
    sieve.warm_up()
    broken = {"system": "self-rag", "llm": "fake:echo", "embedder": "fake:hashing"}
    RagsieveFilter(**broken).warm_up()

    assert 1 == len(sieve._adapter._loaded)
    with pytest.raises(Unsupported, match="lacks Self-RAG's reflection tokens"):
        RagsieveFilter(**broken, on_error="raise").warm_up()


def test_documents_without_content_pass_untouched(caplog: pytest.LogCaptureFixture) -> None:
    """Images are not thrown away for having no sentence: they come last, and a warning says so."""
    picture = Document(blob=ByteStream(b"x"), meta={"page": 7})
    found = RagsieveFilter("top-sentences", **FAKE).run(QUESTION, [picture, *DOCUMENTS])

    assert [KEPT] == [one.content for one in found["documents"][:1]]
    assert picture is found["documents"][1]
    assert ["1 of 3 documents have no text: they pass as they were"] == caplog.messages


def test_the_report_tells_what_was_dropped_and_what_it_cost() -> None:
    """As JSON values, for whoever connects it."""
    report = RagsieveFilter("top-sentences", **FAKE).run(QUESTION, DOCUMENTS)["report"]
    dropped = [one for step in report["trace"]["steps"] for one in step["dropped"]]

    assert report == json.loads(json.dumps(report))
    assert 3 == len(dropped)
    assert all(one["reason"] for one in dropped)
    assert 5 == sum(step["embedded"] for step in report["trace"]["steps"])
    assert "" == report["error"]


def test_the_report_tells_what_failed() -> None:
    """Where documents pass as they were, the error is in it."""
    report = RagsieveFilter("top-sentences", **FAKE).run(" ", DOCUMENTS)["report"]

    assert None is report["trace"]
    assert report["error"].startswith("InputError: the question must not be blank")


def test_lone_surrogates_pass_through() -> None:
    """Half of a character pair is filtered as any other text."""
    odd = Document(id="odd", content="The first design \ud800 was Koechlin's. It is old.")
    found = RagsieveFilter("top-sentences", **FAKE, on_error="raise").run(QUESTION, [odd])

    assert ["The first design \ud800 was Koechlin's."] == [d.content for d in found["documents"]]
