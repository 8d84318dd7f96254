"""Character n-grams in the question's own language, and what cannot be compared."""

import pytest

from ragsieve.score.ngrams import Ngrams
from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query, Segment
from tests.timing import is_linear


def split(*texts):
    documents = [Document(f"d{place}", text) for place, text in enumerate(texts)]
    return Sentences()(Query("?"), [Segment.whole(document) for document in documents])


def values(question, *texts):
    scored = Ngrams()(Query(question), split(*texts))
    return [round(segment.score, 4) for segment in scored]


def test_values_are_weights_relative_to_the_best():
    """Squared logarithms of rarity: own weight, half the better neighbour's, the document's."""
    # N-grams of 2 to 4 characters: " a", "ab", "b ", " ab", "ab ", " ab " are in the first of three
    # segments, six of "cd" in the second; each is in one, so it weighs w = log(1 + 3/1) squared.
    # own: 6w and 6w; document: 12w; both: 6w + .5 * 6w + 12w. The third has none: 3w + 12w.
    segments = [Segment(Document("d", "ab, cd, xy,"), *span) for span in ((0, 3), (4, 7), (8, 11))]
    scored = Ngrams()(Query("ab cd"), segments)

    assert [1.0, 1.0, round(15 / 21, 4)] == [round(s.score, 4) for s in scored]


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            "Wann wurde der Leuchtturm automatisiert?",
            "Seit dem Jahr 1990 ist der Leuchtturm automatisiert.",
            "Die Insel hat heute keine ständigen Bewohner mehr.",
        ),
        ("灯塔是哪一年自动化的？", "这座灯塔于1990年实现了自动化。", "岛上现在没有居民。"),
        ("灯台はいつ自動化されましたか？", "灯台は1990年に自動化された。", "島には住民がいない。"),
        ("ประภาคารสร้างเมื่อใด", "ประภาคารแห่งนี้สร้างเมื่อปี 1881", "เกาะนี้ไม่มีผู้อยู่อาศัยแล้ว"),
        ("متى بنيت المنارة؟", "بنيت المنارة عام 1881.", "لا يعيش أحد في الجزيرة."),
        ("¿Qué cantantes cantaban?", "La cantante cantó una canción.", "El perro duerme hoy."),
        (
            "Når ble fyret automatisert?",
            "Det var i 1990 at fyret ble automatisert, skriver avisen.",
            "Ingen bor på øya lenger, og båten går ikke dit om vinteren.",
        ),
    ],
)
def test_the_sentence_with_the_questions_words_is_best(question, right, wrong):
    """In scripts with spaces and without, in other forms, in Norwegian that looks Danish."""
    first, second = values(question, wrong, right)

    assert 1 == second
    assert first < 0.5


def test_a_neighbour_of_the_best_is_better_than_a_stranger():
    """The answer often stands beside the sentence that names what is asked about."""
    far, best, beside, other = values(
        "Wann wurde der Leuchtturm Ar-Men gebaut?",
        "Das Meer ist dort tief. Der Leuchtturm Ar-Men wurde lange gebaut. Es war 1881.",
        "Es war 1990, als die beiden Männer nach Hause kamen.",
    )

    assert 1 == best
    assert other < far
    assert beside > other


def test_documents_of_another_language_stay():
    """What cannot be compared scores as the best does, so that no cut loses it."""
    german, english = values(
        "Wann wurde der Leuchtturm automatisiert?",
        "Seit dem Jahr 1990 ist der Leuchtturm automatisiert.",
        "Nobody has lived on the island since the keepers left.",
    )

    assert [1, 1] == [german, english]


def test_nothing_shared_or_another_script_keeps_all():
    """Text is compared in NFKC, case folded, in the order of its document."""
    assert [1, 1] == values("灯塔是哪一年自动化的？", "He sang. They danced.")

    assert values("Straße ＡＢＣ", "strasse abc. x.") == values("STRASSE abc", "strasse abc. x.")

    segments = split("Der Turm ist alt. Er steht im Meer. Das Licht brennt. Alle schlafen.")
    query = Query("Wo steht der alte Turm?")
    forward = {s.key: s.score for s in Ngrams()(query, segments)}

    assert forward == {s.key: s.score for s in Ngrams()(query, segments[::-1])}


@pytest.mark.slow
def test_a_long_text_is_scored_soon():
    """Time grows with the length."""
    query, text = Query("Wo steht der Turm?"), "Der Turm steht im Meer. "
    assert is_linear(lambda size: Ngrams()(query, split(text * (size // 24))))


@pytest.mark.parametrize(
    ("question", "rule", "text"),
    [
        ("Wo steht der alte Turm?", "Antworte kurz, und nenne die Quelle des Satzes. ",
         "Der Turm ist alt. Er steht im Meer. Sätze nennen Quellen. Alle antworten kurz."),
        ("泊位费多少？", "回答必须简短，不得编造事实。",
         "渔港九点开放。泊位费每晚十四元。回答不得编造。"),
    ],
)  # fmt: skip
def test_of_a_long_question_what_it_asks_counts(question, rule, text):
    """With an instruction of a hundred words before or behind it, the same values."""
    expected = [s.score for s in Ngrams()(Query(question), split(text))]

    for long in (rule * 12 + question, f"{question} {rule * 12}"):
        assert expected == [s.score for s in Ngrams()(Query(long), split(text))]
