"""Notes go with what they are on, and what they are on with them."""

import pytest

from ragsieve.split.blocks import Blocks
from ragsieve.structure.notes import behind, companions
from ragsieve.types import Document, Query, Segment

NOTES = [
    ("Ships wait a day.[^3] It rains.\n\n[^3]: Half of them.\n", "[^3]"),
    ("The quay is of concrete [4]. It rains.\n\n[4] Minutes of 4 May.\n", "[4]"),
    ("It carried 4 million tonnes.¹ It rains.\n\n¹ Without fish.\n", "¹"),
    ("Day | 9 (b)\nWeek | 30\n\nIt rains.\n\n(b) Not in August.\n", "(b)"),
    ("Adults pay 4 EUR 1). It rains.\n\n1) Not before nine.\n", "1)"),
    ("Entry is 5<sup>2</sup> EUR. It rains.\n\n<sup>2</sup> Free for some.\n", "<sup>2</sup>"),
    ("Tour;Price\nAl†;3\nBo†;4\nCy;5\n\nIt rains.\n\n† Not in July.\n", "†"),
    ("Growth was 4% e/ in May. It rains.\n\ne/ A guess.\n", "e/"),
]
NONE = [
    "It is **bold** here.\n\n** so.\n",
    "* one\n* two\n\nIt costs 5*.\n",
    "See (a), (a) and (a).\n\nNo (a).\n\nOr (a)?\n\n(a) A letter.\n\nIt has (a). Is (a) it?\n",
]


def units(text):
    return Blocks()(Query("?"), [Segment.whole(Document("d", text))])


@pytest.mark.parametrize(("text", "sign"), NOTES)
def test_a_note_goes_with_its_mark_both_ways(text, sign):
    """Whatever the sign is, and no other sentence goes with them."""
    some = units(text)
    note = some[-1]
    marked = next(unit for unit in some if sign in unit.text)

    assert {note.key: sign} == companions({marked.key}, some)
    assert {marked.key: sign} == companions({note.key}, some)
    assert [marked, note] == behind([marked, *(s for s in some if s not in (marked, note)), note])[
        :2
    ]


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_mark_goes_with_nothing(text):
    """Bold words, bullets, and a letter that many places name."""
    some = units(text)

    assert not companions({some[0].key}, some)


TERMS = """\
1.1 "Plant" means the two lines.

1.2 "Critical Fault" means that a line stands.

2.1 The Firm comes on a Critical Fault at once. It rains.
"""
LEGEND = """\
Notes              W      F
Inn        0900   2010   2215

W   does not run in July
F   runs on Fridays only

It rains. A cat F sleeps.
"""


@pytest.mark.parametrize(("text", "told", "found"), [(TERMS, 2, ["1.2"]), (LEGEND, 0, ["W  "])])
def test_what_defines_a_term_or_a_code_goes_with_what_has_it(text, told, found):
    """And nothing goes with the definition."""
    some = units(text)
    keys = companions({some[told].key}, some)

    assert found == [unit.text[:3] for unit in some if unit.key in keys]
    assert not companions({unit.key for unit in some if unit.text[:3] in found}, some)
