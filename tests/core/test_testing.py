"""The public checks: each law is broken by something, and then its check says so."""

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ragsieve import Document, InputError, Segment, System, load, models
from ragsieve.answer import Reader
from ragsieve.models.base import PASSAGE
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.retriever import as_source
from ragsieve.schema import Count, Schema
from ragsieve.testing import check_adapter, check_model, check_source, check_stage, check_system

FRESH = itertools.count()


@dataclass
class Thawed:
    """A stage that anybody may change."""

    k: int = 1

    def __call__(self, query, segments, /):
        return [*segments]


@dataclass(frozen=True, repr=False)
class Silent:
    """A stage that hides its option."""

    k: int = 1

    def __call__(self, query, segments, /):
        return [*segments]


def scored(segments, value, name="own"):
    return [s.scored(name, value()) for s in segments]


def emptied(query, segments, /):
    kept = [*segments]
    segments.clear()
    return kept


STAGES = [
    ("nothing in, nothing out", None, lambda q, s: [Segment.whole(Document("a", "b"))]),
    ("a stage is frozen", None, Thawed()),
    ("repr shows every option", None, Silent()),
    ("a stage gives a new list", None, lambda q, s: s),
    ("no argument is changed", None, emptied),
    ("the same call gives the same", None, lambda q, s: scored(s, lambda: next(FRESH))),
    ("of a document that went in", None, lambda q, s: [Segment.whole(Document("x", ""))] * len(s)),
    ("stays inside", "splitter", lambda q, s: [Segment.whole(x.document) for x in s]),
    ("come in order", "splitter", lambda q, s: [replace(x, start=x.end - n, end=x.end - n)
                                                for x in s for n in (0, len(x.text))]),
    ("identity and order", "scorer", lambda q, s: scored(s, lambda: 1.0)[::-1]),
    ("its own score alone", "scorer", lambda q, s: scored(s, lambda: 1.0, "given")),
    ("no score goes", "scorer", lambda q, s: [replace(x, scores={PASSAGE: 1.0}) for x in s]),
    ("adds and changes nothing", "selector", lambda q, s: scored(s, lambda: 1.0)),
    ("adds and changes nothing", "selector", lambda q, s: [*s, *s]),
    ("comes twice is not lost", "selector", lambda q, s: [x for x in s if s.count(x) == 1]),
]  # fmt: skip


@dataclass(frozen=True)
class Chatty:
    """A reader whose context is longer than it counts."""

    llm: Any
    more: int = 0

    def context(self, segments):
        return Reader(self.llm).context(segments)

    def count(self, texts):
        return [n + next(FRESH) % 5 for n in self.llm.count(texts)]


SYSTEMS = [
    ("tokens are counted by the reader", System(lambda q, s: [*s], Chatty(ScriptedLLM([])))),
    ("the same in threads", System(
        lambda q, s: scored(s, lambda: next(FRESH)), Reader(ScriptedLLM([])))),
    ("what was written names its parents", System(
        lambda q, s: [Segment.whole(Document("w", "I wrote.", written_by="me"))] if s else [],
        Reader(ScriptedLLM([])))),
]  # fmt: skip


class Drifting:
    """An embedder whose vectors depend on what was asked before."""

    identity = "drifting"

    def __init__(self, value):
        self.value = value

    def embed(self, texts, *, query=False):
        return np.array([[self.value(len(texts)), 0.0] for _ in texts], np.float32).reshape(-1, 2)


def adapted(query, documents, **changes):
    """An adapter that keeps whole documents, and what it makes of the first of a question."""
    if not query.strip():
        return documents
    found = []
    for one in documents:
        spans = [{"start": 0, "end": len(one["text"])}]
        about = {**one["metadata"], "ragsieve": {"spans": spans}}
        found.append({**one, "metadata": about})
    return [{**found[0], **changes}, *found[1:]] if found and changes else found


ADAPTERS = [
    ("spans are verbatim", lambda q, d: adapted(q, d, text="They sang.")),
    ("metadata stays", lambda q, d: adapted(q, d, metadata={"ragsieve": {"spans": []}})),
    ("metadata is JSON", lambda q, d: adapted(q, d, metadata={"page": (7,)})),
    ("what comes out came in", lambda q, d: [{**one, "id": "x", "metadata": {
        **one["metadata"], "title": "x"}} for one in adapted(q, d)]),
    ("nothing of the caller's changes", lambda q, d: [*adapted(q, d), d.clear()][:-1]),
    ("the same again, and in threads", lambda q, d: adapted(q, d)[next(FRESH) % 2 :]),
    ("of no documents comes none", lambda q, d: adapted(q, d) or [{}]),
    ("a blank question passes", lambda q, d: adapted(q.strip() or "x", d)),
]  # fmt: skip


class Goats(Schema, frozen=True, kw_only=True):
    """A kind of source, and which law it breaks."""

    k: Count = 2
    breaks: str = ""

    def check(self):
        """It can be used."""

    def identity(self):
        """Its option."""
        k = 0 if "number" in self.breaks else self.k
        return {"k": k, "n": next(FRESH) if "each time" in self.breaks else 0}

    about = identity

    def open(self, *_):
        """A search that finds one text, another each time, or nothing."""
        texts = map(str, FRESH) if "threads" in self.breaks else itertools.repeat("Goats.")
        found = () if "documents" in self.breaks else texts
        return as_source(lambda question, k: [*itertools.islice(found, 1)])


MODELS = [
    ("embed gives the same alone", float),
    ("embed gives the same alone", lambda n: math.nan),
    ("vectors have unit length", lambda n: 2.0),
]
SOURCES = ["are the same each time", "every number", "finds documents", "in threads"]
BROKEN = [
    *((law, partial(check_stage, stage, kind)) for law, kind, stage in STAGES),
    *((law, partial(check_system, system, pickles=False)) for law, system in SYSTEMS),
    *((law, partial(check_model, Drifting(value))) for law, value in MODELS),
    *((law, partial(check_adapter, adapter)) for law, adapter in ADAPTERS),
    *((law, partial(check_source, Goats(breaks=law), "Which goats sang?")) for law in SOURCES),
]


@pytest.mark.parametrize(("law", "check"), BROKEN)
def test_what_breaks_a_law_is_told_which(law, check):
    """By the law's name and what broke it."""
    with pytest.raises(AssertionError, match=f"{law}.*: broken by "):
        check()


def test_what_breaks_none_passes():
    """Models that documentation and tests run on, what runs by default, an adapter, a source."""
    fakes = (HashingEmbedder(), OverlapCrossEncoder(), OverlapPruner(), models.load("fake:echo"))
    for model in (*fakes, models.load("pruner")):
        check_model(model)
    check_system(load("finefilter", llm="fake:echo"), draws=4)
    check_adapter(adapted)
    check_source(Goats(), "Which goats sang?")


def test_what_is_no_model_is_refused():
    """With what it must have one of."""
    with pytest.raises(InputError, match="must have one of embed, score"):
        check_model(SimpleNamespace(identity="nothing"))
