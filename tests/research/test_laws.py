"""Every exported stage against the stage laws."""

import inspect
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial
from multiprocessing import get_context
from types import SimpleNamespace

import pytest

import ragsieve_research.score
import ragsieve_research.select
import ragsieve_research.split
from ragsieve import Document, MissingExtra, Query, Segment, score, select, split
from ragsieve.models.fake import HashingEmbedder, OverlapCrossEncoder, OverlapPruner, ScriptedLLM
from ragsieve.select.cut import Odds
from ragsieve.testing import check_stage
from ragsieve_research.answer.agent import Agent
from ragsieve_research.answer.critic import Critic
from ragsieve_research.score.calibrated import Calibrated, Logistic
from ragsieve_research.score.combine import Hybrid, Mean
from ragsieve_research.score.helpful import Helpful
from ragsieve_research.score.in_context import InContext
from ragsieve_research.score.inclusion import CXMI, Inclusion, Overlap
from ragsieve_research.score.judge import Critique, Reflection, Relevance
from ragsieve_research.score.likelihood import Likelihood
from ragsieve_research.score.listwise import Listwise, Permuting
from ragsieve_research.score.surprisal import Expected, Surprisal
from ragsieve_research.select.adaptive import Adaptive
from ragsieve_research.select.distinct import Distinct
from ragsieve_research.select.extract import Extract
from ragsieve_research.select.truncate import Truncate
from ragsieve_research.split.semantic import Semantic
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.winnowrag import Winnow
from tests.rules import check_rule, refusal

PACKAGES = {
    "split": (split, ragsieve_research.split),
    "score": (score, ragsieve_research.score),
    "select": (select, ragsieve_research.select),
    "systems": (SimpleNamespace(__all__=["Winnow"], Winnow=Winnow),),
}
QUERY = Query("Who sang Summer Breeze?")
OTHER = Query("Which bees make honey?")
ANSWERS = dict.fromkeys((QUERY.text, OTHER.text), ("Seals",))


def first_two(prompt):
    """Names sentence 2 and 1 where there are as many, else sentence 1: a function of the prompt."""
    return "[2, 1]" if "\n[2] " in prompt[-1].content else "[1]"


def ordered(prompt):
    """Puts the second passage before the first, and names one that is none."""
    return "[2] > [1] > [9]"


def fewer(prompt, options):
    """Most weight on the middle option."""
    return [float(place == len(options) // 2) + 0.1 for place in range(len(options))]


def debater(prompt):
    """Answers by the length of what is read; as a critic, calls the first response incorrect."""
    text = prompt[0].content
    if "Response [1]" in text:
        return "Incorrect answers: [1]\nExplanation: it is short\nConsistent answer: no"
    if "Answer [1]" in text:
        return "Unique answers: []\nDuplicate answers: [[1, 2]]"
    answer = f"{len(text) % 7} men"
    return f"Evidence: none\nExplanation: none\nAnswer: {answer}" if "Evidence" in text else answer


def winnow(**options):
    pytest.importorskip("sklearn")
    llm = ScriptedLLM(debater, can=frozenset({"complete"}))
    return Winnow(Agent(llm), Critic(llm), HashingEmbedder(16), **options)


# How each exported stage is built; a new one needs a row here, and is then held to every law.
BUILD = {
    "split.Blocks": split.Blocks,
    "split.Semantic": lambda: Semantic(HashingEmbedder(), min_similarity=0.3),
    "split.Sentences": split.Sentences,
    "split.Windows": lambda: Windows(ScriptedLLM(["unused"]), max_tokens=3),
    "score.BM25": score.BM25,
    "score.CXMI": lambda: CXMI(ScriptedLLM(["unused"]), ANSWERS),
    "score.Calibrated": lambda: Calibrated(Logistic(2.0, -1.0), of="given"),
    "score.Cosine": lambda: score.Cosine(HashingEmbedder()),
    "score.Critique": lambda: Critique(ScriptedLLM(["unused"], choices=fewer)),
    "score.Expected": lambda: Expected(ScriptedLLM(["unused"])),
    "score.Helpful": lambda: Helpful(ScriptedLLM(["unused"], choices=fewer)),
    "score.Hybrid": lambda: Hybrid((score.BM25(), score.Cosine(HashingEmbedder()))),
    "score.InContext": lambda: InContext(HashingEmbedder()),
    "score.Inclusion": lambda: Inclusion(ANSWERS),
    "score.Likelihood": lambda: Likelihood(ScriptedLLM(["unused"])),
    "score.Listwise": lambda: Listwise(Permuting(ScriptedLLM(ordered)), 3, 2),
    "score.Mean": lambda: Mean(("given",)),
    "score.Ngrams": score.Ngrams,
    "score.Overlap": Overlap,
    "score.Pair": lambda: score.Pair(OverlapCrossEncoder()),
    "score.Pruner": lambda: score.Pruner(OverlapPruner()),
    "score.Reflection": lambda: Reflection(ScriptedLLM(["unused"], choices=fewer)),
    "score.Surprisal": lambda: Surprisal(ScriptedLLM(["unused"])),
    "score.Relevance": lambda: Relevance(ScriptedLLM(["unused"], choices=fewer)),
    "select.Adaptive": Adaptive,
    "select.Answerable": lambda: select.Answerable(0.5),
    "select.Cut": lambda: select.Cut(Odds(((-1.0, 0.0), (1.0, 0.0), (0.5, 0.5)), (0.0, 0.0, 0.5))),
    "select.Distinct": lambda: Distinct(),
    "select.Extract": lambda: Extract(ScriptedLLM(first_two)),
    "select.Order": lambda: select.Order("ends"),
    "select.Threshold": lambda: select.Threshold(0.5, min_keep=1),
    "select.Copies": lambda: select.Copies(),
    "select.TopK": lambda: select.TopK(3),
    "select.Truncate": lambda: Truncate(ScriptedLLM(["unused"], choices=fewer)),
    "systems.Winnow": lambda: winnow(clusters=4),
}
MORE = {  # other options that take another way through a stage
    "split.Semantic with short chunks": lambda: Semantic(
        HashingEmbedder(), min_similarity=-1, max_chars=12
    ),
    "split.Windows with overlap": lambda: Windows(ScriptedLLM(["unused"]), max_tokens=4, overlap=2),
    "score.Calibrated by logistic": lambda: Calibrated(Logistic(3.0, -1.0), of="given"),
    "score.Listwise by first identifiers": lambda: Listwise(
        Permuting(ScriptedLLM([], choices=fewer), "first")
    ),
    "score.Listwise of a babbler": lambda: Listwise(
        Permuting(ScriptedLLM(lambda _: "I cannot say."))
    ),
    "score.Overlap with an answer": lambda: Overlap(ANSWERS),
    "score.Relevance of a babbler": lambda: Relevance(
        ScriptedLLM(lambda _: "I cannot say.", can=frozenset({"complete"}))
    ),
    "select.Adaptive by an LLM": lambda: Adaptive(ScriptedLLM(lambda _: "0.5")),
    "select.Extract in mode write": lambda: Extract(
        ScriptedLLM(lambda prompt: prompt[-1].content), mode="write", min_keep=2
    ),
    "select.Extract of a babbler": lambda: Extract(ScriptedLLM(lambda _: "I cannot say.")),
    "select.Order by score": lambda: select.Order("score"),
    "select.Order by document": lambda: select.Order("document"),
    "select.Truncate of a writer": lambda: Truncate(
        ScriptedLLM(lambda _: "1", can=frozenset({"complete"})), min_keep=2
    ),
    "systems.Winnow without rounds": lambda: winnow(clusters=3, rounds=0),
}
EXPORTED = [
    f"{package}.{name}"
    for package, modules in PACKAGES.items()
    for module in modules
    for name in module.__all__
    if inspect.isclass(getattr(module, name))
]
WAYS = [*BUILD, *MORE]


def stage_of(name):
    try:
        return {**BUILD, **MORE}[name]()
    except MissingExtra as error:
        pytest.skip(str(error))


def test_every_exported_stage_is_under_the_laws():
    """A stage in a package's __all__ has a row in the table above, and no row is left over."""
    assert sorted(EXPORTED) == sorted(BUILD)


@pytest.mark.parametrize("name", BUILD)
def test_row_builds_the_stage_of_its_name(name):
    """A row tests the stage that it is named after."""
    stage = stage_of(name)
    package, exported = name.split(".")

    assert any(getattr(one, exported, None) is type(stage) for one in PACKAGES[package])


KINDS = {"split": "splitter", "score": "scorer", "select": "selector"}
KINDS |= {"systems": "selector"}


@pytest.mark.parametrize("name", WAYS)
def test_every_stage_keeps_the_laws(name):
    """Those of its kind, over drawn evidence."""
    check_stage(stage_of(name), KINDS[name.split(".")[0]], draws=8 if "Winnow" in name else 40)


@pytest.mark.parametrize("name", BUILD)
def test_options_keep_their_rules(name):
    """Of numbers what the error says, see `check_rule`; of words the list that it shows."""
    stage = stage_of(name)
    for field in fields(stage) if is_dataclass(stage) else ():
        make = partial(remade, stage, field.name)
        if field.init:
            check_rule(f"{name}.{field.name}", getattr(stage, field.name), make)
        if field.type in ("By", "Mode", "Per", "Wording"):
            assert f"{field.name} must be one of " in refusal(make, "nonsense")


def remade(stage, option, value):
    return replace(stage, **{option: value})


def whole(rank, text):
    scores = {"relevance": 1 / len(text), "given": len(text) / 9}
    return Segment(Document(text, text, rank=rank), 0, len(text), scores)


TEXTS = (  # equally many, so that a reply cannot go by their number
    ("Seals sang Summer Breeze. It was late.", "Crofts sang.", "Bees make honey."),
    ("Which bees?", "Make honey. Bees make it, and the goats give milk.", "Who sang? Honey."),
)
ASKED = [(query, [*map(whole, range(3), texts)]) for texts in TEXTS for query in (QUERY, OTHER)]


def replies(order, threads):
    """What every stage makes of `ASKED`, asked in this order."""
    made = {}
    for name in WAYS:
        with suppress(pytest.skip.Exception), ThreadPoolExecutor(threads) as pool:
            stage = stage_of(name)
            found = pool.map(lambda place, ask=stage: ask(*ASKED[place]), order)
            told = [[(s.key, s.text, dict(s.scores)) for s in kept] for kept in found]
            made[name] = [reply for _, reply in sorted(zip(order, told, strict=True))]
    return made


@pytest.fixture(scope="module")
def told():
    """Replies in two fresh interpreters: to one query after another; from the last, in threads."""
    places = range(len(ASKED))
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        return [*processes.map(replies, (places, places[::-1]), (1, len(places)))]


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_no_query_changes_the_reply_to_another(name, told):
    """Whatever was asked before, or is asked at the same time in other threads."""
    stage_of(name)  # skips where a package is missing
    in_turn, at_once = [replies[name] for replies in told]

    assert in_turn == at_once
