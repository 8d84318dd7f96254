"""Which segments are copies: one table."""

import pytest

from ragsieve.select import Copies
from ragsieve.split import Blocks
from ragsieve.trace import step
from ragsieve.types import Document, Query, Segment
from tests.timing import is_linear

FEE = "The pier fee is 14 euros a night."
LONG = "Guests who leave after noon pay for one more night at the full price of the season."
CUT, REST = LONG[:35], LONG[28:]


def segments(*documents):
    """Blocks of documents: ``text``, ``title||text`` or ``title@source||text``."""
    whole = []
    for n, one in enumerate(documents):
        about, _, text = one.rpartition("||")
        title, _, source = about.partition("@")
        whole.append(Document(f"{n}", text, title, source, rank=n))
    return Blocks()(Query("q"), [Segment.whole(document) for document in whole])


@pytest.mark.parametrize(
    ("documents", "dropped"),
    [
        ([FEE, FEE, FEE], [1, 2]),
        ([FEE, "the  pier fee is 14 Euros a night"], [1]),
        ([FEE, FEE.replace(" is ", "\nis ")], [1]),
        (["| a | fee |\n|---|---|\n| b | 5 |", "| a | fee  |\n| --- | :-- |\n| b | 5 |"], [1]),
        (["- mail for all\n- a pool", "* mail for all\n* a pool"], [1]),
        ([f"# Pier\n\n# Pier\n\n{FEE}", f"Pier||{FEE}", f"# Pier\n\n{FEE}"], [1, 2]),
        (["| a | fee |\n|---|---|\n| b | 5 |", "| a | fee |\n|---|---|\n| b | 6 |"], []),
        ([f"Dogs are free. {FEE}", f"{FEE} The pool is closed."], [2]),
        ([f"Pier||{FEE}", FEE, f"Pier||{FEE}"], [2]),
        (["“Café” — Open!", '"Cafe\u0301" - Open'], [1]),
        ([f"Pier||Pay late. {LONG}", f"Pier||{REST}"], [2]),
        ([f"@a.md||{LONG}", f"@a.md||{CUT}"], [1]),
        ([f"Pier||## Fees\n\nPay late. {LONG}", f"Pier||{LONG}"], [2]),
        ([f"{LONG} Or so. {LONG}"], [2]),
        (["Basic has mail. It costs 9 euros.", "Basic has mail. It costs 9 euros."], [2, 3]),
        (["泊位费每晚十四元。", "泊位费每晚十四元"], [1]),
        ([FEE, "The pier fee is 15 euros a night."], []),
        ([FEE, "The pier fee is not 14 euros a night."], []),
        (["It fell by 5 degrees.", "It fell by -5 degrees."], []),
        (["C is fast.", "C++ is fast."], []),
        ([f"Port Lorne||{FEE}", f"Ashby||{FEE}"], []),
        ([f"## Lorne\n\nRates. {FEE}\n\n## Ashby\n\nPrices. {FEE}"], []),
        ([f"# Lorne\n\n## Fees\n\nA. {FEE}\n\n# Ashby\n\n## Fees\n\nB. {FEE}"], []),
        (["Basic has mail. It costs 9 euros.", "Mini has none. It costs 9 euros."], []),
        (["Ann: Is it late? Yes. Ann: Is it dear? Yes."], []),
        (["if a:\n    b()\nc()", "if a:\n    b()\n    c()"], []),
        (["day   in   out\nMon   5", "day   in   out\nMon        5"], []),
        ([f"# C\n\n{FEE}", f"# C#\n\n{FEE}"], []),
        ([LONG, CUT, REST], []),
        ([f"Pier@a.md||{LONG}", f"Pier@b.md||{CUT}"], []),
        ([f"## Lies\n\nOld ones. {FEE}", FEE], []),
        ([f"Pier||Pay late. {LONG}\n\n## Lies\n\nOld ones. {LONG}"], []),
        ([f"Pier||{LONG}", "Pier||one more night at the full price"], []),
        (["T||Members may swim here after dark.", "T||No members may swim here after dark."], []),
        (["T||All bridges of Oslo are safe.", "T||All bridges of Oslo are safe on paper."], []),
        (["…", "…"], []),
        ([") ) ) ) ) )", ") ) ) ) ) )"], [1]),
        ([], []),
    ],
)  # fmt: skip
def test_the_same_words_are_kept_once(documents, dropped):
    """Unless they say something else where they stand; the trace names the copies."""
    given = segments(*documents)
    with step("s", given) as record:
        kept = Copies()(Query("q"), given)
        record.after = tuple(kept)

    assert [s for n, s in enumerate(given) if n not in dropped] == kept
    assert all("a copy of" in drop.reason for drop in record.dropped)


SIGNS = [pair.split(" | ") for pair in (
    ".5 mg | 5 mg", "is –5 °C | is 5 °C", "is -$5 | is $5", "10⁶ | 106", "10⁻⁶ | 10⁶",
    "log₂8 | log28", "①2 cups | 12 cups", "1½ cups | 11⁄2 cups", "2 * 3 | 2 3", "5…10 | 5 10",
    "5' long | 5\" long", "(500) million | 500 million", "[0, 1) | [0, 1]", "1, 500 | 1 500",
    "5 MW | 5 mW", "10 MB | 10 Mb", "vitamin A | vitamin", "plan a. | plan.", "5a is | 5 is",
    "5 of 10 | 5 and 10", "1 per 10 | 1 10", "end of war | end and war", "a few can | few can",
    "guilty. | guilty?", "no, dogs are | no dogs are", "x != y | x = y",
    "if !a stop | if a stop", "a -> b | a > b", "f'(x) is | f(x) is", "y = -x | y = x",
    "type O- is | type O is", ".NET is | NET is", "n! is | n is",
)]  # fmt: skip
TYPOGRAPHY = [pair.split(" | ") for pair in (
    "5–10 pages | 5-10 pages", "**5** euros | 5 euros!", "5 O’CLOCK | 5 o'clock.",
    "a “fee” is | a \"fee\" is", "a _fee_ | a fee",
)]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        *((f"It says {one}", f"It says {other}", None) for one, other in SIGNS),
        *((f"It says: {one}", f"It says: {other}", 1) for one, other in TYPOGRAPHY),
    ],
)
def test_a_sign_makes_another_sentence_and_typography_none(one, other, kept):
    """As does a small word beside a number, and a letter that only looks like an article; quotes,
    dashes, emphasis, the case of longer words and the full stop make none."""
    given = segments(one, other)

    assert given[:kept] == Copies()(Query("q"), given)


def test_the_best_of_the_copies_stays():
    """By score, then by place; the reason says where."""
    given = [s.scored("s", n) for s, n in zip(segments(FEE, FEE, FEE), (1, 2, 2), strict=True)]
    with step("s", given) as record:
        record.after = tuple(Copies()(Query("q"), given))

    assert [given[1]] == [*record.after]
    assert {f"a copy of 0:{len(FEE)} of document '1'"} == {d.reason for d in record.dropped}


@pytest.mark.slow
@pytest.mark.parametrize("head", ["# word ", " " * 20])
def test_what_stands_above_copies_is_read_once(head):
    """However long a heading is, or the white space before a text."""

    def read(size):
        given = segments(head * (size // 10) + f"\n\n{LONG.lower()} It is so. " * (size // 200))
        Copies()(Query("q"), given)

    assert is_linear(read)
