"""`ragsieve.rank`: documents in order, in one line."""

import pytest

import ragsieve
from ragsieve import Document, InputError
from ragsieve.rerank import Ranked

QUESTION = "What is the fine for late books?"
FINE = "The library opens at ten. The fine for late books is 20 cents a day."
PARKING = "Parking is free for two hours."


def test_documents_are_ranked_in_one_line():
    """By the net that comes along; each comes back as it was given, equal ones in their order."""
    fine, bees = {"text": FINE, "id": "fine"}, Document("bees", "Bees hum.")
    given = [PARKING, fine, PARKING, bees]
    ranked = ragsieve.rank(QUESTION, given)
    places = [one.index for one in ranked]

    assert 1 == places[0] and [0, 2] == [place for place in places if place in (0, 2)]
    assert all(given[one.index] is one.document for one in ranked)
    assert ranked[0].score > 0.5 > ranked[1].score
    assert sorted((one.score for one in ranked), reverse=True) == [one.score for one in ranked]
    assert ranked == ragsieve.rank(QUESTION, iter(given))  # or a column, whose keys are no places


def test_another_system_ranks():
    """One of the caller's."""
    system = ragsieve.load("top-sentences", "fake:echo", "fake:hashing", options={"k": 1})

    assert [1, 0] == [one.index for one in ragsieve.rank(QUESTION, [PARKING, FINE], system=system)]
    assert Ranked(0, 1.0, "a") == ragsieve.rank("a", ["a"], system=system)[0]


def test_what_cannot_be_ranked_is_said():
    """No documents are no error."""
    assert [] == ragsieve.rank(QUESTION, [])
    for question, documents in ((" ", [FINE]), (QUESTION, FINE)):
        with pytest.raises(InputError, match=r"must not be blank|documents must be a list"):
            ragsieve.rank(question, documents)
