"""BM25 over the segments at hand."""

import math

import pytest

from ragsieve.score.lexical import BM25
from ragsieve.types import Query
from tests.segments import wholes


def scores(question, *texts, title="", **options):
    return [s.score for s in BM25(**options)(Query(question), wholes(*texts, title=title))]


def test_the_score_is_bm25s():
    """Lucene's idf · tf / (tf + k1 (1 - b + b · length / mean)), twice for a word asked twice."""
    expected = math.log(2) / (1 + 1.5 * (1 - 0.75 + 0.75 * 2 / 3))

    assert [expected, 0] == pytest.approx(scores("breeze", "summer breeze", "the wind is cold"))

    once, _ = scores("breeze", "summer breeze", "cold")
    twice, _ = scores("breeze breeze", "summer breeze", "cold")

    assert 2 * once == pytest.approx(twice)


def test_words_are_runs_of_letters_and_digits():
    """In lower case, of Chinese each character, of titles on request; none in common is 0."""
    plain = scores("summer breeze", "summer breeze 1972", "cold")

    assert plain == scores("SUMMER, Breeze?", "Summer-breeze (1972)!", "cold")
    assert scores("Zo\u00eb", "Zo\u00eb", "cold") == scores("Zo\u00eb", "Zoe\u0308", "cold")

    assert [0, 0] == scores("who", "summer breeze", "")
    assert [0, 0] == scores("???", "...", "")

    near, far = scores("北京在哪里", "北京是首都。", "他喜欢唱歌。")

    assert near > far == 0

    assert scores("breeze", "It sold well.", title="Summer Breeze")[0] > 0
    assert [0] == scores("breeze", "It sold well.", title="Summer Breeze", titles=False)


def test_k1_of_zero_forgets_repetition_and_b_of_zero_length():
    """The two ends of the formula."""
    assert 1 == len({*scores("breeze", "breeze breeze", "breeze wind", k1=0)})

    assert 1 == len({*scores("breeze", "breeze", "breeze in a long summer", b=0)})


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        ("Where is the quay", ["The quay has a lamp", "Our quay has a big one", "No"], "++0"),
        ("HERON", ["Heron island", "fir cone", "heron feather"], "=0="),
        ("blue", ["ash", "elm", "blue fir", "blue yew"], "00=="),
        ("It has nine mills and a weir", ["A weir is a dam", "It has nine mills"], "++"),
        ("停船费多少", ["码头上午八点开放", "停船费每晚九元", "厕所免费"], "0++"),
    ],
)
def test_a_text_with_a_word_of_the_question_is_above_0(question, texts, expected):
    """Also where most texts have it; equal ones score alike."""
    found = scores(question, *texts)

    assert [one != "0" for one in expected] == [score > 0 for score in found]
    assert len({f for f, one in zip(found, expected, strict=True) if one == "="}) <= 1
