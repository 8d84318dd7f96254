"""Spans of OpenTelemetry, as a collector in memory receives them."""

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ragsieve import Document, Pipeline, Segment, System, score, select, split
from ragsieve.answer import Reader
from ragsieve.integrations.opentelemetry import instrument
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from tests.processes import python

TEXT = "Ada wrote programs. It rained that day."


@pytest.fixture
def system():
    """Asks a source, keeps one sentence, answers."""
    stage = Pipeline(split.Sentences(), score.Cosine(HashingEmbedder()), select.TopK(1))
    reader = Reader(ScriptedLLM(lambda prompt: "Ada"))
    return System(stage, reader, source=lambda query: [Segment.whole(Document("d", TEXT))])


def exported():
    """A collector, and a tracer whose spans it gets."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter, provider.get_tracer("test")


@pytest.fixture
def spans():
    """What a call leaves behind, inside a span of the caller's."""
    exporter, tracer = exported()
    ends = []

    def collected(call, **options):
        ends.append(instrument(tracer, **options))
        with tracer.start_as_current_span("caller"):
            call()
        return exporter.get_finished_spans()

    yield collected
    for end in ends:
        end()


def test_each_step_is_a_span(system, spans):
    """Retrieval, stages and chat, in order, as children of the caller's span."""
    *steps, caller = spans(lambda: system.ask("Who wrote programs?"))

    assert [
        "retrieval system.<locals>.<lambda>",
        "ragsieve Sentences",
        "ragsieve Cosine",
        "ragsieve TopK",
        "chat scripted",
    ] == [step.name for step in steps]
    assert all(step.parent and step.parent.span_id == caller.context.span_id for step in steps)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_spans_of_many_questions_are_the_callers(system, spans, asynchronous):
    """Those of threads, too."""
    questions = ["Who wrote programs?", "Who was it?"]
    batch = (
        (lambda: asyncio.run(system.abatch(questions)))
        if asynchronous
        else (lambda: system.batch(questions))
    )
    *steps, caller = spans(batch)

    assert 8 == len(steps)
    assert {caller.context.span_id} == {step.parent and step.parent.span_id for step in steps}


def test_spans_say_what_was_spent(system, spans):
    """Tokens and model by the conventions; segments in and out."""
    chat = spans(lambda: system.ask("Who wrote programs?"))[4].attributes

    assert "chat" == chat["gen_ai.operation.name"]
    assert "scripted" == chat["gen_ai.request.model"]
    assert (True, 1) == (chat["gen_ai.usage.input_tokens"] > 10, chat["gen_ai.usage.output_tokens"])


@pytest.mark.parametrize("content", [False, True])
def test_texts_are_there_where_asked_for(system, spans, content):
    """No word of a document leaves the process otherwise."""
    finished = spans(lambda: system.ask("Who wrote programs?"), content=content)
    told = " ".join(span.to_json() for span in finished)

    assert content == ("It rained that day." in told)
    if content:
        assert ("It rained that day.",) == finished[3].attributes["ragsieve.dropped"]


def test_a_failure_is_a_status(spans):
    """Of a stage that was skipped, with its one line."""

    def fails(query, segments, /):
        raise ValueError("broken")

    system = System(Pipeline(fails), Reader(ScriptedLLM(["x"])))

    def call():
        system.lenient()("Who?", [TEXT])
        with pytest.raises(ValueError, match="broken"):
            system("Who?", [TEXT])

    failed = spans(call)[:2]

    assert [("ERROR", "ValueError: broken")] * 2 == [
        (one.status.status_code.name, one.status.description) for one in failed
    ]
    assert 1 == len({(one.name, *one.attributes) for one in failed})


def test_it_ends(system):
    """After the end no step is a span; it may be ended twice."""
    exporter, tracer = exported()
    end = instrument(tracer)
    during = []
    for _ in range(2):
        system("Who wrote programs?")
        during.append(len(exporter.get_finished_spans()))
        end()

    assert [4, 4] == during


@pytest.mark.slow
def test_spans_of_the_global_provider_name_the_version():
    """As instrumentation does; in a process of its own, since a provider is set once."""
    program = (
        "import ragsieve\n"
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "from opentelemetry.sdk.trace.export import SimpleSpanProcessor\n"
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "from ragsieve.integrations.opentelemetry import instrument\n"
        "exporter, provider = InMemorySpanExporter(), TracerProvider()\n"
        "provider.add_span_processor(SimpleSpanProcessor(exporter))\n"
        "trace.set_tracer_provider(provider)\n"
        "instrument()\n"
        "ragsieve.load('all', 'fake:echo').ask('Who?', ['Ada.'])\n"
        "(span,) = exporter.get_finished_spans()\n"
        "scope = span.instrumentation_scope\n"
        "print(span.name, scope.name, scope.version == ragsieve.__version__)\n"
    )

    assert "chat echo ragsieve True" == python(program).stdout.strip()
