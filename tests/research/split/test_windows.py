"""Windows of so many tokens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.answer import Reader
from ragsieve.models.fake import ScriptedLLM
from ragsieve.types import Document, Query, Segment
from ragsieve_research.split.windows import Windows

QUERY = Query("Who sang it?")


@dataclass(frozen=True)
class Counting:
    """A counter by a rule, which keeps what it was asked."""

    rule: Callable[[str], int] = field(repr=False)
    asked: list[list[str]] = field(default_factory=list, repr=False)
    counts_by_request: bool = False

    def count(self, texts):
        self.asked.append(list(texts))
        return [self.rule(text) for text in texts]


def by_word(text):
    return len(text.split())


def by_byte(text):
    """As a tokenizer of bytes: white space costs too, and some characters cost three or four."""
    return len(text.encode("utf-8", "surrogatepass"))


def whole(text):
    return [Segment.whole(Document("d", text))]


def texts_of(segments):
    return [s.text for s in segments]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 3}, ["a b  c", "d\te f", "g"]),
        ({"max_tokens": 7}, ["a b  c d\te f\ng"]),
        ({"max_tokens": 3, "overlap": 1}, ["a b  c", "c d\te", "e f\ng"]),
        ({"max_tokens": 3, "overlap": 2}, ["a b  c", "b  c d", "c d\te", "d\te f", "e f\ng"]),
        ({"max_tokens": 1}, ["a", "b", "c", "d", "e", "f", "g"]),
    ],
)
def test_windows_are_full_and_begin_with_the_overlap(options, expected):
    """Each has as many words as fit; the last one ends the text and none comes after it."""
    windows = Windows(Counting(by_word), **options)(QUERY, whole(" a b  c d\te f\ng "))

    assert expected == texts_of(windows)


def test_the_overlap_is_whole_words_that_fit():
    """With the space before: five bytes are not within four; nor beside the long word after it."""
    stage = Windows(Counting(by_byte), max_tokens=9, overlap=4)

    assert ["aa bbbb", "cc ddddd"] == texts_of(stage(QUERY, whole("aa bbbb cc ddddd")))
    assert ["aaaaa bbb", "bbb cccc"] == texts_of(stage(QUERY, whole("aaaaa bbb cccc")))

    stage = Windows(Counting(by_byte), max_tokens=9, overlap=5)

    assert ["aa bb cc", "dddddddd"] == texts_of(stage(QUERY, whole("aa bb cc dddddddd")))


def test_places_are_those_of_the_document():
    """Splitting parts of a document gives spans of the document, and none goes past its part."""
    document = Document("d", "one two three four")
    parts = [Segment(document, 4, 18), Segment(document, 0, 7)]
    windows = Windows(Counting(by_word), max_tokens=2)(QUERY, parts)

    assert [("d", 4, 13), ("d", 14, 18), ("d", 0, 7)] == [s.key for s in windows]


def test_what_is_longer_than_a_window_is_cut():
    """A word into quarters, a character never; without spaces before no punctuation."""
    given_segments = whole("to " + "0123456789" * 2 + " go")
    eight, five = (Windows(Counting(by_byte), max_tokens=n)(QUERY, given_segments) for n in (8, 5))

    assert ["to 0123", "45678901", "23456789", "go"] == texts_of(eight)
    assert ["to 01", "23456", "78901", "23456", "789", "go"] == texts_of(five)

    windows = Windows(Counting(by_byte), max_tokens=2)(QUERY, whole("ab 好cd"))

    assert ["ab", "好", "cd"] == texts_of(windows)

    text = "他唱歌跳舞下雨了。" * 3
    windows = Windows(Counting(by_byte), max_tokens=30)(QUERY, whole(text))

    assert ["他唱歌跳舞下雨了。"] * 3 == texts_of(windows)

    windows = Windows(Counting(by_byte), max_tokens=5)(QUERY, whole("ab" + " " * 20 + "cdef g"))

    assert ["ab", "cdef", "g"] == texts_of(windows)


@pytest.mark.parametrize("text", ["", " \n\t\u3000"])
def test_what_is_only_white_space_is_no_window(text):
    """Nor is anything counted for it."""
    counter = Counting(by_word)

    assert [] == Windows(counter)(QUERY, whole(text))
    assert [] == counter.asked


def test_counting_takes_few_calls():
    """Short segments are one call, each text once; wholes, words, windows whatever their number."""
    counter = Counting(by_word)
    given_segments = [*whole(" a b "), *whole("c d"), *whole(" a b ")]
    windows = Windows(counter, max_tokens=2)(QUERY, given_segments)

    assert ["a b", "c d", "a b"] == texts_of(windows)
    assert [["a b", "c d"]] == counter.asked

    counter = Counting(by_word)
    given_segments = [s for n in range(50) for s in whole(f"a b c d e f {n}")]
    windows = Windows(counter, max_tokens=2)(QUERY, given_segments)

    assert 50 * 4 == len(windows)
    assert 3 == len(counter.asked)


def test_a_server_counts_texts_and_windows_not_words():
    """A thousand words: the text, then ten windows at 100 tokens, counted once more where tight."""
    counter = Counting(by_word, counts_by_request=True)
    text = " ".join(f"w{n:03}" for n in range(1000))
    windows = Windows(counter, max_tokens=100)(QUERY, whole(text))

    assert max(by_word(s.text) for s in windows) <= 100
    assert text.split() == [word for s in windows for word in s.text.split()]
    assert sum(map(len, counter.asked)) < 30


def test_windows_hold_with_any_tokenizer():
    """Ten words that cost eleven together are nine; any two that cost 1,000 are one each."""
    counter = Counting(lambda text: by_word(text) + (len(text.split()) > 1 and text[0] != " "))
    windows = Windows(counter, max_tokens=10)(QUERY, whole("a " * 27))

    assert [" ".join("a" * 9)] * 3 == texts_of(windows)

    counter = Counting(lambda text: 1000 if len(text.split()) > 1 else 1)
    windows = Windows(counter, max_tokens=200)(QUERY, whole("a " * 500))

    assert ["a"] * 500 == texts_of(windows)
    assert len(counter.asked) <= 12  # 3, then one a round: limits fall by 1, 2, 4 … below 1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["He sang. ", "你好。", "\ud800", "\n\n ", "x" * 30, "😀", "กำแพง"])
        | st.text(max_size=5)
    ).map("".join),
    st.integers(4, 40),
    st.integers(0, 39),
    st.sampled_from([by_word, by_byte]),
    st.booleans(),
)
def test_no_window_is_too_long_and_nothing_is_lost(text, max_tokens, overlap, rule, by_request):
    """At most max_tokens each (four bytes hold any character), and every visible character."""
    counter = Counting(rule, counts_by_request=by_request)
    stage = Windows(counter, max_tokens=max_tokens, overlap=min(overlap, max_tokens - 1))
    windows = stage(QUERY, whole(text))
    covered = {place for s in windows for place in range(s.start, s.end)}

    assert all(rule(s.text) <= max_tokens and s.text == s.text.strip() for s in windows)
    assert {place for place, c in enumerate(text) if not c.isspace()} <= covered
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(windows))


def test_a_reader_or_an_llm_can_count():
    """Both know the tokenizer, and the repr of the stage names them."""
    llm = ScriptedLLM(["unused"])
    by_llm, by_reader = Windows(llm, max_tokens=2), Windows(Reader(llm), max_tokens=2)

    assert by_llm(QUERY, whole("a b c")) == by_reader(QUERY, whole("a b c"))
    assert repr(by_llm) == f"Windows(counter={llm!r}, max_tokens=2, overlap=0)"
