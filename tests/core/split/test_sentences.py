"""Sentences as a stage; what a sentence is stands in tests/core/text/test_text.py."""

import pytest

from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")


def test_places_are_those_of_the_document():
    """Documents in order, scores not those of the whole, split twice the same."""
    document = Document("d", "One. Two. Three.")
    part = Segment(document, 5, 16)

    assert [("d", 5, 9), ("d", 10, 16)] == [s.key for s in Sentences()(QUERY, [part])]

    given = [Segment.whole(Document("b", "One. Two.")), Segment.whole(Document("a", "Three."))]

    assert ["One.", "Two.", "Three."] == [s.text for s in Sentences()(QUERY, given)]

    once = Sentences()(QUERY, [Segment.whole(Document("d", "He sang. She danced.\n- item"))])

    assert once == Sentences()(QUERY, once)

    whole = Segment.whole(Document("d", "One. Two.")).scored("bm25", 3)

    assert [{}, {}] == [dict(s.scores) for s in Sentences()(QUERY, [whole])]


GERMAN = "Er mag z.B. Obst und trinkt gerne Tee. Sie mag das alles nicht."
THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            [GERMAN, "He met Dr. Seals in the city. She did not."],
            [GERMAN[:38], GERMAN[39:], "He met Dr. Seals in the city.", "She did not."],
        ),
        (["セールズは歌った。彼女は踊った。"], ["セールズは歌った。", "彼女は踊った。"]),
        ([" ".join([THAI] * 6)], [" ".join([THAI] * 3)] * 2),
    ],
)
def test_the_language_of_each_document_decides(texts, expected):
    """German "z.B." ends no sentence; scripts without spaces have ends of their own."""
    given = [Segment.whole(Document(f"{n}", text)) for n, text in enumerate(texts)]

    assert expected == [s.text for s in Sentences()(QUERY, given)]


def test_a_short_part_is_of_its_documents_language():
    """Or of the one that is named."""
    short = Segment.whole(Document("d", "Er mag z.B. Obst. Sie nicht."))

    assert ["Er mag z.B. Obst"] == [
        s.text for s in Sentences()(QUERY, [Segment(Document("d", GERMAN), 0, 16)])
    ]
    assert ["Er mag z.B. Obst.", "Sie nicht."] == [
        s.text for s in Sentences(language="de")(QUERY, [short])
    ]
