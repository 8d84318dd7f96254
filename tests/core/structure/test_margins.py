"""What every line of a file begins with, as tools show it, comes off before the file is read."""

import inspect

import pytest

from ragsieve import structure, types
from ragsieve.structure.margins import pieces

FILE = inspect.getsource(types)
LINES = FILE.splitlines()


def shown(margin, before="", behind=""):
    return before + "\n".join(margin.format(n=n) + own for n, own in enumerate(LINES, 1)) + behind


MARGINS = """{n}\t
{n:6}→
{n:>4} |_
L{n}:_
[{n}]_
{n:04d}__
src/types.py:{n}:
{n}._
4f1c02ab (Ann Lee 2026-11-02 {n:>3})_
{n}\t>_
>_{n:3}:_"""
LISTS = """1. Open the lid./2. Fill it./3. Close the lid.
1\tAnn\t23/2\tBob\t31/3\tCy\t7
id | name/1 | Ann/2 | Bob/3 | Cy
0    Ann  23/1  Peter  31/2     Cy   7
Room 201: Ann/Room 202: Bob/Room 203: Cy
10:00:01 up/10:00:02 up/10:00:03 down
> Hello,/> are you there?/> Yes./> Good.
§ 1 Paths.//§ 2 Dogs.//§ 3 Kites.//§ 4"""


@pytest.mark.parametrize("margin", MARGINS.replace("_", " ").split("\n"))
def test_margins_come_off_and_places_lead_back(margin):
    """Whatever begins each line, what is read is the file, and each place the same character."""
    text = shown(margin, "<file>\n", "\n</file>")
    _, part, _ = pieces(text)

    assert FILE.rstrip() == part.text.rstrip()
    assert part.text == "".join(text[part.on(place)] for place in range(len(part.text)))


@pytest.mark.parametrize("text", [one.replace("/", "\n") for one in LISTS.split("\n")])
def test_numbers_that_say_something_stay(text):
    """Lists, tables, rooms, times and quotes are no margins."""
    assert text == pieces(text)[0].text


def test_a_gap_says_which_lines_are_left_out():
    """What is kept of a file has its numbers, and the mark between them the others."""
    text = shown("{n}\t")
    spans = [(text.index(f"\n{n}\t") + 1, text.index(f"\n{n + 1}\t")) for n in (3, 19)]
    lines = structure.joined(text, spans).splitlines()

    assert ["# … 1–2", f"3\t{LINES[2]}", "# … 4–18"] == lines[:3]
