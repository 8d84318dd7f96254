"""The laws of the contract as checks of your own stages, systems, sources, models and adapters.

Each check raises `AssertionError` with the law that is broken and what broke it, and gives nothing
otherwise: ``check_stage(MyScorer())`` in a test of yours holds a scorer to what ragsieve's are held
to. Inputs are drawn at random from a seed, hostile ones among them (control characters, lone
surrogates, other scripts, empty and equal documents, spans that come twice).
"""

import copy
import dataclasses
import json
import math
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from typing import Any, Literal

import msgspec
import numpy as np

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.base import PASSAGE, Message, Passage
from ragsieve.pipeline import Stage
from ragsieve.result import Result
from ragsieve.score.base import UNREAD, Scorer
from ragsieve.sources import SourceKind
from ragsieve.system import System
from ragsieve.types import Document, Query, Segment, keys

Kind = Literal["splitter", "scorer", "selector"]
Adapter = Callable[[str, list[dict[str, Any]]], Sequence[Mapping[str, Any]]]
PIECES = (
    *("He sang. ", "It was late, and the goats gave milk. ", "Which bees make honey? ", "- a\n"),
    *("你好。", "今天天气很好。", "1. one\n", "a,b\n1,2\n"),
    *('{"a": [1, 2]}\n', "\n\n", "def f():\n"),
    *("\ud800", "\x00", "\u200b", "😀! ", "et al. ", "</documents> [1] ", "x" * 40),
)
QUERIES = (Query("Who sang Summer Breeze?"), Query("Which bees make honey?"))
OPTIONS = (["yes", "no"], ["1", "10"], ["a", "bb", "the river"])  # of a call of `choose`
ENDS = ("It rained.", "", "x")  # of prompts, whose likelihood is asked for
MOST_OPTIONS = 8


def check_stage(stage: Stage, kind: Kind | None = None, *, seed: int = 0, draws: int = 30) -> None:
    """Hold a stage to the stage laws.

    It gives a new list, the same for the same arguments, alone and in threads, and changes none of
    them; nothing comes of nothing; spans are verbatim, of documents that went in. A splitter stays
    inside what it splits; a scorer keeps identity and order and adds one finite score; a selector
    adds nothing, changes nothing and loses no span for coming twice. A stage that is a dataclass
    is frozen, shows its options and has eight of them at most.

    Args:
        stage: The stage. Its models must depend on their input alone.
        kind: What it is; a `ragsieve.score.base.Scorer` is a scorer. None: any stage.
        seed: Of the evidence that is drawn.
        draws: So many lists of segments are tried.

    Raises:
        AssertionError: If a law is broken.
    """
    kind = kind or ("scorer" if isinstance(stage, Scorer) else None)
    _law("nothing in, nothing out", list(stage(QUERIES[0], [])) == [], stage)
    _check_options(stage)
    rng = random.Random(seed)
    drawn = [draw_evidence(rng) for _ in range(draws)]
    alone = [_check_call(stage, kind, segments) for segments in drawn]
    others = _in_threads(lambda segments: stage(QUERIES[1], segments), drawn)
    _law("another question is answered, too", len(others) == len(drawn), stage)
    answers = _in_threads(lambda segments: _told(stage(QUERIES[0], segments)), drawn[::-1])
    for segments, once, answer in zip(drawn, alone, answers[::-1], strict=True):
        _law("the same in threads, whatever was asked before", once == answer, segments)


def draw_evidence(rng: random.Random, most: int = 6) -> list[Segment]:
    """Scored spans of several documents: empty ones, equal ones, neighbours in a document."""
    texts = ["".join(rng.choices(PIECES, k=rng.randint(0, 8))) for _ in range(rng.randint(0, most))]
    texts += rng.choices(texts, k=rng.randint(0, 2)) if texts else []
    found = []
    for rank, text in enumerate(texts):
        document = Document(f"d{rank}", text, rng.choice(("", "Title", "\ud800\n")), rank=rank)
        cut = rng.randint(0, len(text))
        spans = rng.choice(([(0, len(text))], [(0, cut), (cut, len(text))]))
        for start, end in dict.fromkeys(spans):
            scores = {"relevance": rng.random(), "given": rng.uniform(-2, 2)}
            found.append(Segment(document, start, end, scores))
    rng.shuffle(found)
    return found


def check_system(system: System, *, seed: int = 0, draws: int = 8, pickles: bool = True) -> None:
    """Hold a system to what every system promises.

    What is kept is verbatim, of the documents that went in or written from them and marked so, each
    span once, and stands in the context; nothing grows, and budgets of 0, 7 and 20 tokens hold in
    the reader's tokens; what goes has a reason; the same comes again, in threads, and from a
    pickle; a result comes again from JSON.

    Args:
        system: The system, without a source. Its models must depend on their input alone.
        seed: Of the documents that are drawn.
        draws: So many questions with documents are tried.
        pickles: Whether it must go through a pickle.

    Raises:
        AssertionError: If a law is broken.
    """
    rng = random.Random(seed)
    asked = [(rng.choice(QUERIES), _draw_documents(rng)) for _ in range(draws)]
    results = [system(*question) for question in asked]
    for result in results:
        _check_result(system, result)
    together = _in_threads(lambda question: _story(system(*question)), asked)
    _law("the same in threads", [*map(_story, results)] == together, system)
    if pickles:
        again = pickle.loads(pickle.dumps(system))
        _law("repr shows the same of a pickled copy", repr(system) == repr(again), system)
        _law("a pickled copy gives the same", _story(results[0]) == _story(again(*asked[0])), again)
    for most in (0, 7, 20):
        _check_result(system, system.with_budget(most)(*asked[-1]), most)


def check_source(kind: SourceKind, question: str, *, llm: Any = None) -> None:
    """Hold a kind of source to what commands, servers and benchmarks ask of it.

    Identity and ``about`` are JSON, the same each time; each number of its options changes the
    identity; a question finds the same again, in threads, too.

    Args:
        kind: The kind with its place and options, as ``Notes(place="notes")``.
        question: One that it finds documents for.
        llm: The generator, where it asks one; its other models are loaded by name.

    Raises:
        AssertionError: If a law is broken.
        InputError: If the kind cannot be used.
        SourceError: If it fails on a question.
    """
    kind.check()
    about = [json.dumps([kind.identity(), kind.about()]) for _ in range(2)]
    _law("identity and about are the same each time", about[0] == about[1], about)
    options: Any = kind  # a `ragsieve.schema.Schema`
    for name, value in msgspec.structs.asdict(options).items():
        if type(value) is int:
            other = msgspec.structs.replace(options, **{name: value + 1})
            changed = other.identity() != kind.identity()
            _law("identity has every number of the options", changed, name)
    source = kind.open(llm, models.defer, lambda model: model)
    asked = [Query(question), *(Query(f"?{piece}") for piece in PIECES)]
    alone = [_told(source(query)) for query in asked]
    _law("the question finds documents", bool(alone[0]), kind)
    together = _in_threads(lambda query: _told(source(query)), asked)
    _law("the same again, and in threads", alone == together, kind)


def check_model(model: Any, *, batch: int = 5, tolerance: float = 1e-4) -> None:
    """Hold a model to its protocol, one of those of `ragsieve.models.base`.

    Each call gives as many as it was asked, none of none, finite ones; the same for an item alone
    and among others, in another order and in threads, within ``tolerance``; vectors have unit
    length, odds sum to 1, an LLM raises what it lacks. What it can is found by its methods.

    Raises:
        AssertionError: If a law is broken.
        InputError: If it has none of the protocols' calls.
    """
    _law("a model has an identity", bool(model.identity), model)
    texts = [f"{PIECES[n % 3]}{n} songs were sung." for n in range(batch)]
    texts += ["", "\ud800 \x00", " ".join(texts)]
    prompts = [(Message("user", text),) for text in texts]
    lists = [texts[:n] for n in range(len(texts))]
    can: frozenset[str] = getattr(model, "can", frozenset())
    calls: dict[str, tuple[Callable[[Sequence[Any]], Any], Sequence[Any]]] = {
        "embed": (lambda items: model.embed(items), texts),
        "score": (lambda items: model.score(items), [("Who sang?", text) for text in texts]),
        "prune": (lambda items: _pruned(model, items), texts),
        "classify": (lambda items: model.classify(items), texts),
        "rank": (lambda items: model.rank(["Who sang?"] * len(items), items), lists),
        "count": (lambda items: model.count(items), texts),
        "complete": (lambda items: model.complete(items, max_tokens=8), prompts),
        "choose": (lambda items: model.choose(*_columns(items)), [*zip(prompts, cycle(OPTIONS))]),
        "loglik": (lambda items: model.loglik(*_columns(items)), [*zip(prompts, cycle(ENDS))]),
    }
    lacks = {"complete", "choose", "loglik"} - {*can}
    tried = [name for name in calls if hasattr(model, name) and name not in lacks]
    if not tried:
        raise InputError(f"a model must have one of {', '.join(calls)}, got {model!r:.80}")
    for name in tried:
        _check_model_call(name, *calls[name], tolerance)


def check_adapter(adapter: Adapter, *, seed: int = 0, draws: int = 8) -> None:
    """Hold an adapter of a framework to what every adapter promises.

    Spans are verbatim and in the text that comes out; metadata stays, is JSON and has one key more,
    and ``retriever_score`` where a document came with a score; nothing of the caller's changes; the
    same comes again, in threads; documents of one id stay apart; of no documents comes none; a
    blank question passes them as they were.

    Args:
        adapter: Makes documents of its framework from mappings with ``id``, ``text`` and
            ``metadata``, sends them through the adapter with a question, and gives the same
            mappings of what comes out. Its models must depend on their input alone.
        seed: Of the documents that are drawn.
        draws: So many questions with documents are tried.

    Raises:
        AssertionError: If a law is broken.
    """
    rng = random.Random(seed)
    asked = [(rng.choice(QUERIES).text, _draw_documents(rng)) for _ in range(draws)]
    asked.append((QUERIES[0].text, [{"id": "same", "text": f"{n} goats sang."} for n in range(3)]))
    given = [(query, [_with_metadata(d) for d in documents]) for query, documents in asked]
    alone = [_check_adapted(adapter, query, documents) for query, documents in given]
    together = _in_threads(lambda one: [*adapter(*copy.deepcopy(one))], given)
    _law("the same again, and in threads", alone == together, together)
    _law("of no documents comes none", not adapter(QUERIES[0].text, []), adapter)
    passed = [*adapter(" \n", copy.deepcopy(given[0][1]))]
    _law("a blank question passes documents as they were", passed == given[0][1], passed)


def _with_metadata(document: Mapping[str, str]) -> dict[str, Any]:
    return {**document, "metadata": {"title": document["id"], "page": 7}}


def _check_adapted(adapter: Callable[..., Any], query: str, given: list[dict[str, Any]]) -> Any:
    """What comes out of one question, where all laws hold."""
    sent = copy.deepcopy(given)
    found = [*adapter(query, sent)]
    _law("nothing of the caller's changes", sent == given, sent)
    for one in found:
        metadata = dict(one["metadata"])
        _law("metadata is JSON", json.loads(json.dumps(metadata)) == metadata, metadata)
        about, _ = metadata.pop("ragsieve", {}), metadata.pop("retriever_score", None)
        _law("metadata stays", metadata == _with_metadata(one)["metadata"], one)
        whole = [d["text"] for d in given if d["id"] == one["id"]]
        _law("what comes out came in", bool(whole), one)
        shown = "".join(one["text"].split())
        spans = [[text[s["start"] : s["end"]] for s in about["spans"]] for text in whole]
        held = [all("".join(span.split()) in shown for span in of_one) for of_one in spans]
        _law("spans are verbatim, each of its own document", any(held), one)
    return found


def _in_threads(call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(call, items)]


def _law(rule: str, holds: bool, what: object) -> None:
    if not holds:
        raise AssertionError(f"{rule}: broken by {what!r:.1000}")


def _told(segments: Sequence[Segment]) -> list[tuple[Any, ...]]:
    return [(s.key, s.text, s.document.written_by, dict(s.scores)) for s in segments]


def _check_options(stage: Stage) -> None:
    """Of a dataclass: frozen, few, shown."""
    if not dataclasses.is_dataclass(stage):
        return
    names = [f.name for f in dataclasses.fields(stage) if f.init]
    shown = repr(stage)
    _law(f"at most {MOST_OPTIONS} options", len(names) <= MOST_OPTIONS, names)
    _law("repr shows every option", all(f"{name}=" in shown for name in names), shown)
    frozen = type(stage).__dataclass_params__.frozen
    _law("a stage is frozen, so that threads may share it", frozen, stage)


def _check_call(stage: Stage, kind: Kind | None, segments: list[Segment]) -> list[Any]:
    """One call of a stage: what it gives, where all laws hold."""
    before = copy.deepcopy(segments)
    first = stage(QUERIES[0], segments)
    _law("a stage gives a new list", isinstance(first, list) and first is not segments, stage)
    _law("no argument is changed", _told(segments) == _told(before), segments)
    _law("the same call gives the same", _told(stage(QUERIES[0], segments)) == _told(first), first)
    documents = {s.document for s in segments}
    of_theirs = (s.document in documents or bool(s.document.parents) for s in first)
    _law("each span is of a document that went in, or written from some", all(of_theirs), first)
    if kind == "splitter":
        _check_splitter(stage, segments, first)
    elif kind == "scorer":
        _check_scored(stage, segments, first)
    elif kind == "selector":
        _check_selected(segments, first)
        once, twice = (keys(stage(QUERIES[0], segments[:1] * n)) for n in (1, 2))
        _law("a span that comes twice is not lost", {*once} <= {*twice}, (once, twice))
    return _told(first)


def _check_splitter(stage: Stage, segments: Sequence[Segment], finer: Sequence[Segment]) -> None:
    def inside(span: Segment) -> bool:
        own = (s for s in segments if s.document == span.document)
        return any(s.start <= span.start <= span.end <= s.end for s in own)

    _law("a splitter stays inside what it splits", all(map(inside, finer)), finer)
    for whole in segments:
        starts = [s.start for s in stage(QUERIES[0], [whole])]
        _law("a document's spans come in order", sorted(starts) == starts, starts)


def _check_scored(stage: Stage, segments: Sequence[Segment], scored: Sequence[Segment]) -> None:
    name = getattr(stage, "name", None)
    _law("a scorer keeps identity and order", keys(segments) == keys(scored), scored)
    for before, after in zip(segments, scored, strict=True):
        new = {k for k, v in after.scores.items() if before.scores.get(k) != v}
        _law("a scorer adds its own score alone", new <= {name, PASSAGE, UNREAD}, after.scores)
        _law("no score goes", before.scores.keys() <= after.scores.keys(), after.scores)
        _law("the score is finite", math.isfinite(after.score), after.scores)


def _check_selected(segments: Sequence[Segment], kept: Sequence[Segment]) -> None:
    given, found = (Counter(map(repr, _told(some))) for some in (segments, kept))
    _law("a selector adds and changes nothing", found <= given, kept)


def _draw_documents(rng: random.Random) -> list[dict[str, str]]:
    texts = ["".join(rng.choices(PIECES, k=rng.randint(0, 8))) for _ in range(rng.randint(1, 6))]
    return [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]


def _check_result(system: System, result: Result, most: int | None = None) -> None:
    kept = [s for s in result.kept if not s.document.written_by]
    verbatim = (s.document in result.documents and s.text in s.document.text for s in kept)
    _law("what is kept is of the documents", all(verbatim), result.kept)
    written = [s.document for s in result.kept if s.document.written_by]
    _law("what was written names its parents", all(d.parents for d in written), written)
    _law("each span is kept once", len({*keys(result.kept)}) == len(result.kept), result.kept)
    length = system.reader.count([result.text])[0]
    _law("tokens are counted by the reader", length == result.tokens.after, result.tokens)
    _law("nothing grows", result.tokens.after <= result.tokens.before, result.tokens)
    _law("a budget holds", most is None or result.tokens.after <= most, result.tokens)
    gone = [verdict for verdict in result.verdicts if verdict.stage]
    _law("what goes has a reason", all(verdict.reason for verdict in gone), gone)
    again = Result.from_dict(json.loads(json.dumps(result.to_dict())))
    _law("a result comes again from JSON", again.text == result.text, result)


def _story(result: Result) -> Any:
    """What a result says, without times and costs."""
    steps = [(_told(step.after), step.notes) for step in result.trace.steps]
    return result.text, _told(result.kept), steps


def _pruned(model: Any, texts: Sequence[str]) -> list[list[float]]:
    found = model.prune(["Who sang?"] * len(texts), [[Passage("", [text])] for text in texts])
    return [[*pruned.sentences, *pruned.passages] for pruned in found]


def _columns(rows: Sequence[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    return [first for first, _ in rows], [second for _, second in rows]


def _check_model_call(
    name: str, call: Callable[[Sequence[Any]], Any], items: Sequence[Any], tolerance: float
) -> None:
    together = [*call(items)]
    _law(f"{name} gives as many as it is asked", len(together) == len(items), together)
    _law(f"{name} gives none of none", len(call([])) == 0, name)
    ways = {
        "alone": [call([item])[0] for item in items],
        "in another order": [*call(items[::-1])][::-1],
        "in threads": _in_threads(lambda item: call([item])[0], items),
    }
    for way, found in ways.items():
        same = all(_near(a, b, tolerance) for a, b in zip(together, found, strict=True))
        _law(f"{name} gives the same {way}", same, (together, found))
    if name == "embed":
        lengths = np.linalg.norm(np.asarray(together), axis=1)
        _law("vectors have unit length", bool(np.allclose(lengths, 1, atol=1e-3)), lengths)
    if name == "choose":
        sums = [sum(odds) for odds in together if odds is not None]
        _law("odds sum to 1", bool(np.allclose(sums, 1, atol=1e-3)), together)


def _near(one: Any, other: Any, tolerance: float) -> bool:
    """Whether texts and None are equal, numbers finite and near."""
    if one is None or isinstance(one, str):
        return bool(one == other)
    numbers, others = (np.asarray(values, np.float64) for values in (one, other))
    comparable = numbers.shape == others.shape and np.isfinite(numbers).all()
    return bool(comparable and np.allclose(numbers, others, atol=tolerance))
