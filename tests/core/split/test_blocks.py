"""Lists, tables, code and answers whole; prose by sentences."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragsieve.split.blocks import Blocks
from ragsieve.split.sentences import Sentences
from ragsieve.types import Document, Query, Segment

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


def blocks(text: str, **options: int) -> list[str]:
    return [s.text for s in Blocks(**options)(QUERY, [Segment.whole(Document("d", text))])]  # type: ignore[arg-type]


def test_prose_goes_by_sentences() -> None:
    """Paragraphs without any structure are split as `Sentences` splits them."""
    text = "Dr. Seals met J. Crofts. They\nsang.\n\nShe danced! In 1998. It rained – a lot."
    whole = [Segment.whole(Document("d", text))]

    assert Sentences()(QUERY, whole) == Blocks()(QUERY, whole)


def test_numbered_steps_stay_with_their_lead_in() -> None:
    """What to do is one segment, also with notes and code between the steps."""
    steps = (
        "To reset it, follow these steps:\n\n1. Open **Settings**. A page opens.\n"
        "2. Run this:\n\n```\nreset --all\n```\n\n3. Wait."
    )

    assert ["It takes a minute.", steps, "Done.", "Enjoy."] == blocks(
        f"It takes a minute. {steps}\n\nDone. Enjoy."
    )


def test_a_bullet_list_stays_with_the_line_above() -> None:
    """A colon is not needed where the line stands directly above the list."""
    text = "The plan has\n- five seats\n  - two for guests\n* one admin. No more."

    assert [text, "Prices vary."] == blocks(f"{text}\n\nPrices vary.")


def test_two_lists_are_two_segments() -> None:
    """Numbers after bullets begin another list."""
    assert ["You need:\n\n- water\n- soap", "1. Fill it.\n2. Run it."] == blocks(
        "You need:\n\n- water\n- soap\n\n1. Fill it.\n2. Run it."
    )


def test_a_heading_goes_with_what_follows() -> None:
    """Marked by signs, by a line under it, or standing alone."""
    assert ["# Pump\n\n## Parts\n\nIt has three.", "All are metal."] == blocks(
        "# Pump\n\n## Parts\n\nIt has three. All are metal."
    )
    assert ["Parts\n=====\nIt has three."] == blocks("Parts\n=====\nIt has three.")
    assert ["Spare parts\n\nIt has three."] == blocks("Spare parts\n\nIt has three.")


def test_a_heading_in_the_line_goes_with_what_follows() -> None:
    """Bold with a mark of its own inside, or a numbered paragraph; what is bold inside splits."""
    text = "**What ends it?** Damage does. **All** of it. So do races."
    paragraph = "§ 6 Aircraft. Drones are forbidden. So are kites."

    assert ["**What ends it?** Damage does.", "**All** of it.", "So do races."] == blocks(text)
    assert ["§ 6 Aircraft. Drones are forbidden.", "So are kites."] == blocks(paragraph)


def test_code_stays_with_the_line_that_introduces_it() -> None:
    """Fenced or indented, blank lines in it as well."""
    fenced = "Install it with pip:\n\n```bash\npip install x\n\nx. Run. Now.\n```"
    indented = "Set this:\n\n    [server]\n    port = 80\n\n    name = 'x'"

    assert [fenced, "It works."] == blocks(f"{fenced}\n\nIt works.")
    assert ["Hello.", indented, "Restart."] == blocks(f"Hello. {indented}\n\nRestart.")


def test_indented_prose_is_no_code() -> None:
    """Plain text is often indented as a whole."""
    assert ["The tower is old.", "It was lit\n    in 1881."] == blocks(
        "    The tower is old. It was lit\n    in 1881."
    )


def test_a_fence_that_is_never_closed_is_text() -> None:
    """It does not swallow the rest of the document."""
    assert ["```\nHe sang.", "She danced."] == blocks("```\nHe sang. She danced.")


def test_a_table_stays_with_header_and_caption() -> None:
    """Markdown tables, and columns between tabs."""
    table = "Table 1: Prices.\n\n| plan | price |\n| --- | --- |\n| Team | 12. Per seat. |"
    columns = "Sales by quarter\nQ1\t100\nQ2\t120"

    assert ["All can be cancelled.", table] == blocks(f"All can be cancelled.\n\n{table}")
    assert [columns] == blocks(columns)


def test_a_long_table_is_cut_into_rows() -> None:
    """The header goes with the first row."""
    rows = [f"| {place:02} | value |" for place in range(9)]  # 14 characters each
    text = "\n".join(["| n | v |", "| - | - |", *rows])

    assert [f"| n | v |\n| - | - |\n{rows[0]}", *rows[1:]] == blocks(text, max_chars=60)


def test_a_long_list_is_cut_between_items() -> None:
    """The lead-in goes with the first items; no piece is over the limit."""
    assert ["You need:\n- one. It\n- two", "- three\n- four"] == blocks(
        "You need:\n- one. It\n- two\n- three\n- four", max_chars=25
    )


def test_a_question_stays_with_its_short_answer() -> None:
    """In the ways such pages write it."""
    labelled = "Q: How long?\nA: Two days. In winter three."
    bold = "**Is there a refund?**\nNo. We do not refund."
    headed = "## Where is it kept?\n\nIn Frankfurt. It is encrypted."

    assert [labelled, bold, headed] == blocks(f"{labelled}\n\n{bold}\n\n{headed}")


def test_a_question_before_a_long_text_goes_with_its_first_sentence() -> None:
    """A chapter under a question is prose."""
    found = blocks("## Why?\n\nSo it is. " + "He sang of it. " * 50)

    assert "## Why?\n\nSo it is." == found[0]
    assert 51 == len(found)


def test_a_mails_header_is_one_segment() -> None:
    """As are the fields of a record."""
    header = "From: Anna\nTo: Tom\nSubject: Moved. Really."

    assert [header, "Hi Tom,", "it moved.", "Bye."] == blocks(
        f"{header}\n\nHi Tom,\n\nit moved. Bye."
    )


def test_each_turn_of_a_chat_is_a_segment() -> None:
    """With its speaker, whole."""
    turns = ["[10:02] Anna: Did it go? No mail.", "[10:03] Tom: No. It failed."]

    assert turns == blocks("\n".join(turns))
    assert ["Al: Hi. You?", "Bo: Me.", "Al: Oh. Hm."] == blocks(
        "Al: Hi. You?\n\nBo: Me.\n\nAl: Oh. Hm."
    )


def test_long_turns_go_by_sentences() -> None:
    """A transcript of an interview is prose: 30 sentences of 11 characters."""
    found = blocks(f"GROSS: {'He sang it. ' * 30}\nEHRMAN: Right. So it is.\nGROSS: Thanks.")

    assert "GROSS: He sang it." == found[0]
    assert ["He sang it.", "EHRMAN: Right. So it is.", "GROSS: Thanks."] == found[-3:]
    assert 32 == len(found)


def test_each_entry_of_a_log_is_a_segment() -> None:
    """With the lines that belong to it."""
    entries = [
        "2024-05-01 12:00:01 INFO up. Version 2.1.",
        "2024-05-01 12:00:05 ERROR failed. Retrying.\nTraceback:\n  File a.py",
        "update-agent 2024-05-01 12:00:09: link to /usr/lib/jvm updated. Done.",
        "2024-05-01 12:00:09 INFO down",
    ]

    assert entries == blocks("\n".join(entries))


def test_a_line_break_inside_a_sentence_does_not_split_it() -> None:
    """Text taken from PDF files breaks lines anywhere: before dashes, years, in words."""
    text = "Work had begun in\n1867. It took four-\nteen years\n– two more. It\nended."

    assert [
        "Work had begun in\n1867.",
        "It took four-\nteen years\n– two more.",
        "It\nended.",
    ] == blocks(text)


def test_initials_at_the_beginning_of_lines_are_no_list() -> None:
    """Names are not numbered."""
    assert ["He met\nJ. Crofts and\nD. Seals there."] == blocks(
        "He met\nJ. Crofts and\nD. Seals there."
    )


def test_a_wrapped_item_is_whole_and_prose_after_the_list_is_not_in_it() -> None:
    """Without indent, as PDF files give it."""
    text = "Safety\n1. Switch it off and pull the\nplug.\n2. Wait. Then\nopen it."

    assert [text, "It is not dry.", "Beware."] == blocks(f"{text}\nIt is not dry. Beware.")


def test_the_language_of_the_document_counts() -> None:
    """German abbreviations end no German sentence."""
    assert ["Er mag z.B. Obst und trinkt gerne Tee.", "Sie mag das alles nicht."] == blocks(
        "Er mag z.B. Obst und trinkt gerne Tee. Sie mag das alles nicht."
    )


@settings(max_examples=300, deadline=None)
@given(text=MIXED | LINES, max_chars=st.sampled_from([1, 20, 1000]))
def test_every_character_lies_in_exactly_one_segment(text: str, max_chars: int) -> None:
    """Segments are in order, apart, trimmed, short enough, and leave out only white space."""
    found = Blocks(max_chars=max_chars)(QUERY, [Segment.whole(Document("d", text))])
    inside = [place for s in found for place in range(s.start, s.end)]

    assert sorted({*inside}) == inside
    assert "" == "".join(text[place] for place in {*range(len(text))} - {*inside}).strip()
    for segment in found:
        assert 0 < len(segment.text) <= max_chars
        assert segment.text.strip() == segment.text


SIZE = 100_000
HOSTILE = {
    "pipes": "|" * SIZE,
    "hashes": "#" * SIZE,
    "dashes": "-" * SIZE,
    "backticks": "`" * SIZE,
    "controls": "\x00\x01\x1b\x7f" * (SIZE // 4),
    "open fences": "```a\n~~~b\n" * (SIZE // 10),
    "shrinking fences": "".join("`" * n + "\n" for n in range(440, 2, -1)),
    "rows": "|\n" * (SIZE // 2),
    "headings": "# \n" * (SIZE // 3),
    "titles": "Title\n\n" * (SIZE // 7),
    "items": "- a\n" * (SIZE // 4),
    "nested": "\n".join(" " * n + "- a" for n in range(430)),
    "fields": "".join(f"A{n}: x\ntext\n" for n in range(SIZE // 12)),
    "questions": "Q: a?\nb\n" * (SIZE // 8),
    "quotes": "> a\n" * (SIZE // 4),
    "indented": "    x y\n\n" * (SIZE // 10),
    "tabs": "\t" * SIZE,
    "blank lines": "\n" * SIZE,
    "one word": "x" * SIZE,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_split_soon(name: str) -> None:
    """Time grows with the length, not with its square."""
    began = time.process_time()
    blocks(HOSTILE[name])
    took = time.process_time() - began

    assert took < 5


@pytest.mark.parametrize("line", ["\n", " \n", "\t\r\n"])
def test_millions_of_blank_lines_cost_nothing(line: str) -> None:
    """They are as two, whatever stands before and behind."""
    many, few = (f"a:\n- b\n{line * n}- c\n{line * n}d." for n in (10**6, 3))
    began = time.monotonic()
    words = [word for block in blocks(many) for word in block.split()]

    assert time.monotonic() - began < 30
    assert [word for block in blocks(few) for word in block.split()] == words
