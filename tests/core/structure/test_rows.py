"""A table is read row by row, whatever program wrote it; the dialects are as those write them."""

from itertools import pairwise

import pytest

from ragsieve.structure import joined, outline, parts_of, pieces, verbatim
from ragsieve.structure.linearize import linearized
from ragsieve.structure.parts import parts
from ragsieve.types import Document, Segment

ROWS = [(f"A{n}", f"{11 + 7 * n} EUR", f"berth-{n % 3}") for n in range(1, 13)]


def table(row, head="", between="\n"):
    return head + between.join(row.format(*cells) for cells in ROWS)


LINE = "-" * 26
GAPPED = "------- ------- -------"
GRID = "+-----+--------+---------+"
LINES = "{:<8}{:<8}{}"
DIALECTS = {
    "Markdown": table("| {} | {} | {} |", "| Article | Price | Place |\n|:---|---|---|\n"),
    "html2text": table("{}| {}| {}  ", "Article| Price| Place  \n---|---|---  \n"),
    "a blank line": table("{} | {} | {}", "Article | Price | Place\n---|---|---\n\n"),
    "letters": table("| {} | {} | {} |", "| A | B | C |\n|-|-|-|\n| Article | Price | Place |\n"),
    "simple": table(LINES, f"Article Price   Place\n{GAPPED}\n"),
    "multiline": table(LINES, f"{LINE}\nArticle Price   Place\n{GAPPED}\n", "\n\n") + f"\n{LINE}",
    "RST": table(LINES, f"{GAPPED}\nArticle Price   Place\n{GAPPED}\n") + f"\n{GAPPED}",
    "grid": table(f"| {{}} | {{}} | {{}} |\n{GRID}", f"{GRID}\n|Article|Price|Place|\n{GRID}\n"),
    "wrapped": table(
        f"| {{}} | {{:.2}} | {{}} |\n| | EUR | |\n{GRID}",
        f"{GRID}\n|Article|Price|Place|\n{GRID}\n",
    ),
    "psql": table(
        "{:<7}| {:.2}   +| {}\n       | EUR   |", "Article| Price | Place\n-------+-------+--\n"
    ),
    "TeX": table(
        "{} & {} & {} \\\\", "\\begin{t}{lrr}\n\\hline\nArticle & Price & Place \\\\ \\hline\n"
    ),
    "boxes": table("┃ {} ┃ {} ┃ {} ┃", "┏━━┳━━┳━━┓\n┃ Article ┃ Price ┃ Place ┃\n┣━━╋━━╋━━┫\n"),
    "AsciiDoc": table("|{} |{} |{}", "|===\n|Article |Price |Place\n") + "\n|===",
    "cells in lines": table("|{}\n|{}\n|{}", "|===\n|Article |Price |Place\n\n", "\n\n") + "\n|===",
    "MediaWiki": table("|-\n| {}\n| {}\n| {}", "{|\n|-\n! Article\n! Price\n! Place\n") + "\n|}",
    "Jira": table("| {} | {} | {} |", "|| Article || Price || Place ||\n"),
    "Word's text": table("{}\n\n{}\n\n{}", "It follows.\n\nArticle\n\nPrice\n\nPlace\n\n", "\n\n"),
    "columns": table("{:>7} {:>7} {}", "Article   Price Place\n"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_row_is_read_behind_the_names_of_its_columns(dialect):
    """And shown below them; the rule is no row, and the first row no header of the others."""
    text = DIALECTS[dialect]
    (root,) = outline(text, small=True)
    spans = [(row.start, row.end) for row in root.children]
    said = [f"Article: {a}; Price: {b}; Place: {c}" for a, b, c in ROWS]

    assert said == linearized(text, spans, small=True)
    assert "Article" in joined(text, spans[5:6])

    stands = verbatim([Segment(Document("d", text), *spans[5])])
    shown = " ".join(text[a:b] for a, b in stands)

    assert all(word in shown for word in ("Article", *ROWS[5][::2]))
    assert ROWS[4][0] not in shown


SUMMARY = """Dep. Variable:         claim   No. Observations:       2000
Model:                   GLM   Df Residuals:           1995
Method:                 IRLS   Log-Likelihood:      -801.12
===========================================================
                 coef    std err          z      P>|z|
-----------------------------------------------------------
Intercept     -3.1022      0.212    -14.633      0.000
age           -0.0154      0.004     -3.850      0.000
km             0.0412      0.009      4.578      0.000
young          0.7110      0.201      3.537      0.000
"""


def test_a_name_of_two_words_is_one():
    """A header may have it above words, too."""
    text = "Land\tCustoms form\tDays\n" + "".join(f"{n}a\tyes\t{n}-9\n" for n in range(1, 6))

    assert ["Land\tCustoms form\tDays"] == [
        text[one.start : one.head] for one in outline(text, small=True)
    ]


def test_names_between_rules_stand_above_their_rows():
    """In a summary of several tables, though the first column has no name."""
    assert "std err" in joined(SUMMARY, [(SUMMARY.index("km"), SUMMARY.index("young"))])


@pytest.mark.parametrize("rule", ["-" * 84, "=" * 48])
def test_rules_divide_lines_that_are_no_table_together(rule):
    notes = ["", "", "      sent back"]
    items = "".join(f"{n:>2}  Part {n}{'':<20}[X]     [ ]{notes[n % 3]}\n" for n in range(1, 10))
    head = f"{'':<29} Wanted  Built   Note\n"
    above = f"PIER{'':<40}Form B\nOf parts\n{rule}\nFor:   Ann Lee       On:  4 May\n"
    above += (
        "By:       Ben\nWorks:         [ ] Shed   [X] Pier   [ ] Use\nAgent:   Cy (by letter)\n"
    )
    behind = "Decision:   ( ) all   (X) some\n            ( ) none\nUntil:   9 May\n"
    text = f"{above}{rule}\n{head}{items}{rule}\n{behind}"

    (table,) = (root for root in outline(text) if root.kind == "table")

    assert head.strip() == text[table.start : table.head] and len(table.children) == 9


PS = "USER       PID %CPU TTY      STAT COMMAND\n" + "\n".join(
    f"{'root' if n % 3 else 'www-data':<8} {n * 371:>5} {n / 7:4.1f} {'?' if n % 2 else 'pts/0':<8}"
    f" {'Ss' if n % 5 else 'R+':<4} /usr/bin/job{n} --of [{n}] in /srv/a" for n in range(1, 20)
)  # fmt: skip


def test_columns_whose_last_is_free_text_are_rows_and_no_sentences():
    """A mark inside a row, as that of no terminal in ``ps``, ends nothing."""
    (root,) = outline(PS)
    (row,) = linearized(PS, [(root.children[6].start, root.children[6].end)])

    assert row.startswith("USER: root; PID: 2597; %CPU: 1.0; TTY: ?; STAT: Ss; COMMAND: /usr/bin")


@pytest.mark.parametrize("rule", ["---|---\n", ""])
def test_a_first_row_like_all_others_heads_nothing(rule):
    """Not below a rule either."""
    text = rule + "\n".join(f"A{n}|{11 + n} EUR" for n in range(24))
    (root,) = outline(text, small=True)
    rows = linearized(text, [(row.start, row.end) for row in root.children])

    assert 24 == len(root.children)
    assert text.removeprefix(rule).split("\n") == rows


NESTED = """Tool 3.8.7
    tool.home = /usr/lib/jvm/java-17-openjdk-amd64
    tool.library.path = /usr/java/packages/lib
        /lib
        /usr/lib
    sun.tool.launcher = SUN_STANDARD
    sun.management.compiler = HotSpot 64-Bit Tiered Compilers
    user.home = /root
    user.name = root
"""


@pytest.mark.parametrize("text", [NESTED, PS])
def test_parts_of_parts_lie_in_them_one_behind_another(text):
    """Blank space before a tree is no part."""
    spans = [(0, len(text))]
    while spans:
        start, end = spans.pop()
        head, body, _ = parts_of(text, start, end)
        head, body, _ = (head, body, "") if body else parts(text, start, end)
        found = [*head, *body]

        assert all(start <= a < b <= end for a, b in found)
        assert all(one[1] <= other[0] for one, other in pairwise(found))
        spans += [one for one in found if one != (start, end)]


@pytest.mark.parametrize(
    ("groups", "names", "row"),
    [
        ("x -----memory---- --io--", " r    free   cache bi bo", " 1  {n}2387528  26{n}92  0 7{n}"),
        ("-dsk/total-- --net--", " read  writ|in out", "{n}20k   11k| 0   {n}"),
    ],
)
def test_groups_drawn_over_names_of_columns_stand_above_their_rows(groups, names, row):
    text = "\n".join([groups, names, *(row.format(n=n) for n in range(1, 9))])
    (table,) = outline(text, small=True)

    assert f"{groups}\n{names}" == text[table.start : table.head]


def test_a_table_of_heads_alone_is_read():
    """As an article whose markup was cut has it: the first line has no bar, and no row follows."""
    text = "Results\n! style; and\n! x|Leader\n! y|Votes\n! z|Seats\n! w|%\n! v|+/-"

    assert text == "".join(part.text for part in pieces(text))


CHECKED = """m.py:6: error: Wrong types in assignment (of type "str", variable "int")  [assignment]
m.py:9: error: Item "None" of "str | None" has no attribute "strip"  [union-attr]
m.py:9: error: Wrong type of return value (got "str | Any", expected "bool")  [return-value]
m.py:10: error: Missing return statement  [return]
m.py:16: error: Argument 1 to "pay" has another type "str"; expected "int"  [arg-type]
m.py:17: error: "Account" has no attribute "close"  [attr-defined]
"""


DATES = """Wed 2 Dec   Council, 19:30, library
Fri 4 Dec   Market in the yard, 15-18 h. Cakes by 14:30
Thu 10 Dec  Photographer (years 1 and 2)
Mon 4 Jan   School starts again at 8:00
"""
ZONE = """a.example.\t\t\t  3600 IN NS\tns1.example.
a.example.\t\t\t  3600 IN A\t\t203.0.113.10
a.example.\t\t\t  3600 IN MX\t10 mx.example.
mx.a.example.\t\t  300 IN A\t203.0.113.25
"""


ACCOUNTS = [f"job{n}:x:{n * 7}:{n}:Job {n}:/srv/job{n}" for n in range(9)]
HANGING = [f"{n:<3} .part{n:<4} 0000{n:04x}  2**{n % 4}\n{'':18}ALLOC, DATA" for n in range(12)]
OPTIONS = [f"--option-{n}   Keep what is as {n} is" for n in range(6)]
OPTIONS[3] += f"\n{'':15}while it is there"
LISTED = {  # what stands above the rows, and these
    "accounts, between colons": ("", ACCOUNTS),
    "sections of a binary, whose second line hangs": ("  Idx Name      Size      Algn", HANGING),
    "options, of which a last cell goes on": ("Options:", OPTIONS),
    "messages with a comma here and there": ("", CHECKED.splitlines()),
    "days": ("", DATES.splitlines()),
    "records that tabs only align": ("", ZONE.splitlines()),
}


@pytest.mark.parametrize("kind", LISTED)
def test_rows_are_divided_where_each_begins(kind):
    """Neither is a row cut, nor are two one; a first row, with digits or not, heads no others."""
    head, rows = LISTED[kind]
    text = "\n  ".join([head, *rows]) if head else "\n".join(rows)
    (root,) = outline(text, small=True)

    assert rows == [text[one.start : one.end] for one in root.children]
    assert head or root.start == root.head


WEEK = """              Monday         Tuesday        Wednesday
------------------------------------------------------
08.15-09.00   Reading        English        Assembly
09.00-09.45   Norwegian      Maths          Science
              RTv            OBø            LHa
09.45-10.10   break (yard)   break          break
              Duty: Kjersti  Duty: Omar     Duty: Pia
10.10-10.55   Swimming       Science        Norwegian
              KMo, bus 10.00 LHa            RTv
"""


def test_rows_of_two_lines_are_in_the_columns_of_their_table():
    (root,) = outline(WEEK, small=True)

    assert ("table", 4) == (root.kind, len(root.children))
    assert joined(WEEK, [(WEEK.index("KMo"), len(WEEK))]).startswith(f"{' ' * 14}Monday  ")
