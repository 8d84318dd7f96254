"""What every line of a file begins with, as tools show it, comes off before the file is read."""

from __future__ import annotations

import inspect

import pytest

from ragsieve import structure, types
from ragsieve.structure.margins import pieces

FILE = inspect.getsource(types)
LINES = FILE.splitlines()


def shown(margin: str, before: str = "", behind: str = "") -> str:
    return before + "\n".join(margin.format(n=n) + own for n, own in enumerate(LINES, 1)) + behind


@pytest.mark.parametrize(
    "margin",
    ["{n}\t", "{n:6}→", "{n:>4} | ", "L{n}: ", "[{n}] ", "{n:04d}  ", "src/types.py:{n}:"]
    + ["{n}. ", "4f1c02ab (Ann Lee 2026-11-02 {n:>3}) ", "{n}\t> ", "> {n:3}: "],
)
def test_margins_come_off_and_places_lead_back(margin: str) -> None:
    """Whatever begins each line, what is read is the file, and each place the same character."""
    text = shown(margin, "<file>\n", "\n</file>")
    _, part, _ = pieces(text)

    assert FILE.rstrip() == part.text.rstrip()
    assert part.text == "".join(text[part.on(place)] for place in range(len(part.text)))


@pytest.mark.parametrize(
    "text",
    ["1. Open the lid.\n2. Fill it.\n3. Close the lid.", "1\tAnn\t23\n2\tBob\t31\n3\tCy\t7"]
    + ["id | name\n1 | Ann\n2 | Bob\n3 | Cy", "0    Ann  23\n1  Peter  31\n2     Cy   7"]
    + ["Room 201: Ann\nRoom 202: Bob\nRoom 203: Cy", "10:00:01 up\n10:00:02 up\n10:00:03 down"]
    + [
        "> Hello,\n> are you there?\n> Yes.\n> Good.",
        "§ 1 Paths.\n\n§ 2 Dogs.\n\n§ 3 Kites.\n\n§ 4",
    ],
)
def test_numbers_that_say_something_stay(text: str) -> None:
    """Lists, tables, rooms, times and quotes are no margins."""
    assert text == pieces(text)[0].text


def test_a_gap_says_which_lines_are_left_out() -> None:
    """What is kept of a file has its numbers, and the mark between them the others."""
    text = shown("{n}\t")
    spans = [(text.index(f"\n{n}\t") + 1, text.index(f"\n{n + 1}\t")) for n in (3, 19)]

    assert structure.joined(text, spans).splitlines()[:3] == [
        "# … 1–2",
        "3\tfrom __future__ import annotations",
        "# … 4–18",
    ]
