"""Sentences as spans, answers as they are compared, characters that are not safe to show."""

import json
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pytest
from hypothesis import example, given, settings, strategies as st

from ragsieve.text import (
    contains_answer,
    json_text,
    language,
    normalise,
    safe,
    sentence_spans,
    words,
)
from tests.timing import is_linear

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
PIECES = st.sampled_from(
    [
        *("He sang.", "你好。", "Dr. Who", "- item", "1. one", "# Head", "| a |", "x" * 50),
        *("\n", "\n\n", " ", "\t", "\r\n", "\u2028", "\u200b", "\ud800", "\x00", "\x1f"),
        *("😀", "C\u00a0.", "...", "?!", "。", "」"),
    ]
)
MIXED = st.lists(PIECES, max_size=60).map("".join)
PAIRS = [json.loads(line) for line in Path("tests/held_answers.jsonl").read_text().splitlines()]
NOT_READ = ["50%", "京都"]  # a unit is no part of a number, and no word ends in Chinese
BOUNDARIES = Path(__file__).with_name("boundaries.tsv").read_text(encoding="utf-8").splitlines()


def sentences(text, **options):
    return [text[start:end] for start, end in sentence_spans(text, **options)]


def test_spans_are_exact_trimmed_and_count_characters():
    """An emoji is one, whatever it is in UTF-8; words stay whole in a long text."""
    text = "  He sang.   She danced!\n"

    #        0123456789...  "He sang." is 2:10, "She danced!" 13:24
    assert [(2, 10), (13, 24)] == sentence_spans(text)

    text = "😀😀 Hi there. 😀 Bye."

    #       0 1 2........11  "😀😀 Hi there." is 0:12
    assert [(0, 12), (13, 19)] == sentence_spans(text)

    assert {"abcdef"} == {*" ".join(sentences("abcdef " * 3000)).split()}


THAI = "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย"  # 38 characters, so three of them are 116
LONG_ONE = "abcde " * 1000 + "end."  # 6,004 characters
SPLIT = {
    "abbreviation": (
        *("Dr. Seals met J. Crofts. They sang.", {}),
        ["Dr. Seals met J. Crofts.", "They sang."],
    ),
    "days with a dash": (
        "Tue.–Sat. 8 to 6. Shut on Mondays.",
        {},
        ["Tue.–Sat. 8 to 6.", "Shut on Mondays."],
    ),
    "a date in notes": ("Ref. 04.05. with a cough.", {}, ["Ref. 04.05. with a cough."]),
    "German abbreviation": (
        *("Er mag z.B. Obst. Sie nicht.", {"language": "de"}),
        ["Er mag z.B. Obst.", "Sie nicht."],
    ),
    # after 100 characters, between Thai letters: a space beside a number or a name ends none
    "Thai": (
        *(f"{THAI} {THAI} {THAI} {THAI} 1972 {THAI} {THAI}", {"language": "th"}),
        [f"{THAI} {THAI} {THAI}", f"{THAI} 1972 {THAI} {THAI}"],
    ),
    "Chinese": ("你好。你是谁?我很好！", {}, ["你好。", "你是谁?", "我很好！"]),
    "lines of a list, a heading, a quotation": (
        *("# Songs\n- Summer Breeze\n1. first\n2) second\n> said he\nplain", {}),
        ["# Songs", "- Summer Breeze", "1. first", "2) second", "> said he\nplain"],
    ),
    "sentences of a list item": (
        *("1. He sang. She danced.\n22. They left.", {}),
        ["1. He sang.", "She danced.", "22. They left."],
    ),
    "rows of a table": (
        *("| song | year |\n| Summer Breeze | 1972 |", {}),
        ["| song | year |", "| Summer Breeze | 1972 |"],
    ),
    "paragraphs": ("one\ntwo\n\nthree", {}, ["one\ntwo", "three"]),
    "no end, cut at white space": (
        *("aaa bbb ccc ddd eee", {"max_chars": 7}),
        ["aaa bbb", "ccc ddd", "eee"],
    ),
    "no white space, cut inside": ("a" * 10, {"max_chars": 4}, ["aaaa", "aaaa", "aa"]),
    "within the limit": (f"{LONG_ONE} {LONG_ONE}", {"max_chars": 6004}, [LONG_ONE, LONG_ONE]),
    "lone surrogates": ("\ud800 He sang. \udfff", {}, ["\ud800 He sang.", "\udfff"]),
    **{
        f"{blank!a} behind an initial": (
            *(f"Take vitamin C{blank}. The fine is due.", {}),
            [f"Take vitamin C{blank}.", "The fine is due."],
        )
        for blank in ["\u00a0", " \u3000", "\u2028", "\u202f\u202f", "\x85"]
    },
    **{
        f"white space {n}": (text, {}, [])
        for n, text in enumerate(["", " ", "\n\n\n", "\t \u3000\u2028\x1c"])
    },
}


@pytest.mark.parametrize("name", SPLIT)
def test_text_is_split_into_sentences(name):
    """By language, lines and limits; a broken string splits where its repaired twin would."""
    text, options, expected = SPLIT[name]

    assert expected == sentences(text, **options)


def test_a_splitter_that_panics_gives_one_piece(monkeypatch):
    """A panic of Rust is no `Exception`; what else is none goes on."""
    for name, expected in ("PanicException", [(0, 17)]), ("KeyboardInterrupt", None):
        raised = type(name, (BaseException,), {})
        monkeypatch.setattr("sentencex.get_sentence_boundaries", Mock(side_effect=raised))
        with nullcontext() if expected else pytest.raises(raised):
            assert expected == sentence_spans("He sang. He left.")


@settings(max_examples=100, deadline=None)
@given(text=ANY_TEXT | MIXED, max_chars=st.sampled_from([1, 7, 1000]))
@example(text="\ud800", max_chars=1000)
@example(text="a.b" * 3000 + "。" * 5000, max_chars=1000)
def test_every_character_lies_in_exactly_one_span(text, max_chars):
    """Spans are in order, apart, trimmed, short enough, and leave out nothing but white space."""
    spans = sentence_spans(text, max_chars=max_chars)
    inside = [place for start, end in spans for place in range(start, end)]
    left_out = {*range(len(text))} - {*inside}

    assert sorted({*inside}) == inside
    assert "" == "".join(text[place] for place in left_out).strip()
    for start, end in spans:
        assert 0 < end - start <= max_chars
        assert text[start:end].strip() == text[start:end]


MANY = 200_000
LONG = {
    "English": "He sang Summer Breeze in 1972, and so did they. " * 4_000,
    "Chinese": "今天天气很好，我们去公园。" * 5_000,
    "greetings": "你好。" * 20_000,
    "lines": "\n" * MANY,
    "blank lines": "\n \t" * 66_000,
    "one word": "x" * MANY,
    "spaces": " " * MANY,
    "full stops": "." * MANY,
    "short ends": "a. " * 66_000,
    "list": "- a\n" * 16_000,
    "surrogates": "\ud800" * MANY,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_split_soon(name):
    """Time grows with the length, not with its square."""
    text = LONG[name]
    assert is_linear(lambda size: sentence_spans(text[:size]), len(text) // 5)


def test_a_long_text_has_every_sentence():
    """None is cut where the text is read in pieces, with spaces between sentences or without."""
    assert {"He sang Summer Breeze in 1972, and so did they."} == {*sentences(LONG["English"])}
    assert ["今天天气很好，我们去公园。"] * 5_000 == sentences(LONG["Chinese"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles", "beatles"),
        ("  An  apple, a pear.\n", "apple pear"),
        ("U.S.A.", "usa"),
        ("Ｓｅａｌｓ ﬁne ①", "seals fine 1"),
        ("Theodore", "theodore"),
        ("the a an", "the a an"),
        ("“北京、上海。”", "北京 上海"),
        ("¿Ocean’s «Été»‐Band?", "oceans étéband"),
        ("the Paris—Rome line, 1914–18 10-20 1914 — 18", "paris rome line 191418 1020 191418"),
        ("−40 °C, -40, –.5 (-3) - 5", "-40 °c -40 -5 -3 5"),
        ("Personal\u00adabtei\u200blung", "personalabteilung"),
        ("", ""),
    ],
)
def test_normalise(text, expected):
    """Articles, punctuation, case, width and spaces do not tell two answers apart."""
    assert expected == normalise(text)
    assert words(text) == words(text.replace("\u00ad", ""))


def test_words_are_as_they_are_typed():
    """Lowered digits and ligatures of PDFs; a raised digit is a note's or a power's."""
    assert "price 1 co2 10 12 m efficient" == " ".join(words("Price¹ CO₂ 10¹² m eﬃcient"))


@given(ANY_TEXT)
def test_normalised_text_is_a_line(text):
    """Words are joined by single spaces, none at the ends."""
    assert " ".join(normalise(text).split()) == normalise(text)


def test_contains_answer():
    """One of several answers is enough; one without words is held nowhere."""
    assert contains_answer("By Seals and Crofts", ["Isley Brothers", "the Seals and Crofts!"])
    assert not contains_answer("anything", [])
    assert not contains_answer("anything", ["", "the", "?!"])


ENGLISH = [  # what names no language
    *("", " \n", "ok", "1972", "x = 3;", "| - |", "\ud800\x00", "😀", "#" * 1000, "Hi!", "a, b"),
    "def main(argv):\n    return run(argv[1:])",
    "2024-05-01 12:00:01 ERROR worker-3 connection reset",
    "Adrien Silva; Anthony da Silva",
    "pip install ragsieve",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, "en") for text in ENGLISH),
        ("Who sang Summer Breeze?", "en"),
        ("Is it idempotent?", "en"),
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
def test_language_of_a_sentence(text, expected):
    """A question is enough to tell. Numbers, names, code, logs and a few letters are English, as is
    all where the model is not certain."""
    assert expected == language(text)


@given(ANY_TEXT)
def test_any_text_has_a_language(text):
    """A code of two or three small letters, whatever the text holds."""
    code = language(text)

    assert code.isalpha() and code.islower() and len(code) in (2, 3)


def test_the_language_of_a_long_text_costs_as_much_as_that_of_a_short_one():
    """Its first characters decide."""
    texts = [f"{place} " + "Der Hund schläft. " * 50_000 for place in range(20)]  # 0.9 MB each
    began = time.process_time()
    found = {language(text) for text in texts}
    took = time.process_time() - began

    assert {"de"} == found
    assert took < 1


@given(ANY_TEXT)
def test_safe_keeps_every_place(text):
    """Each character stays in its place, and what stays can be written and shown."""
    shown = safe(text)

    assert len(text) == len(shown)
    assert shown.encode("utf-8").decode("utf-8") == shown
    assert not any((ord(c) < 32 and c not in "\t\n\r") or 0x7F <= ord(c) <= 0x9F for c in shown)
    assert all(a == b or b == "\ufffd" for a, b in zip(text, shown, strict=True))


def test_safe_replaces_what_is_not_text():
    """Ends of strings, escapes, reordering, broken halves; letters, emoji and line ends stay."""
    text = "Ünï 你好 مرحبا 😀\t\r\n"

    assert text == safe(text)
    assert "\ufffd" * 7 == safe("\x00\x1b\x7f\x9b\u202e\u2066\ud800")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("\udc00\ud800 😀", "\ufffd\ufffd 😀"),
        ({"k\ud800": ["\x00", "\\ud800", 1.5, None]}, {"k\ufffd": ["\x00", "\\ud800", 1.5, None]}),
        ("plain é", "plain é"),
    ],
)
def test_json_is_for_any_reader(value, shown):
    """In ASCII, without a lone surrogate; all else is as it was."""
    text = json_text(value)

    assert text.isascii()
    assert shown == msgspec.json.decode(text)


@pytest.mark.parametrize(("language", "marked"), [line.split("\t") for line in BOUNDARIES])
def test_sentences_end_where_a_reader_ends_them(language, marked):
    """Abbreviations, citations, addresses, brackets, apostrophes, quotations."""
    text = marked.replace("|", " " if language != "zh" else "")
    spans = sentence_spans(text, language=language)

    assert marked.split("|") == [text[start:end] for start, end in spans]


def test_words_and_numbers_are_held_in_their_places():
    """Possessives, numbers, dashes, stress, ligatures and initials neither hide nor feign one."""
    wrong = [p["answer"] for p in PAIRS if contains_answer(p["text"], [p["answer"]]) != p["holds"]]

    assert sorted(NOT_READ) == sorted(wrong)
