"""Provence as a system."""

from ragsieve import models
from ragsieve.models.cache import Cached
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve.systems import build
from ragsieve_research.systems.provence import provence

LLM = ScriptedLLM(lambda _: "x")
TEXTS = ["It rained. She left.", "He sang. It rained.", "Who sang? He sang summer breeze."]
QUESTION = "who sang summer breeze"


def test_documents_are_ranked_and_their_sentences_pruned():
    """By share of the question's words: 1, 1/4, none; by k, or the best sentence."""
    result = provence(LLM, OverlapPruner(), min_score=0.25)(QUESTION, TEXTS)

    assert ["Who sang?", "He sang summer breeze.", "He sang."] == [s.text for s in result.kept]
    assert 0.75 == result.answerable

    result = provence(LLM, OverlapPruner(), k=1, min_score=0.25)(QUESTION, TEXTS)

    assert {"Who sang?", "He sang summer breeze."} == {s.text for s in result.kept}

    result = provence(LLM, OverlapPruner(), min_score=1, min_keep=1)(QUESTION, TEXTS)

    assert ["He sang summer breeze."] == [s.text for s in result.kept]


def test_weights_may_say_where_to_cut():
    """Also behind a cache; an option comes first, and 0.1 where they say nothing."""

    class Published(OverlapPruner):
        min_score = 0.6

    def kept(pruner, **options):
        return len(provence(LLM, pruner, k=1, **options)(QUESTION, TEXTS).kept)

    assert 1 == kept(Cached(Published()))
    assert 2 == kept(Published(), min_score=0.5)
    assert 2 == kept(OverlapPruner())


def test_the_bundled_pruner_runs_it_by_one_pass():
    """What was read to rank is not read again to prune."""
    result = build("provence", LLM, pruner=models.load("pruner"))(QUESTION, TEXTS)
    cached = [[usage.cached for usage in step.usages] for step in result.trace.steps]

    assert [[False] * 3, [True]] == [some for some in cached if some]
    assert "He sang summer breeze." in {s.text for s in result.kept}
