"""Lists, tables, code and answers whole; prose by sentences."""

from collections.abc import Callable
from math import isqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


def blocks(text: str, **options: int) -> list[str]:
    return [s.text for s in Blocks(**options)(QUERY, [Segment.whole(Document("d", text))])]  # type: ignore[arg-type]


STEPS = (
    "To reset it, follow these steps:\n\n1. Open **Settings**. A page opens.\n"
    "2. Run this:\n\n```\nreset --all\n```\n\n3. Wait."
)
FENCED = "Install it with pip:\n\n```bash\npip install x\n\nx. Run. Now.\n```"
INDENTED = "Set this:\n\n    [server]\n    port = 80\n\n    name = 'x'"
TABLE = "Table 1: Prices.\n\n| plan | price |\n| --- | --- |\n| Team | 12. Per seat. |"
ANSWERS = [
    "Q: How long?\nA: Two days. In winter three.",
    "**Is there a refund?**\nNo. We do not refund.",
    "## Where is it kept?\n\nIn Frankfurt. It is encrypted.",
    "Is it free?\nNo. It costs nine a month.",
    "2. ¿Es gratis?\nSí. Es gratis.",
    "هل هو آمن؟\nنعم. هو آمن جدا.",
]
LOG = [
    "2024/05/01 12:00:01 INFO up. Version 2.1.",
    "2024-05-01 12:00:05 ERROR failed. Retrying.\nTraceback:\n  File a.py",
    "update-agent 2024-05-01 12:00:09: link to /usr/lib/jvm updated. Done.",
    "2024-05-01 12:00:09 INFO down",
]
ROWS = [f"| {place:02} | value |" for place in range(9)]  # 14 characters each
PDF = ["Work had begun in\n1867.", "It took four-\nteen years\n– two more.", "It\nended."]
CASES: dict[str, tuple[list[str], str]] = {  # segments, and what stands between two of them
    "numbered steps stay with their lead-in": (["It is one.", STEPS, "Done."], "\n\n"),
    "a bullet list stays with the line above, colon or not": (
        ["The plan has\n- five seats\n  - two for guests\n* one admin. No more.", "Ask."],
        "\n\n",
    ),
    "clauses are no list: each is one": (
        [
            f"{n}. Term {n}. It runs for {n} years from the day of its signature, unless a party "
            f"gives notice. Such notice is given in writing."
            for n in range(1, 4)
        ],
        "\n",
    ),
    "nor are numbered sections": (
        ["Minutes\n\nAll came.", "1. Budget\nIt was cut. All agreed.", "2. Site\nNo site fits."],
        "\n\n",
    ),
    "numbers after bullets begin another list": (
        ["You need:\n\n- water\n- soap", "1. Fill it.\n2. Run it."],
        "\n\n",
    ),
    "steps that begin again are another list": (
        ["If hot:\n1. Stop.\n2. Wait.", "If cold:\n1. Start.\n2. Fill.\n3. Shut.", "Cool:\n- Go."],
        "\n\n",
    ),
    "also behind a step without a full stop": (["Hot:\n1. Stop\n2. Wait", "Cold:\n1. Go"], "\n"),
    "a definition stays with its term": (["Pro\n: It is 5", "Max\n: It is 9. A lot."], "\n"),
    "also a plain one": (["It is 5.", "[1] Free as [2].", "[2] Nine [3]\n[4] a day."], "\n"),
    "each footnote is one": (["It is 5.[^1]", "So.", "[^1]: Free. Or not.", "[^b]: 9. A."], "\n"),
    "headings by signs": (["# Pump\n\n## Parts\n\nIt has three.", "All are metal."], " "),
    "a heading by a line under it": (["Parts\n=====\nIt has three."], ""),
    "a heading that stands alone": (["Spare parts\n\nIt has three."], ""),
    "so is one without capitals": (["退款\n\n七天内退款。", "运费不退。"], ""),
    "so is a question": (["which parts are spare?\n\nAll three are. One is old."], ""),
    "a heading ends a list whose items have no full stop": (
        ["You need:\n- water\n- soap", "# Steps\n\nFill it.", "Run it."],
        "\n",
    ),
    "bold with a mark of its own inside is a heading": (
        ["**What ends it?** Damage does.", "**All** of it.", "So do races."],
        " ",
    ),
    "a numbered paragraph is one": (["§ 6 Aircraft. Drones are forbidden.", "So are kites."], " "),
    "fenced code stays with its line": ([FENCED, "It works."], "\n\n"),
    "indented code stays with its line": (["Hello.", INDENTED, "Restart."], "\n\n"),
    "indented prose is no code": (["    The tower is old.", "It was lit\n    in 1881."], " "),
    "a fence that is never closed is text": (["```\nHe sang.", "She danced."], " "),
    "a table stays with header and caption": (["All can be cancelled.", TABLE], "\n\n"),
    "so does one of a wiki": (["{| class=x\n! A !! B\n|-\n| 1 || 2\n|}", "So."], "\n\n"),
    "so do columns between tabs": (["Sales by quarter\nQ1\t100\nQ2\t120"], ""),
    "a question stays with its short answer": (ANSWERS, "\n\n"),
    "and not with what follows that": (["How much?\n\nA cent. No more.", "It rained."], "\n\n"),
    "a mail's header is one": (["From: Al\nTo: Bo\nSubject: Up. No.", "Hi,", "it is."], "\n\n"),
    "each turn of a chat is one": (["[10:02] Al: Did it? No.", "[10:03] Tom: No. It fell."], "\n"),
    "also between blank lines": (["Al: Hi. You?", "Bo: Me.", "Al: Oh. Hm."], "\n\n"),
    "each entry of a log is one": (LOG, "\n"),
    "so is each of the JVM's": (
        ["[0.044s][info][gc] A. B.", "[0.045s][info][os] B. C.", "[0.047s][info][os] A. B."],
        "\n",
    ),
    "a line break inside a sentence does not split it": (PDF, " "),
    "initials that begin lines are no list": (["He met\nJ. Crofts and\nD. Seals there."], ""),
    "a wrapped item is whole, prose after the list is not in it": (
        ["Safety\n1. Switch it off and pull the\nplug.\n2. Wait. Then\nopen it.", "It is wet."],
        "\n",
    ),
    "a section's title goes with its first clause, a clause with what it leads to": (
        [
            "1. FEES\n\n1.1 They are due on the first day of each month, in advance, by transfer.",
            "1.2 If they are late, we may:\n\n(a) ask again;\n\n(b) leave.",
            "2. USE\n\n2.1 You are sixteen or older when you begin to use it, or ask a parent.",
            "2.2 You shall not:\n\n2.2.1 share it;\n\n2.2.2 copy it, but for:\n\n2.2.2.1 a school;",
            "2.3 All else is yours.",
        ],
        "\n\n",
    ),
    "a clause's label is no sentence": (["B5. Breeding and birth.", "B6. Food.", "Toys."], " "),
    "nor is its number": (["It ends.", "3.2. It is due.", "10.12.1. It is late."], "\n"),
    "German abbreviations end none": (["Er mag z.B. Obst und Tee.", "Sie mag das nicht."], " "),
}


@pytest.mark.parametrize("name", CASES)
def test_what_belongs_together_is_one_segment(name: str) -> None:
    """Prose goes by sentences."""
    segments, between = CASES[name]
    text = between.join(segments)

    assert [segment.strip() for segment in segments] == blocks(text)


def test_prose_goes_by_sentences() -> None:
    """Paragraphs without any structure are split as `Sentences` splits them."""
    text = "Dr. Seals met J. Crofts. They\nsang.\n\nShe danced! In 1998. It rained – a lot."
    whole = [Segment.whole(Document("d", text))]

    assert Sentences()(QUERY, whole) == Blocks()(QUERY, whole)


def test_what_is_too_long_is_cut() -> None:
    """Tables into rows, lists between items, heads with the first; chapters are prose."""
    table = "\n".join(["| n | v |", "| - | - |", *ROWS])
    items = "You need:\n- one. It\n- two\n- three\n- four"
    chapter = blocks("## Why?\n\nSo it is. " + "He sang of it. " * 50)
    turns = blocks(f"GROSS: {'He sang it. ' * 30}\nEHRMAN: Right. So it is.\nGROSS: Thanks.")

    assert [f"| n | v |\n| - | - |\n{ROWS[0]}", *ROWS[1:]] == blocks(table, max_chars=60)
    assert ["You need:\n- one. It\n- two", "- three\n- four"] == blocks(items, max_chars=25)
    assert ("## Why?\n\nSo it is.", 51) == (chapter[0], len(chapter))
    assert ["He sang it.", "EHRMAN: Right. So it is.", "GROSS: Thanks."] == turns[-3:]
    assert ("GROSS: He sang it.", 32) == (turns[0], len(turns))


@settings(max_examples=150, deadline=None)
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


HOSTILE: dict[str, Callable[[int], str]] = {
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
def test_hostile_text_is_split_in_time_by_its_length(name: str) -> None:
    """It does not grow by the square."""
    assert is_linear(lambda size: blocks(HOSTILE[name](size)), 10_000)


@pytest.mark.parametrize("line", ["\n", " \n", "\t\r\n"])
def test_many_blank_lines_are_as_few(line: str) -> None:
    """Whatever stands before and behind."""
    many, few = (f"a:\n- b\n{line * n}- c\n{line * n}d." for n in (10**5, 3))
    words = [word for block in blocks(many) for word in block.split()]

    assert [word for block in blocks(few) for word in block.split()] == words
