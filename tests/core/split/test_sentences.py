"""Sentences as a stage; what a sentence is stands in tests/core/text/test_text.py."""

from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query, Segment

QUERY = Query("Who sang it?")


def test_places_are_those_of_the_document() -> None:
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


def test_the_language_of_the_document_decides() -> None:
    """German "z.B." ends no sentence, also in a short part."""
    whole = [Segment.whole(Document("d", "Er mag z.B. Obst. Sie nicht."))]

    assert ["Er mag z.B. Obst.", "Sie nicht."] == [
        s.text for s in Sentences(language="de")(QUERY, whole)
    ]

    german = Document("d", "Er mag z.B. Obst und trinkt gerne Tee. Sie mag das alles nicht.")
    english = Document("e", "He met Dr. Seals in the city. She did not.")

    assert [
        "Er mag z.B. Obst und trinkt gerne Tee.",
        "Sie mag das alles nicht.",
        "He met Dr. Seals in the city.",
        "She did not.",
    ] == [s.text for s in Sentences()(QUERY, [Segment.whole(german), Segment.whole(english)])]

    german = Document("d", "Er mag z.B. Obst und trinkt gerne Tee. Sie mag das alles nicht.")

    assert ["Er mag z.B. Obst"] == [s.text for s in Sentences()(QUERY, [Segment(german, 0, 16)])]


def test_japanese_and_thai_documents_have_sentences() -> None:
    """Scripts without spaces have sentence ends of their own."""
    japanese = Document("ja", "セールズは歌った。彼女は踊った。")
    thai = Document("th", " ".join(["กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"] * 6))

    assert ["セールズは歌った。", "彼女は踊った。"] == [
        s.text for s in Sentences()(QUERY, [Segment.whole(japanese)])
    ]
    assert [116, 116] == [len(s.text) for s in Sentences()(QUERY, [Segment.whole(thai)])]
