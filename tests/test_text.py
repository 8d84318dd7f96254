"""Sentences as spans, answers as they are compared, characters that are not safe to show."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragsieve.text import contains_answer, language, normalise, safe, sentence_spans

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
PIECES = st.sampled_from(
    [
        "He sang.",
        "你好。",
        "Dr. Who",
        "\n",
        "\n\n",
        " ",
        "\t",
        "- item",
        "1. one",
        "# Head",
        "| a |",
        "\r\n",
        "\u2028",
        "\u200b",
        "😀",
        "\ud800",
        "\x00",
        "\x1f",
        "...",
        "?!",
        "x" * 50,
        "。",
        "」",
    ]
)
MIXED = st.lists(PIECES, max_size=60).map("".join)


def sentences(text: str, **options: int | str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text, **options)]  # type: ignore[arg-type]


def test_spans_are_exact_and_trimmed() -> None:
    """A span begins at a sentence's first character and ends behind its last, no white space."""
    text = "  He sang.   She danced!\n"

    #        0123456789...  "He sang." is 2:10, "She danced!" 13:24
    assert [(2, 10), (13, 24)] == sentence_spans(text)


def test_abbreviations_end_no_sentence() -> None:
    """A title's or an initial's full stop is not the end."""
    assert ["Dr. Seals met J. Crofts.", "They sang."] == sentences(
        "Dr. Seals met J. Crofts. They sang."
    )


def test_abbreviations_go_by_language() -> None:
    """German abbreviations hold a German sentence together."""
    assert ["Er mag z.B. Obst.", "Sie nicht."] == sentences(
        "Er mag z.B. Obst. Sie nicht.", language="de"
    )


def test_thai_sentences_end_at_white_space() -> None:
    """After 100 characters, between Thai letters: a space beside a number or a name ends none."""
    words = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"  # 38 characters, so three of them are 116
    text = f"{words} {words} {words} {words} 1972 {words} {words}"

    assert [f"{words} {words} {words}", f"{words} 1972 {words} {words}"] == sentences(
        text, language="th"
    )


def test_list_items_and_headings_end_at_their_line() -> None:
    """Lines of a list, a heading and a quotation are sentences though no full stop ends them."""
    text = "# Songs\n- Summer Breeze\n- Diamond Girl\n1. first\n2) second\n> said he\nplain"

    assert [
        "# Songs",
        "- Summer Breeze",
        "- Diamond Girl",
        "1. first",
        "2) second",
        "> said he\nplain",
    ] == sentences(text)


def test_a_list_items_sentences_are_apart() -> None:
    """Its number belongs to the first of them."""
    assert ["1. He sang.", "She danced.", "22. They left."] == sentences(
        "1. He sang. She danced.\n22. They left."
    )


def test_table_rows_end_at_their_line() -> None:
    """Each row of a Markdown table is a sentence."""
    assert ["| song | year |", "| Summer Breeze | 1972 |"] == sentences(
        "| song | year |\n| Summer Breeze | 1972 |"
    )


def test_paragraphs_end_sentences() -> None:
    """A blank line ends a sentence; a single line break does not."""
    assert ["one\ntwo", "three"] == sentences("one\ntwo\n\nthree")


def test_chinese_sentences_end_without_a_space() -> None:
    """Chinese full stops, questions and exclamations end a sentence in any language setting."""
    assert ["你好。", "你是谁?", "我很好！"] == sentences("你好。你是谁?我很好！")


def test_offsets_count_characters_beyond_the_first_plane() -> None:
    """An emoji is one character of a string, whatever it is in UTF-8 or UTF-16."""
    text = "😀😀 Hi there. 😀 Bye."

    #       0 1 2........11  "😀😀 Hi there." is 0:12
    assert [(0, 12), (13, 19)] == sentence_spans(text)


def test_text_without_a_sentence_end_is_cut_at_white_space() -> None:
    """Words stay whole where a piece of at most max_chars can end between two of them."""
    assert ["aaa bbb", "ccc ddd", "eee"] == sentences("aaa bbb ccc ddd eee", max_chars=7)


def test_words_stay_whole_in_a_long_text_without_a_sentence_end() -> None:
    """Also where the text is read in pieces."""
    assert {"abcdef"} == {*" ".join(sentences("abcdef " * 3000)).split()}


def test_a_sentence_within_the_limit_is_whole() -> None:
    """However long both are: 6,004 characters."""
    long = "abcde " * 1000 + "end."

    assert [long, long] == sentences(f"{long} {long}", max_chars=6004)


def test_a_word_over_the_limit_is_cut_inside() -> None:
    """Where there is no white space there is no better place."""
    assert ["aaaa", "aaaa", "aa"] == sentences("a" * 10, max_chars=4)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "\t \u3000\u2028\x1c"])
def test_white_space_has_no_sentence(text: str) -> None:
    """What is only white space yields nothing."""
    assert [] == sentence_spans(text)


def test_a_lone_surrogate_is_a_character_like_others() -> None:
    """A broken string, as JSON can hold it, splits where its repaired twin would."""
    assert ["\ud800 He sang.", "\udfff"] == sentences("\ud800 He sang. \udfff")


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT | MIXED, max_chars=st.sampled_from([1, 7, 1000]))
@example(text="\ud800", max_chars=1000)
@example(text="a.b" * 3000 + "。" * 5000, max_chars=1000)
def test_every_character_lies_in_exactly_one_span(text: str, max_chars: int) -> None:
    """Spans are in order, apart, trimmed, short enough, and leave out nothing but white space."""
    spans = sentence_spans(text, max_chars=max_chars)
    inside = [place for start, end in spans for place in range(start, end)]
    left_out = {*range(len(text))} - {*inside}

    assert sorted({*inside}) == inside
    assert "" == "".join(text[place] for place in left_out).strip()
    for start, end in spans:
        assert 0 < end - start <= max_chars
        assert text[start:end].strip() == text[start:end]


MEGABYTE = 1_000_000
LONG = {
    "English": "He sang Summer Breeze in 1972, and so did they. " * 21_000,
    "Chinese": "今天天气很好，我们去公园。" * 77_000,
    "greetings": "你好。" * 300_000,
    "lines": "\n" * MEGABYTE,
    "blank lines": "\n \t" * 330_000,
    "one word": "x" * MEGABYTE,
    "spaces": " " * MEGABYTE,
    "full stops": "." * MEGABYTE,
    "short ends": "a. " * 330_000,
    "list": "- a\n" * 250_000,
    "surrogates": "\ud800" * MEGABYTE,
}


@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_is_split_soon(name: str) -> None:
    """Time grows with the length, not with its square: that would take minutes here."""
    text = LONG[name]
    began = time.process_time()
    spans = sentence_spans(text)
    took = time.process_time() - began

    assert len(text.split()) == 0 or spans
    assert took < 10


def test_a_megabyte_of_english_has_every_sentence() -> None:
    """No sentence is cut where the text is read in pieces."""
    assert {"He sang Summer Breeze in 1972, and so did they."} == {*sentences(LONG["English"])}


def test_a_megabyte_of_chinese_has_every_sentence() -> None:
    """The same for text without spaces."""
    assert ["今天天气很好，我们去公园。"] * 77_000 == sentences(LONG["Chinese"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles", "beatles"),
        ("  An  apple, a pear.\n", "apple pear"),
        ("U.S.A.", "usa"),
        ("Ｓｅａｌｓ ﬁne ①", "seals fine 1"),
        ("Theodore", "theodore"),
        ("the a an", ""),
        ("北京。", "北京。"),
        ("", ""),
    ],
)
def test_normalise(text: str, expected: str) -> None:
    """Articles, punctuation, case, width and spaces do not tell two answers apart."""
    assert expected == normalise(text)


@given(ANY_TEXT)
def test_normalised_text_is_a_line(text: str) -> None:
    """Words are joined by single spaces, none at the ends."""
    assert " ".join(normalise(text).split()) == normalise(text)


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("He made art.", ["Art"], True),
        ("At the start.", ["art"], False),
        ("In 1972, they sang.", ["197", "972"], False),
        ("By Seals and Crofts", ["Isley Brothers", "the Seals and Crofts!"], True),
        ("首都是北京市。", ["北京"], True),
        ("首都是北京市。", ["上海"], False),
        ("กรุงเทพมหานคร", ["กรุงเทพ"], True),
        ("ﬁne", ["fine"], True),
        ("anything", [], False),
        ("anything", ["", "the", "?!"], False),
        ("", ["art"], False),
    ],
)
def test_contains_answer(text: str, answers: list[str], expected: bool) -> None:
    """An answer counts as whole words, or as a substring in scripts without spaces."""
    assert expected is contains_answer(text, answers)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Who sang Summer Breeze?", "en"),
        ("The duo sang Summer Breeze in 1972.", "en"),
        ("El Cielo en las manos is a 1950 film of the Argentine.", "en"),
        ("Wann wurde das Lied veröffentlicht?", "de"),
        ("¿Quién cantó esta canción por primera vez?", "es"),
        ("Dove si trova la torre più alta della città?", "it"),
        ("Когда была построена башня?", "ru"),
        ("متى تم بناء هذا البرج الكبير؟", "ar"),
        ("夏之风是谁唱的？", "zh"),
        ("夏の風は誰が歌いましたか？", "ja"),
        ("이 노래는 누가 불렀습니까?", "ko"),
        ("ใครร้องเพลงนี้", "th"),
        ("Ποιος τραγούδησε;", "el"),
    ],
)
def test_language_of_a_sentence(text: str, expected: str) -> None:
    """A question is enough to tell."""
    assert expected == language(text)


@pytest.mark.parametrize(
    "text",
    ["", " \n", "ok", "1972", "x = 3;", "| - |", "\ud800\x00", "😀", "#" * 1000, "Hi!", "a, b"],
)
def test_what_is_too_short_to_tell_is_english(text: str) -> None:
    """Numbers, code and a few letters name no language."""
    assert "en" == language(text)


@pytest.mark.parametrize(
    "text",
    [
        "def main(argv):\n    return run(argv[1:])",
        "2024-05-01 12:00:01 ERROR worker-3 connection reset",
        "Adrien Silva; Anthony da Silva",
        "pip install ragsieve",
    ],
)
def test_names_code_and_logs_are_not_taken_for_another_language(text: str) -> None:
    """Where the model is not certain, English stands."""
    assert "en" == language(text)


@given(ANY_TEXT)
def test_any_text_has_a_language(text: str) -> None:
    """A code of two or three small letters, whatever the text holds."""
    code = language(text)

    assert code.isalpha() and code.islower() and len(code) in (2, 3)


def test_the_language_of_a_long_text_costs_as_much_as_that_of_a_short_one() -> None:
    """Its first characters decide."""
    texts = [f"{place} " + "Der Hund schläft. " * 50_000 for place in range(20)]  # 0.9 MB each
    began = time.process_time()
    found = {language(text) for text in texts}
    took = time.process_time() - began

    assert {"de"} == found
    assert took < 1


@given(ANY_TEXT)
def test_safe_keeps_every_place(text: str) -> None:
    """Each character stays in its place, and what stays can be written and shown."""
    shown = safe(text)

    assert len(text) == len(shown)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any((ord(c) < 32 and c not in "\t\n\r") or 0x7F <= ord(c) <= 0x9F for c in shown)
    assert all(a == b or b == "\ufffd" for a, b in zip(text, shown, strict=True))


@pytest.mark.parametrize(
    "character", ["\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\ud800"]
)
def test_safe_replaces(character: str) -> None:
    """Ends of strings, escapes, reordering and broken halves become U+FFFD."""
    assert "a\ufffdb" == safe(f"a{character}b")


def test_safe_leaves_what_people_write() -> None:
    """Letters of any script, emoji, tabs and line ends stay."""
    text = "Ünï 你好 مرحبا 😀\t\r\n"

    assert text == safe(text)
