"""Noise injected into retrieved documents."""

from dataclasses import replace

import pytest

from ragsieve.types import Document, Example, Query
from ragsieve_research.evaluate.noise import Noise

QUERY = Query("Who sang Summer Breeze?", id="q")
CLUE = Document("c", "Summer Breeze was sung by Seals and Crofts.", metadata={"is_positive": True})
OWN = Document("o", "Breeze is a word for a light wind in summer.", rank=1)
FALSE = [{"id": "f", "title": "T", "text": "Summer Breeze was sung by the Bees."}, "Sung by Ants."]
EXAMPLE = Example(QUERY, (CLUE, OWN), ("Seals and Crofts",), {"counterfactual_documents": FALSE})
POOL = [
    *(Document(f"p{n}", f"Paper number {n} is about wood.", rank=n) for n in range(30)),
    Document("near", "A summer song about a breeze, sung in the north.", metadata=CLUE.metadata),
    Document("leak", "Seals and Crofts sang on a summer breeze."),
]


def old(example):
    """The ids that the documents had before."""
    return [d.metadata["from"] for d in example.documents]


@pytest.mark.parametrize(("share", "noise"), [(0, 0), (0.5, 1), (0.75, 3), (0.9, 9), (0.95, 10)])
def test_the_share_is_of_all_documents(share, noise):
    """With one clue and a share s, s / (1 - s) noise documents, at most ten: 1 of 2, 3 of 4."""
    names = old(Noise("random", share)(EXAMPLE, POOL))

    assert noise == len(names) - 1
    assert "c" == names[0]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("same_topic", ["c", "o", "near"]),  # BM25 puts the song before thirty papers about wood
        ("duplicates", ["c", "o", "o"]),  # one document, over and over
    ],
)
def test_the_same_topic_is_the_questions_own_then_the_nearest(kind, expected):
    """Behind the document with the answer."""
    assert expected == old(Noise(kind, 0.75)(EXAMPLE, POOL))[:3]


def test_every_document_with_the_answer_stays():
    """Two labelled ones need two noise documents for a half; without labels the first is enough."""
    two = replace(EXAMPLE, documents=(CLUE, replace(CLUE, id="d"), OWN))
    half, all_ = (
        old(Noise("random", 0.5)(two, POOL)),
        old(Noise("random", 1, documents=7)(two, POOL)),
    )

    assert (["c", "d"], 4) == (half[:2], len(half))
    assert 7 == len({*all_} - {"c", "d"})

    bare = [replace(CLUE, id=name, metadata={}) for name in "xy"]
    names = old(Noise("random", 0)(replace(EXAMPLE, documents=(OWN, *bare)), POOL))

    assert ["x"] == names


@pytest.mark.parametrize("kind", ["random", "same_topic", "duplicates"])
def test_no_noise_holds_the_answer(kind):
    """Whatever its kind, over many seeds, and no label says so that another question gave it."""
    for seed in range(20):
        noisy = Noise(kind, 1, documents=31, seed=seed)(EXAMPLE, POOL)

        assert "leak" not in old(noisy)
        assert not any("is_positive" in d.metadata for d in noisy.documents)


def test_counterfactual_noise_is_what_the_data_has():
    """As text or as a document, over and over; none without."""
    changed = Noise("counterfactual", 0.75)(EXAMPLE, POOL)
    without = replace(EXAMPLE, metadata={})

    assert ["Summer Breeze was sung by the Bees.", "Sung by Ants."] * 2 == [
        d.text for d in (*changed.documents[1:], changed.documents[2])
    ]
    assert None is Noise("counterfactual", 0.75)(without, POOL)


@pytest.mark.parametrize(("position", "place"), [("first", 0), ("middle", 2), ("last", 4)])
def test_the_clue_stands_where_it_shall(position, place):
    """Before, between or behind four noise documents."""
    names = old(Noise("random", 0.8, position)(EXAMPLE, POOL))

    assert place == names.index("c")


def test_neither_place_nor_id_tells_what_is_noise():
    """Places are drawn by seed and question; ids and ranks are the places."""

    def places():
        noise = [Noise("random", 0.8, "random", seed=seed) for seed in range(20)]
        return [old(some(EXAMPLE, POOL)).index("c") for some in noise]

    assert places() == places()
    assert {0, 1, 2, 3, 4} == set(places())

    changed = Noise("random", 0.8, "last")(EXAMPLE, POOL)

    assert [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("4", 4)] == [
        (d.id, d.rank) for d in changed.documents
    ]


def test_a_question_without_the_answer_in_a_document_is_left_out():
    """There is nothing that noise could hide; a yes or no is seen in no document."""
    assert None is Noise("random", 0.5)(replace(EXAMPLE, documents=(OWN,)), POOL)

    said = Document("said", "There is no answer to it. Yes.")
    for answer in ("no", "Yes"):
        asked = replace(EXAMPLE, answers=(answer,))

        assert None is Noise("random", 0.5)(replace(asked, documents=(said,)), POOL)
        assert ["c", "said"] == old(Noise("random", 0.5)(asked, [said]))
