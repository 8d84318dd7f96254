"""What every adapter promises, whichever framework it opens to."""

import copy
import logging
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from ragsieve import InputError, Pipeline, RagsieveError, System, load
from ragsieve.adapter import KEY, Adapter
from ragsieve.answer import Reader
from ragsieve.documents import as_documents
from ragsieve.models.fake import ScriptedLLM
from ragsieve.systems.base import SYSTEMS, system as registered
from ragsieve.testing import check_adapter
from ragsieve.types import Document, Segment

QUESTION = "Who designed the tower?"
TEXTS = {
    "eiffel": "The tower was designed by Koechlin. It is tall. The tower stands in Paris.",
    "fruit": "Bananas are yellow.",
    "other": "Sauvestre made the tower pretty.",
}
FAKE = {"llm": "fake:echo", "embedder": "fake:hashing"}
FAKE |= {"system": "top-sentences", "options": {"k": 2}}


class Seen(NamedTuple):
    """A document that came out: its id, its text, and what the metadata says."""

    id: str
    text: str
    metadata: dict[str, Any]


class Framework:
    """What the tests need of one: documents of it, its adapter, and what comes out."""

    library = ""
    name = ""

    def __init__(self):
        pytest.importorskip(self.library)

    def adapter(self, **options):
        module, _, name = self.name.partition(".")
        return getattr(import_module(f"ragsieve.integrations.{module}"), name)(**options)


class LangChain(Framework):
    library, name = "langchain_core", "langchain.RagsieveCompressor"

    def make(self, name, text):
        from langchain_core.documents import Document

        return Document(text, id=name, metadata={"title": name, "page": 7})

    def run(self, adapter, question, documents):
        return list(adapter.compress_documents(documents, question))

    def see(self, document):
        return Seen(document.id, document.page_content, document.metadata)


class LlamaIndex(Framework):
    library, name = "llama_index.core", "llama_index.RagsievePostprocessor"

    def make(self, name, text):
        from llama_index.core.schema import NodeWithScore, TextNode

        node = TextNode(id_=name, text=text, metadata={"title": name, "page": 7})
        return NodeWithScore(node=node, score=0.5)

    def run(self, adapter, question, documents):
        return list(adapter.postprocess_nodes(documents, query_str=question))

    def see(self, document):
        return Seen(document.node_id, document.text, document.metadata)


class Haystack(Framework):
    library, name = "haystack", "haystack.RagsieveFilter"

    def make(self, name, text):
        from haystack import Document

        return Document(id=name, content=text, meta={"title": name, "page": 7})

    def run(self, adapter, question, documents):
        return list(adapter.run(question, list(documents))["documents"])

    def see(self, document):
        return Seen(document.id, document.content, document.meta)


FOUND = threading.local()  # the prediction that a thread's question finds


def retrieve(_):
    return FOUND.prediction


class DSPy(Framework):
    """Passages have neither id nor metadata: lists beside them have."""

    library, name = "dspy", "dspy.RagsieveRetriever"

    def make(self, name, text):
        return Seen(name, text, {"title": name, "page": 7})

    def adapter(self, **options):
        return super().adapter(retriever=retrieve, **options)

    def run(self, adapter, question, documents):
        ids, passages, metas = map(list, zip(*documents, strict=True) if documents else [()] * 3)
        FOUND.prediction = import_module("dspy").Prediction(ids=ids, passages=passages, metas=metas)
        out = adapter(question)
        return [
            Seen(i, text, {**(meta or {}), **({"ragsieve": about} if "spans" in about else {})})
            for i, text, meta, about in zip(
                out.ids, out.passages, out.metas, out.ragsieve, strict=True
            )
        ]

    def see(self, document):
        return Seen(*document)


@pytest.fixture(params=[LangChain, LlamaIndex, Haystack, DSPy], ids=lambda kind: kind.__name__)
def framework(request):
    """Each framework that is installed."""
    return request.param()


def documents(framework):
    return [framework.make(name, text) for name, text in TEXTS.items()]


def through(framework, question=QUESTION, **options):
    """The usual documents through an adapter."""
    found = framework.run(framework.adapter(**options), question, documents(framework))
    return [framework.see(document) for document in found]


def alone(framework, name, **options):
    """What the library makes of the same documents."""
    title = "" if isinstance(framework, DSPy) else "{}"
    known = [{"id": n, "text": t, "title": title.format(n)} for n, t in TEXTS.items()]
    return load(name, "fake:echo", "fake:hashing", options=options)(QUESTION, known)


def system(stage, replies=("x",)):
    return System(Pipeline(stage), Reader(ScriptedLLM(replies)))


def written(_, segments):
    """A stage that sums up the first segment, and keeps it."""
    first = segments[0]
    own = Document("written", "Koechlin.", written_by="fake", parents=(first,))
    return [Segment.whole(own), first]


def broken(_, segments):
    raise OSError("the disk\nis gone")


@dataclass(frozen=True)
class Broken(Reader):
    """A reader that cannot lay out what it reads, which no stage can help."""

    def context(self, segments, /):
        raise OSError("the disk\nis gone")


KINDS = pytest.mark.parametrize("kind", [LangChain, LlamaIndex, Haystack])  # documents have ids


@KINDS
def test_documents_of_a_framework_are_taken_as_they_are(kind):
    """Id, text and metadata stay; title and source are those of the metadata."""
    made = kind().make("Rain", "It rained.")
    kind().see(made).metadata["source"] = "rain.txt"
    for given in (made, getattr(made, "node", made)):
        (document,) = as_documents([given])

        assert ("Rain", "It rained.") == (document.id, document.text)
        assert ("Rain", "rain.txt") == (document.title, document.source)
        assert 7 == document.metadata["page"]


def test_what_is_kept_is_what_the_library_keeps(framework):
    """The same spans, in the same order, and the text is made of them."""
    result = alone(framework, "top-sentences", k=2)
    seen = through(framework, **FAKE)

    spans = [(one.id, span) for one in seen for span in one.metadata["ragsieve"]["spans"]]

    assert [(s.document.id, s.start, s.end, dict(s.scores)) for s in result.kept] == [
        (name, span["start"], span["end"], span["scores"]) for name, span in spans
    ]
    texts = [(name, TEXTS[name][span["start"] : span["end"]]) for name, span in spans]
    assert [one.text for one in seen] == [
        " ".join(text for name, text in texts if name == one.id) for one in seen
    ]


def test_every_adapter_keeps_the_laws(framework):
    """Those of `ragsieve.testing`, for any adapter."""
    adapter = framework.adapter(**FAKE)

    def adapted(question, documents):
        given = [framework.make(d["id"], d["text"]) for d in documents]
        found = map(framework.see, framework.run(adapter, question, given))
        return [{"id": one.id, "text": one.text, "metadata": one.metadata} for one in found]

    check_adapter(adapted)


def test_the_order_is_the_reading_order(framework):
    """Not the order in which documents were retrieved."""
    seen = through(framework, system=system(lambda _, segments: list(segments)[::-1]))

    assert [*TEXTS][::-1] == [one.id for one in seen]


def test_what_a_model_wrote_is_marked(framework):
    """It names the model and the spans it was written from; the retrieved stays as it is."""
    seen = through(framework, system=system(written))
    marks = seen[0].metadata["ragsieve"]

    assert ["Koechlin.", TEXTS["eiffel"]] == [one.text for one in seen]
    assert "fake" == marks["written_by"]
    assert 1 == len(marks["parents"])
    assert [0, len(TEXTS["eiffel"])] == marks["parents"][0][1:]
    assert "written_by" not in seen[1].metadata["ragsieve"]


@pytest.mark.parametrize(
    "options",
    [
        {"system": System(Pipeline(written), Broken(ScriptedLLM(["x"])))},
        pytest.param(FAKE | {"llm": "transformers:/no/such/folder"}, marks=pytest.mark.slow),
        {"system": "self-rag", "llm": "fake:echo", "embedder": "fake:hashing"},
    ],
    ids=["reader", "missing weights", "no model of its own"],
)
def test_a_broken_filter_passes_the_documents(framework, options, caplog):
    """As they were, with one warning of one line; with on_error="raise" nothing is hidden."""
    with caplog.at_level(logging.WARNING, "ragsieve"):
        seen = through(framework, **options)

    assert [framework.see(document) for document in documents(framework)] == seen
    assert 1 == len(caplog.messages)
    assert caplog.messages[0].startswith("documents pass as they were, ragsieve failed: ")
    assert "\n" not in caplog.messages[0]
    with pytest.raises((RagsieveError, OSError)):
        through(framework, **options, on_error="raise")


def test_a_broken_filter_passes_an_iterators_documents():
    """All of them, though they can be read once."""
    assert [1, 2] == Adapter(**FAKE)(" ", iter([1, 2]), lambda _: {"text": "x"}, None).documents


def test_a_broken_stage_is_skipped(framework, caplog):
    """What the other stages do stands, and one warning names the stage."""
    two = System(Pipeline(broken, lambda _, segments: segments[:1]), Reader(ScriptedLLM([])))
    with caplog.at_level(logging.WARNING, "ragsieve"):
        seen = through(framework, system=two)

    assert [TEXTS["eiffel"]] == [one.text for one in seen]
    assert 1 == len(caplog.messages)
    assert "OSError: the disk is gone" in caplog.messages[0]


def test_equal_ids_lose_nothing(framework):
    """Two documents of one id come out as two of that id, each with its own text."""
    given = [framework.make("same", text) for text in TEXTS.values()]
    found = framework.run(framework.adapter(**FAKE | {"options": {"k": 9}}), QUESTION, given)

    assert [("same", text) for text in TEXTS.values()] == [
        (one.id, one.text) for one in map(framework.see, found)
    ]


@KINDS
def test_copies_come_out_once(kind):
    """Two documents of one id and one text are one (deepset-ai/haystack#10463)."""
    framework = kind()
    x, y = "The late fee is 20 cents. Parking is free.", "The pool is closed."
    given = [framework.make(name, text) for name, text in (("x", x), ("x", x), ("y", y))]
    adapter = framework.adapter(**FAKE | {"options": {"k": 9}})
    found = framework.run(adapter, "What is the late fee?", given)

    assert [("x", x), ("y", y)] == [(one.id, one.text) for one in map(framework.see, found)]


@pytest.mark.parametrize("system", ["finefilter", "top-sentences"])
def test_each_document_says_how_probable_an_answer_is(framework, system):
    """As the library says it of all of them; None where nothing tells it."""
    options = {"system": system, "llm": "fake:echo", "embedder": "fake:hashing"}
    answerable = alone(framework, system).answerable
    seen = through(framework, **options)

    assert seen
    assert (system == "top-sentences") == (answerable is None)
    assert {None if answerable is None else round(answerable, 4)} == {
        one.metadata[KEY]["answerable"] for one in seen
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"system": "finefitler"}, "system must be one of .* got 'finefitler'"),
        ({"system": "oracle"}, "system 'oracle' needs gold answers"),
        ({"system": "top-sentences", "options": {"n": 1}}, "options of top-sentences are .* 'n'"),
        ({"llm": "fake:hashing"}, "fake:hashing is no LLM"),
        ({"on_error": "ignore"}, "on_error must be one of raise, keep, got 'ignore'"),
        ({"system": system(written), "llm": "fake:echo"}, "go with a system by name"),
        ({"options": "keep_answer=0.9"}, "options must be values by name, got 'keep_answer=0.9'"),
        ({"llm": ScriptedLLM([])}, "llm must be a string or null, got ScriptedLLM"),
        ({"keep_answr": 0.8}, "options of finefilter are .*'keep_answr'.*keep_answer"),
        ({"min_keep": 1, "options": {"min_keep": 1}}, "name min_keep or options"),
    ],
)
def test_an_option_that_breaks_its_rule_raises_at_once(framework, options, message):
    """A mistake of who writes the pipeline is not kept for the first question."""
    with pytest.raises(InputError, match=message):
        framework.adapter(**options)


def test_an_argument_that_only_loading_finds_wrong_raises(framework):
    """With on_error="keep", too: a filter that can never run is a mistake."""

    def picky(_):
        raise InputError("x must be set")

    with SYSTEMS.isolated():
        registered("picky", needs="nothing")(picky)
        with pytest.raises(InputError, match="x must be set"):
            through(framework, system="picky", llm="fake:echo")


@pytest.mark.parametrize("kind", [LangChain, LlamaIndex])
def test_a_field_that_is_assigned_counts(kind):
    """Or that a copy has: what an adapter shows is what it holds."""
    framework, options = kind(), FAKE | {"options": {}}
    fixed = framework.adapter(**options, max_tokens=12)
    assigned, changed = framework.adapter(**options), framework.adapter(**options)
    assigned.max_tokens = 12
    changed.options["max_chars"] = 40
    copied = framework.adapter(**options).model_copy(update={"max_tokens": 12})

    def kept(adapter):
        found = framework.run(adapter, QUESTION, documents(framework))
        return [framework.see(document).text for document in found]

    assert kept(fixed) == kept(assigned) == kept(copied)
    assert len("".join(kept(changed))) <= 40
    assigned.options = {"k": -1}
    with pytest.raises(InputError, match="k must"):
        kept(assigned)


@pytest.mark.parametrize(
    "made", [copy.deepcopy, lambda adapter: pickle.loads(pickle.dumps(adapter))]
)
def test_a_copy_gives_the_same(framework, made):
    """Frameworks copy and pickle what they run."""
    given = documents(framework)
    adapter = framework.adapter(**FAKE)
    copied = made(adapter)

    assert framework.run(adapter, QUESTION, given) == framework.run(copied, QUESTION, given)


class Slow(dict[str, Any]):
    """Options that take their time to be read, so that every thread has come."""

    def __iter__(self):
        time.sleep(0.05)
        return super().__iter__()

    def keys(self):
        time.sleep(0.05)
        return super().keys()


def test_threads_share_one_system():
    """However many ask first at once, models are made once."""
    adapter = Adapter(**FAKE | {"options": Slow(max_chars=99)})
    barrier = threading.Barrier(8)

    def sieve(_):
        barrier.wait(5)
        return adapter.loaded

    with ThreadPoolExecutor(8) as pool:
        made = [*pool.map(sieve, range(8))]

    assert 1 == len({id(one) for one in made})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("keep_answer", (0.8, 0.99)),
        ("min_score", (0.2, 0.0)),
        ("min_answerable", (1.0, 0.0)),
        ("max_tokens", (12, 1000)),
        ("max_chars", (60, 1000)),
        ("max_tokens_per_document", (6, 1000)),
        ("max_chars_per_document", (25, 1000)),
    ],
)
def test_where_it_is_cut_is_an_argument(framework, name, values):
    """Of the default filter: the first value keeps less than the second."""
    kept = []
    for value in values:
        options = {name: value} | ({"keep_answer": 0.99} if name.startswith("max") else {})
        seen = through(framework, llm="fake:echo", on_error="raise", **options)
        kept.append({(one.id, s["start"]) for one in seen for s in one.metadata[KEY]["spans"]})

    assert set() < kept[0] < kept[1]
