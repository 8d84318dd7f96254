"""Lists, tables, code and answers whole; prose by sentences."""

import json
from math import isqrt
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from ragsieve.split.blocks import Blocks
from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query, Segment
from tests.timing import is_linear

QUERY = Query("How do I reset it?")
PIECES = st.sampled_from(
    [
        *("He sang. She danced.", "\n", "\n\n", " ", "- item. Two.", "1. one", "2. two", "(a) x"),
        *("# Head", "| a | b |", "| - | - |", "```", "~~~", "    x = f(1);", "\tcode()", "a\tb"),
        *("Q: Why?", "A: So.", "**Why?**", "Anna: hi", "Tom: ho", "From: a@b", "> said", "==="),
        *("2024-05-01 12:00:01 INFO up", "---", "Lead:", "x" * 60, "。", "\r\n", "\x00", "\ud800"),
    ]
)
MIXED = st.lists(PIECES, max_size=40).map("".join)
LINES = st.lists(PIECES, max_size=40).map("\n".join)


def blocks(text, **options):
    return [s.text for s in Blocks(**options)(QUERY, [Segment.whole(Document("d", text))])]


TABLE = Path(__file__).with_name("blocks.jsonl").read_text(encoding="utf-8")
CASES = {row["name"]: row for row in map(json.loads, TABLE.splitlines())}
ROWS = [f"| {place:02} | value |" for place in range(9)]  # 14 characters each


@pytest.mark.parametrize("name", CASES)
def test_what_belongs_together_is_one_segment(name):
    """Prose goes by sentences; ``between`` is what stands between two segments of a case."""
    segments = CASES[name]["segments"]

    assert [s.strip() for s in segments] == blocks(CASES[name]["between"].join(segments))


def test_prose_goes_by_sentences():
    """Paragraphs without any structure are split as `Sentences` splits them."""
    text = "Dr. Seals met J. Crofts. They\nsang.\n\nShe danced! In 1998. It rained – a lot."
    whole = [Segment.whole(Document("d", text))]

    assert Sentences()(QUERY, whole) == Blocks()(QUERY, whole)


def test_what_is_too_long_is_cut():
    """Tables into rows, lists between items, heads with the first; chapters are prose."""
    table = "\n".join(["| n | v |", "| - | - |", *ROWS])
    items = "You need:\n- one. It\n- two\n- three\n- four"
    chapter = blocks("## Why?\n\nSo it is. " + "He sang of it. " * 50)
    asked = blocks("It is old.\nWho pays?\nThe reader.\nIt is new.\nQ: Why?\nA: So.\nIt ends.")
    turns = blocks(f"GROSS: {'He sang it. ' * 30}\nEHRMAN: Right. So it is.\nGROSS: Thanks.")

    assert [f"| n | v |\n| - | - |\n{ROWS[0]}", *ROWS[1:]] == blocks(table, max_chars=60)
    assert ["You need:\n- one. It\n- two", "- three\n- four"] == blocks(items, max_chars=25)
    assert ("## Why?\n\nSo it is.", 51) == (chapter[0], len(chapter))
    assert ["Who pays?\nThe reader.", "It is new.", "Q: Why?\nA: So.", "It ends."] == asked[1:]
    assert ["He sang it.", "EHRMAN: Right. So it is.", "GROSS: Thanks."] == turns[-3:]
    assert ("GROSS: He sang it.", 32) == (turns[0], len(turns))


@settings(max_examples=150, deadline=None)
@given(text=MIXED | LINES, max_chars=st.sampled_from([1, 20, 1000]))
def test_every_character_lies_in_exactly_one_segment(text, max_chars):
    """Segments are in order, apart, trimmed, short enough, and leave out only white space."""
    found = Blocks(max_chars=max_chars)(QUERY, [Segment.whole(Document("d", text))])
    inside = [place for s in found for place in range(s.start, s.end)]

    assert sorted({*inside}) == inside
    assert "" == "".join(text[place] for place in {*range(len(text))} - {*inside}).strip()
    for segment in found:
        assert 0 < len(segment.text) <= max_chars
        assert segment.text.strip() == segment.text


HOSTILE = {
    "pipes": lambda n: "|" * n,
    "hashes": lambda n: "#" * n,
    "dashes": lambda n: "-" * n,
    "backticks": lambda n: "`" * n,
    "controls": lambda n: "\x00\x01\x1b\x7f" * (n // 4),
    "open fences": lambda n: "```a\n~~~b\n" * (n // 10),
    "shrinking fences": lambda n: "".join("`" * m + "\n" for m in range(isqrt(2 * n), 2, -1)),
    "rows": lambda n: "|\n" * (n // 2),
    "headings": lambda n: "# \n" * (n // 3),
    "titles": lambda n: "Title\n\n" * (n // 7),
    "items": lambda n: "- a\n" * (n // 4),
    "nested": lambda n: "\n".join(" " * m + "- a" for m in range(isqrt(2 * n))),
    "clauses": lambda n: "1. t\n\n1.1 a b:\n\n" * (n // 16),
    "fields": lambda n: "".join(f"A{m}: x\ntext\n" for m in range(n // 12)),
    "questions": lambda n: "Q: a?\nb\n" * (n // 8),
    "quotes": lambda n: "> a\n" * (n // 4),
    "indented": lambda n: "    x y\n\n" * (n // 10),
    "tabs": lambda n: "\t" * n,
    "blank lines": lambda n: "\n" * n,
    "one word": lambda n: "x" * n,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_split_in_time_by_its_length(name):
    """It does not grow by the square."""
    assert is_linear(lambda size: blocks(HOSTILE[name](size)), 10_000)


@pytest.mark.parametrize("line", ["\n", " \n", "\t\r\n"])
def test_many_blank_lines_are_as_few(line):
    """Whatever stands before and behind."""
    many, few = (f"a:\n- b\n{line * n}- c\n{line * n}d." for n in (10**5, 3))
    words = [word for block in blocks(many) for word in block.split()]

    assert [word for block in blocks(few) for word in block.split()] == words
