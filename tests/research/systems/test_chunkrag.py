"""ChunkRAG as one system."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from ragsieve import Document, Pipeline, Query, Segment
from ragsieve.models.fake import (
    HashingEmbedder,
    OverlapCrossEncoder,
    OverlapPruner,
    ScriptedLLM,
    echo,
)
from ragsieve.testing import check_system
from ragsieve_research.peers.ablations import chunkrag_ablated
from ragsieve_research.systems.chunkrag import chunkrag
from tests.named import Finds, answer

pytest.importorskip("sklearn")

QUESTION = "Who sang Summer Breeze?"
SUNG = "Summer Breeze was sung by Seals and Crofts."
DOCUMENTS = [
    {"id": "song", "title": "Songs", "text": f"It rained. {SUNG}\nThey wrote it in 1972."},
    {"id": "wind", "title": "Winds", "text": "A breeze is a wind. Summer is warm.  A wind blows."},
    {"id": "empty", "text": ""},
]
PAGE = Document("page", "Crofts sang. Seals sang Summer Breeze. It rained.", "Songs")
SPANS = (Segment(PAGE, 13, 38, {"fused": 0.5}), Segment(PAGE, 39, 49, {"fused": 0.25}))


@dataclass(frozen=True)
class Asked(HashingEmbedder):
    """Remembers the texts."""

    texts: Counter[str] = field(default_factory=Counter)

    def embed(self, texts, *, query=False):
        self.texts.update(texts)
        return super().embed(texts)


def rated(prompt, options):
    """High for a passage with more letters of the question's words: a function of the prompt."""
    said = prompt[1].content.split("Passage: ")[1].lower()
    best = sum(word in said for word in ("sang", "sung", "summer", "breeze", "seals"))
    return [0.5 ** abs(best + 3 - place) for place in range(len(options))]


def system(**options):
    """By what leaves parts out or replaces them, where an option says so."""
    ablates = {"chunks", "retrieval", "without"} & {*options}
    return (chunkrag_ablated if ablates else chunkrag)(echo(), HashingEmbedder(), **options)


def stages(made):
    """All stages in order, those for documents in hand among them."""

    def flat(pipeline):
        return [s for p in pipeline.stages for s in (flat(p) if isinstance(p, Pipeline) else [p])]

    return [repr(stage) for stage in flat(made.stage)]


RATINGS = ["Relevance", "Reflection", "Critique", "Mean"]
CHANGES = [
    # options, stages that go, stages that come, what the new ones show
    ({"chunks": "fixed"}, ["Semantic"], ["Windows"], "max_tokens=100"),
    ({"without": "rewriting"}, ["Rewritten"], ["Hybrid"], "Hybrid(scorers=(Cosine("),
    ({"retrieval": "dense"}, ["Rewritten"], ["Rewritten"], "inner=Cosine("),
    ({"retrieval": "bm25"}, ["Rewritten"], ["Rewritten"], "inner=BM25("),
    ({"k": 7}, ["TopK"], ["TopK"], "k=7"),
    (
        {"rating": "likelihood"},
        ["Rewritten", *RATINGS],
        ["Hybrid", "Likelihood", "Mean"],
        "names=('likelihood',)",
    ),
    ({"without": "reflection"}, ["Reflection", "Mean"], ["Mean"], "('relevance', 'critique')"),
    ({"without": "critique"}, ["Critique", "Mean"], ["Mean"], "('relevance', 'reflection')"),
    ({"critic": ScriptedLLM([], context=9)}, ["Critique"], ["Critique"], "context=9"),
    ({"threshold": "statistics"}, ["Adaptive"], ["Adaptive"], "llm=None"),
    ({"threshold": 0.5}, ["Adaptive"], ["Threshold"], "min_score=0.5, min_keep=1"),
    ({"reranker": OverlapCrossEncoder()}, [], ["Pair"], "OverlapCrossEncoder"),
    ({"source": Finds(SPANS)}, [], [], ""),
]


@pytest.mark.parametrize(("options", "gone", "new", "shown"), CHANGES)
def test_an_option_changes_the_stages_it_names_alone(options, gone, new, shown):
    """All others stay as they are, in their order."""
    usual, other = stages(system()), stages(system(**options))
    removed = list((Counter(usual) - Counter(other)).elements())
    added = list((Counter(other) - Counter(usual)).elements())

    assert gone == [stage.split("(")[0] for stage in removed]
    assert new == [stage.split("(")[0] for stage in added]
    assert shown in " ".join(added)
    assert [s for s in usual if s not in removed] == [s for s in other if s not in added]


def test_the_pruners_passage_score_orders_where_no_reranker_is_named():
    """A reranker that is named goes before it; without either the mean orders."""
    pruner, other = OverlapPruner(), OverlapCrossEncoder()

    def orders(*models, **options):
        made = chunkrag(echo(), HashingEmbedder(), *models, **options)
        return " ".join(stage for stage in stages(made) if stage.startswith("Pair("))

    assert "OverlapPruner" in orders(pruner)
    assert "OverlapCrossEncoder" in orders(pruner, reranker=other)
    assert "" == orders()


ABLATIONS = [
    {},
    *(options for options, *_ in CHANGES if "source" not in options and "critic" not in options),
    {"chunks": "fixed", "without": "rewriting", "retrieval": "bm25"},
    {"threshold": 1.0, "reranker": OverlapCrossEncoder(), "rating": "likelihood"},
    {"k": 1},
    {"k": 0},
]


@pytest.mark.parametrize("options", ABLATIONS)
def test_every_ablation_keeps_the_laws_and_answers(options):
    """Those of every system; at least one span is kept but for k=0."""
    made = system(**options)
    result = made.ask(QUESTION, DOCUMENTS)

    assert (options.get("k") != 0) == bool(result.kept)
    assert result.kept == result.answer.segments
    assert not [w for w in result.trace.warnings if "could not be read" not in w]  # rewrites
    check_system(made, draws=2)


def test_a_chunk_of_one_sentence_is_not_embedded_again():
    """Nor is any text by another stage, nor in the next question."""
    embedder = Asked()
    made = chunkrag(echo(), embedder)
    made(QUESTION, DOCUMENTS)
    made("Who else sang it?", DOCUMENTS)

    assert {1} == set(embedder.texts.values())
    assert QUESTION in embedder.texts


def test_a_source_is_asked_by_the_rewrite_and_read_by_the_question():
    """Its spans are rated as they are: nothing is split or ranked again."""
    asked = []

    def source(query, /):
        asked.append(query)
        return [span.scored("found", 1.0) for span in SPANS]

    llm = ScriptedLLM(["singers of Summer Breeze", "Seals"], choices=rated)
    made = chunkrag(llm, HashingEmbedder(), source=source, threshold=0.0)
    result = made.ask(Query(QUESTION, "q1"))

    assert [Query("singers of Summer Breeze", "q1")] == asked
    assert {s.key for s in SPANS} == {s.key for s in result.kept}
    ran = [step.stage.split("(")[0] for step in result.trace.steps]

    assert ["Rewritten", "Distinct", "Cosine"] == ran[:3]
    assert "Seals" == answer(result)
    assert QUESTION in llm.prompts[-1][-1].content
    assert "rewritten to search: 'singers of Summer Breeze'" in result.trace.steps[0].notes


def test_documents_in_hand_go_before_the_source():
    """They are cut and ranked; a source may be asked as it is, without a rewrite."""
    made = system(source=Finds(SPANS), threshold=0.0)
    result = made(QUESTION, DOCUMENTS)

    assert ["System", "Semantic"] == [s.stage.split("(")[0] for s in result.trace.steps[:2]]
    assert system(threshold=0.0)(QUESTION, DOCUMENTS).kept == result.kept

    source = Finds(SPANS)

    assert source is system(source=source, rating="likelihood").source
