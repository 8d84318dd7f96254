"""BM25 over the segments at hand."""

from __future__ import annotations

import math

import pytest

from ragsieve.score.lexical import BM25
from ragsieve.types import Document, Query, Segment


def spans(*texts: str, title: str = "") -> list[Segment]:
    return [Segment.whole(Document(str(n), text, title)) for n, text in enumerate(texts)]


def scores(question: str, *texts: str, title: str = "", **options: float) -> list[float]:
    return [s.score for s in BM25(**options)(Query(question), spans(*texts, title=title))]  # type: ignore[arg-type]


def test_the_score_is_bm25s() -> None:
    """Lucene's form: idf · tf / (tf + k1 (1 - b + b · length / mean length)).

    Two texts of 2 and 4 words, mean length 3; "breeze" is once in the first only:
    idf = ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2, and tf = 1.
    """
    expected = math.log(2) / (1 + 1.5 * (1 - 0.75 + 0.75 * 2 / 3))

    assert [expected, 0] == pytest.approx(scores("breeze", "summer breeze", "the wind is cold"))


def test_a_word_asked_twice_counts_twice() -> None:
    """The score is a sum over the question's words."""
    once, _ = scores("breeze", "summer breeze", "cold")
    twice, _ = scores("breeze breeze", "summer breeze", "cold")

    assert 2 * once == pytest.approx(twice)


def test_case_and_punctuation_do_not_count() -> None:
    """Words are runs of letters and digits, in lower case."""
    plain = scores("summer breeze", "summer breeze 1972", "cold")

    assert plain == scores("SUMMER, Breeze?", "Summer-breeze (1972)!", "cold")


def test_no_word_in_common_is_zero() -> None:
    """Also where neither side has a word at all."""
    assert [0, 0] == scores("who", "summer breeze", "")
    assert [0, 0] == scores("???", "...", "")


def test_chinese_goes_by_character() -> None:
    """Text without spaces has words all the same."""
    near, far = scores("北京在哪里", "北京是首都。", "他喜欢唱歌。")

    assert near > far == 0


def test_titles_count_where_asked() -> None:
    """A title says what a sentence's pronouns speak of."""
    assert scores("breeze", "It sold well.", title="Summer Breeze")[0] > 0
    assert [0] == scores("breeze", "It sold well.", title="Summer Breeze", titles=False)


def test_k1_of_zero_forgets_repetition() -> None:
    """With k1 = 0 a word counts once however often it stands there."""
    assert 1 == len({*scores("breeze", "breeze breeze", "breeze wind", k1=0)})


def test_b_of_zero_forgets_length() -> None:
    """With b = 0 a long text is as good as a short one."""
    assert 1 == len({*scores("breeze", "breeze", "breeze in a long summer", b=0)})
