"""How well scorers tell the segments that help from the others."""

import math
from typing import get_args

import numpy as np
import pytest

from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Example, Query, Segment
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.evaluate.scorers import (
    CHANCE,
    Labelled,
    Labels,
    figures,
    hit,
    labelled,
    labels_of,
    ndcg,
    rho,
    scored,
    unit_of,
)
from ragsieve_research.score.named import create_scorers

QUERY = Query("Who sang it?")


def document(text, **metadata):
    return Document("d", text, metadata=metadata)


def example(*documents, answers=()):
    return Example(QUERY, documents, answers)


def test_pairs_in_order_are_counted():
    """Of (3, 2), (3, 1), (1, 2), (1, 1) 2.5 of 4; equal scores say nothing."""
    found = auc(np.array([1.0, 0.0, 2.0, 0.0]), np.array([3.0, 2.0, 1.0, 1.0]))

    assert 2.5 / 4 == found

    assert 0 == rho(np.array([0.0, 1.0]), np.array([2.0, 2.0]))


def test_places_are_counted_from_the_best():
    """What helps in the eleventh is worth nothing; a hit of two equal ones is the share."""
    grades, scores = np.eye(1, 11, 10)[0], -np.arange(11.0)

    assert 0 == ndcg(grades, scores)
    assert pytest.approx(1 / math.log2(11)) == ndcg(grades[1:], scores[1:])

    grades = np.array([0.0, 2.0, 1.0])

    assert 1 == hit(grades, np.array([0.1, 0.3, 0.2]))
    assert 0 == hit(grades, np.array([0.4, 0.3, 0.2]))
    assert 0.5 == hit(grades, np.array([0.4, 0.3, 0.4]))


@pytest.mark.parametrize("measure", [auc, hit, ndcg, rho])
def test_a_question_of_one_kind_measures_nothing(measure):
    """Neither where nothing helps nor where all do."""
    scores = np.array([1.0, 2.0])

    assert measure(np.zeros(2), scores) is None
    assert measure(np.ones(2), scores) is None


def test_the_finest_labels_count():
    """Grades before sentences, documents, answers; what has the labels is what is scored."""
    graded = document("Bees.", relevance=0, supporting_sentences=["Bees."], is_positive=True)
    gold = document("Bees.", supporting_sentences=["Bees."], is_positive=True)
    positive = document("Bees.", is_positive=False)

    assert "grades" == labels_of([example(positive), example(graded), example(gold)])
    assert "gold sentences" == labels_of([example(positive, answers=("bees",)), example(gold)])
    assert "positive documents" == labels_of([example(positive, answers=("bees",))])
    assert "answers" == labels_of([example(document("Bees."), answers=("bees",))])

    units = {labels: unit_of(labels) for labels in get_args(Labels)}

    assert {"grades", "positive documents"} == {n for n, u in units.items() if u == "documents"}
    assert {"gold sentences", "answers"} == {n for n, u in units.items() if u == "sentences"}


@pytest.mark.parametrize(
    ("gold", "grades"),
    [
        (["honey; a lot; in hives. Goats give milk"], (1, 1, 0)),  # ours cut it in two
        (["hives. Goats give"], (0, 1, 0)),  # 6 and 10 of its 17 characters
        (["a lot; in hives. Goats", "in hives. Goats"], (1, 0, 0)),  # 5 of our 16, twice
    ],
)
def test_sentences_are_graded_by_gold_ones(gold, grades):
    """Half of a gold sentence, or half of ours."""
    text = "Bees make honey; a lot; in hives. Goats give milk. It was late."
    found = labelled(example(document(text, supporting_sentences=gold)), "gold sentences")

    assert grades == found.grades


def test_the_other_labels_are_a_documents_or_an_answers():
    """Equal ids are told apart, and what nobody judged does not help."""
    text = "Goats give milk. Bees make honey."
    given = example(document(text, relevance=2), document("Bees."), answers=("honey",))
    positive = example(document(text, is_positive=True), document("Bees.", is_positive=False))

    assert (2, 0) == labelled(given, "grades").grades
    assert (0, 1, 0) == labelled(given, "answers").grades
    assert (1, 0) == labelled(positive, "positive documents").grades


def rated(question):
    """Three documents, of which the second helps."""
    texts = ("Goats give milk.", "Bees make honey.", "It was late.")
    segments = tuple(Segment.whole(Document(text, text)) for text in texts)
    return Labelled(Query(question), segments, (0.0, 1.0, 0.0))


def honey(prompt, options):
    """A rating of 9 for what holds honey, else of 0."""
    place = 9 if "make honey" in prompt[1].content else 0
    return [float(n == place) for n in range(len(options))]


def test_a_scorers_cost_is_that_of_all_that_it_needs():
    """The mean reads nothing by itself, and costs what its three ratings do."""
    llm = ScriptedLLM(["unused"], choices=honey)
    found = scored(rated("Who makes honey?"), create_scorers(["mean"], lambda _: llm))
    tokens, seconds = found.tokens, found.seconds

    assert [0, 1, 0] == found.scores["mean"].tolist()
    assert tokens["mean"] == tokens["reflection"] + tokens["critique"]
    assert tokens["reflection"] > tokens["relevance"] > 0
    assert seconds["mean"] > seconds["reflection"] > seconds["relevance"]


def test_figures_are_means_over_questions():
    """One in order, one against it; chance is half of the pairs; of one kind JSON null."""
    llm = ScriptedLLM(["unused"], choices=honey)
    chain = create_scorers(["relevance"], lambda _: llm)
    right = scored(rated("Who makes honey?"), chain)
    wrong = scored(Labelled(QUERY, rated("Who?").segments, (1.0, 0.0, 1.0)), chain)
    found, chance = figures([right, wrong], "relevance"), figures([right], CHANCE)

    assert (0.5, 2) == (found.means["AUC"].value, found.means["AUC"].n)
    assert 0.5 == found.means["hit@1"].value
    assert found.means["rho"].value == 0
    assert (0.5, 0) == (chance.means["AUC"].value, chance.tokens)
    assert pytest.approx(1 / 3) == chance.means["hit@1"].value
    assert pytest.approx(sum(1 / math.log2(n) for n in (2, 3, 4)) / 3) == (
        chance.means["NDCG@10"].value
    )

    chain = create_scorers(["bm25"], lambda _: None)
    same = scored(Labelled(QUERY, rated("Who?").segments, (1.0, 1.0, 1.0)), chain)
    found = figures([same], "bm25").to_dict()

    assert [None] * 4 == [found[name] for name in ("AUC", "rho", "NDCG@10", "hit@1")]
    assert found["seconds_per_segment"] > 0


@pytest.mark.data
def test_real_questions_have_the_labels_that_they_are_known_for(records):
    """And segments of both kinds."""
    known = {"noveleval": "grades", "clapnq": "gold sentences", "hotpotqa": "gold sentences"}
    known |= {"rgb_en_fact": "positive documents", "popqa": "answers"}
    for name, labels in known.items():
        some = records[name][:20]
        grades = [labelled(one, labels_of(some)).grades for one in some]

        assert labels == labels_of(some)
        assert any(min(found) == 0 < max(found) for found in grades if found)
