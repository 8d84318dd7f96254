"""Routers: labels, figures, a light one and a tuned LLM."""

from dataclasses import replace

import numpy as np
import pytest

from ragsieve import Document, Example, InputError, ModelError, Pipeline, Query, Segment, models
from ragsieve.answer import Reader
from ragsieve.models.base import Message
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM, echo
from ragsieve.select.top import TopK
from ragsieve_research.retrieve.route import LLMRouter, Named, nothing
from ragsieve_research.train.plans import RouterPlan
from ragsieve_research.train.router import RouterLabels, SourceLabeller, figures, fit_light
from ragsieve_research.train.router_llm import samples, train_llm_router
from ragsieve_research.train.run import Run
from ragsieve_research.train.sft import Tuning

EXAMPLE = Example(Query("Who sang Summer Breeze?", "7"), (), ("Seals",))


def giving(name, *texts):
    found = [Segment.whole(Document(str(n), text)) for n, text in enumerate(texts)]
    return Named(name, "", lambda _: found)


def test_each_source_is_answered_from_alone():
    """By an echo of filtered evidence: right by the one with the answer; memory has none."""
    sources = (
        giving("web", "Summer Breeze was sung by Seals."),
        giving("api", "Summer Breeze is from 1972."),
        Named("memory", "", nothing),
    )
    labels = SourceLabeller(sources, Reader(echo()))(EXAMPLE)

    assert {
        "question": "Who sang Summer Breeze?",
        "right": {"web": True, "api": False, "memory": False},
    } == labels

    source = giving("web", "It is old.", "Summer Breeze was sung by Seals.")
    whole = SourceLabeller((source,), Reader(echo()))(EXAMPLE)
    cut = SourceLabeller((source,), Reader(echo()), Pipeline(TopK(1)))(EXAMPLE)

    assert (True, False) == (whole["right"]["web"], cut["right"]["web"])


def test_known_sources_are_labels_and_failures_are_none():
    """Nobody is asked; what a source did not say does not count as wrong."""
    llm = ScriptedLLM([])
    sources = (giving("a", "text"), giving("b", "text"))
    known = replace(EXAMPLE, metadata={"sources": ["b"]})
    labels = SourceLabeller(sources, Reader(llm))(known)

    assert {"a": False, "b": True} == labels["right"]
    assert [] == llm.prompts

    def broken(_):
        raise OSError("refused")

    with pytest.raises(ModelError, match="source web failed: OSError: refused"):
        SourceLabeller((Named("web", "", broken),), Reader(echo()))(EXAMPLE)


def taught(right, vectors):
    queries = tuple(Query(f"q{n}") for n in range(len(right)))
    return RouterLabels(queries, np.array(right, bool), np.array(vectors, np.float32))


def test_what_none_answers_learns_from_the_nearest():
    """12 of 20 on b, not from itself; a tie goes to the best of all; so does validation."""
    near, far = [[1.0, 0.0]], [[0.0, 1.0]]
    right = [[0, 0], *[[0, 1]] * 12, *[[1, 0]] * 8, *[[1, 0]] * 30]
    found = taught(right, near * 21 + far * 30).helps()

    assert [False, True] == found[0].tolist()
    assert right[1:] == found[1:].astype(int).tolist()

    right = [[0, 0], *[[0, 0]] * 19, [0, 1]]
    found = taught(right, [[1.0, 0.0]] * 21).helps()

    assert [False, True] == found[0].tolist()

    right = [*[[0, 0]] * 21, [1, 0], [0, 1], [0, 1]]
    vectors = [[1.0, 0.0]] * 21 + [[0.0, 1.0]] * 3

    assert [False, True] == taught(right, vectors).helps()[0].tolist()
    assert [True, False] == taught([[0, 0]], [[1.0, 0.0]]).helps()[0].tolist()

    known = taught([[1, 0]] * 20 + [[0, 1]] * 20, [[1.0, 0.0]] * 20 + [[0.0, 1.0]] * 20)
    held = taught([[0, 0], [1, 0]], [[0.1, 0.9], [0.1, 0.9]])

    assert [[False, True], [True, False]] == held.helps(known).tolist()


def test_labels_are_read_as_they_were_written():
    """By the names of the sources, in their order."""
    records = [{"id": "7", "question": "Who sang?", "right": {"b": True, "a": False}}]
    found = RouterLabels.of(records, ("a", "b"), HashingEmbedder(8))

    assert (Query("Who sang?", "7"),) == found.queries
    assert [[False, True]] == found.right.tolist()
    assert (1, 8) == found.vectors.shape
    with pytest.raises(InputError, match="one at least, got 0, 0 and 0"):
        RouterLabels.of([], ("a", "b"), HashingEmbedder(8))


def worded(count):
    """Questions that name the source that helps them; a third source helps all, a fourth none."""
    embedder = HashingEmbedder(64)
    texts = [f"{'price' if n % 3 else 'song'} of number {n}" for n in range(count)]
    right = np.array([["price" in t, "song" in t, True, False] for t in texts])
    queries = tuple(map(Query, texts))
    return RouterLabels(queries, right, embedder.embed(texts, query=True)), embedder


@pytest.mark.parametrize("count", [60, 9])
def test_a_light_router_learns_words(count):
    """Also from few questions; one that always helps is always asked, one that never does never."""
    known, embedder = worded(count)
    names = ("shop", "music", "wiki", "junk")
    router = fit_light(known, names, embedder)
    sources = [Named(name, "", nothing) for name in names]

    assert ["shop", "wiki"] == router(Query("price of the moon"), sources)
    assert ["music", "wiki"] == router(Query("song of the moon"), sources)
    # (9 + 0.5) / (9 + 1) and 0.5 / (9 + 1), whatever is asked
    if count == 9:
        found = router.probabilities(Query("anything"))
        assert (0.95, 0.05) == (round(found["wiki"], 6), round(found["junk"], 6))


def test_the_same_questions_give_the_same_router():
    """Folds are drawn by the seed."""
    known, embedder = worded(40)
    names = ("shop", "music", "wiki", "junk")

    assert fit_light(known, names, embedder) == fit_light(known, names, embedder)
    with pytest.raises(InputError, match="names must be 4, one a source, got 1"):
        fit_light(known, ("shop",), embedder)


def test_figures_by_hand():
    """Three questions: exact; one too many; the wrong one, of which the generator was right."""
    helps = np.array([[1, 0], [1, 0], [1, 0]], bool)
    right = np.array([[1, 0], [0, 0], [1, 1]], bool)
    chosen = np.array([[1, 0], [1, 1], [0, 1]], bool)
    found = figures(("a", "b"), chosen, helps, right)

    assert 3 == found["questions"]
    assert {"exact": 1 / 3, "covered": 2 / 3, "right": 2 / 3, "asked": 4 / 3} == found["routed"]
    assert {"exact": 0.0, "covered": 1.0, "right": 2 / 3, "asked": 2.0} == found["all sources"]
    assert ({"accuracy": 2 / 3}, {"accuracy": 1 / 3}) == (found["source a"], found["source b"])


WORDS = ["yes", "no", "price", "song", "shop", "music", "Question"]
SOURCES = (Named("shop", "shop", nothing), Named("music", "music", nothing))


def test_a_sample_is_what_the_router_asks():
    """A prompt a source, yes for those that help."""
    first, second = samples(Query("price"), [True, False], SOURCES)

    assert ("yes", "no") == (first.target, second.target)
    assert Message("user", first.prompt[-1].content) == first.prompt[-1]
    assert "Source: shop: shop" in first.prompt[-1].content
    assert 'Question: "price"' in second.prompt[-1].content


@pytest.mark.slow
def test_a_tuned_model_chooses(tmp_path, make_llm):
    """Where the shop helped and music did not, it says so, and needs no warning."""
    tiny = f"transformers:{make_llm(WORDS, 1)}"
    queries, helps = [Query("price")] * 2, np.array([[True, False]] * 2)
    fast = Tuning(epochs=8, lr=0.03, checks=1)
    run = Run([], tmp_path)
    adapter = train_llm_router(run, queries, helps, SOURCES, RouterPlan(form=f"llm:{tiny}"), fast)
    router = LLMRouter(models.load(tiny, adapter=str(adapter)), trained=True)

    assert ["shop"] == router(Query("price"), SOURCES)
    assert [adapter] == [*tmp_path.glob("adapter-*")]
