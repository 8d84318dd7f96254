"""Conditions of a question on rows, and the tables of words that they are read by."""

import csv
import io
import json

import pytest

from ragsieve.structure import joined
from ragsieve.structure.cells import runs
from ragsieve.structure.conditions import read
from ragsieve.structure.words import table
from ragsieve.types import Layout

FLIGHTS = """flight,from,to,price,departs
AB1,Oslo,Lyon,120,2026-05-01T08:00
AB2,Lyon,Oslo,90,2026-05-01T18:30
AB3,Graz,Oslo,200,2026-05-02T07:15
AB4,Oslo,Graz,80,2026-05-03T21:00
AB5,Porto,Lyon,60,2026-05-04T12:00"""
FILES = """file,size,changed
a.bin,1.5 GB,01.04.2026
b.bin,300 MB,15.03.2026
c.log,20 KB,30.04.2026
d.log,2 GB,02.05.2026
e.txt,900 MB,03.05.2026"""
INVOICES = "invoice;total\nR-1;1.899,00\nR-2;2.500,50\nR-3;120,00\nR-4;99,90\nR-5;1.900,00"
PROJECTS = """project,state,licence
Curl,open,MIT
Vim,closed,Vim
Zsh,open,MIT
Git,closed,GPL
Awk,closed,GPL"""
NUMBERS = "id,name\nA-48213-7,foo\n48213,bar\nB-99,baz\nC-1,qux"
CALLS = """\
% time     calls    errors syscall
------ --------- --------- ----------------
 43.65      1647        47 newfstatat
  5.58       366        99 openat
  2.80       268           close
  0.04         3         3 ioctl
------ --------- --------- ----------------
100.00      2857       149 total"""
HOURS = "place,mon,tue\nPool (adults),10-20,9-13\nZoo,9-18,9-17\nBar,closed,9-20\nInn,14-20,9-18\n"
BOATS = """\
             1 hour   2 hours
ROWING
  Skiff        12        20
  Canoe        14        24
MOTOR
  Pike         55       100
  Raft         70       125
"""
ROSTER = "s = shop, n = at night\n\nname,Mon,Tue\nAda (s),s,n\nBen,n,s\nCy,,s\nDi,n,\n"
LOG = "\n".join(
    f"2026-05-01 08:{n:02d}:00 {'ERROR' if n % 7 == 0 else 'INFO'} job {2070 + n} "
    f"{'failed after' if n % 7 == 0 else 'finished in'} {n * 3 + 5} s on node-{n % 3}"
    for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "question", "rows"),
    [
        (FLIGHTS, "Which flights from Oslo to Lyon are there?", [0]),
        (FLIGHTS, "Which flights go to Oslo?", [1, 2]),
        (FLIGHTS, "Which flights cost between 80 and 120 euros?", [0, 1, 3]),
        (FLIGHTS, "Which flights are on May 1?", [0, 1]),
        (FLIGHTS, "Which flights leave after 6 in the evening?", [1, 3]),
        (FLIGHTS, "Are all flights to Oslo?", [0, 1, 2, 3, 4]),
        (FILES, "Which files are over 1 GB?", [0, 3]),
        (FILES, "Which files are smaller than 500MB?", [1, 2]),
        (FILES, "Which files changed in April?", [0, 2]),
        (FILES, "Which files are older than 1 April 2026?", [1]),
        (INVOICES, "Which invoices are over 1,899 euros?", [1, 4]),
        (INVOICES, "Welche Rechnungen sind über 1.899,00?", [1, 4]),
        (PROJECTS, "Which open source licence does Git have?", [3]),
        (PROJECTS, "Which open source licences are used?", [0, 1, 2, 3, 4]),
        (PROJECTS, "Which are not only closed but also GPL?", [3, 4]),
        (HOURS, "What does a ticket for adults cost?", [0, 1, 2, 3]),
        (NUMBERS, "What is 48213?", [1]),
        (NUMBERS, "What is 4821?", [0, 1, 2, 3]),
        (FLIGHTS, "Which flight has the highest price?", [0, 1, 2]),
        (FLIGHTS, "Which flight to Lyon has the lowest price, and when does it leave?", [0, 4]),
        (FLIGHTS, "What is the total of the highest prices?", [0, 1, 2, 3, 4]),
        (FLIGHTS, "Which flight has the most recent price?", [0, 1, 2, 3, 4]),
        (CALLS, "Which system call returned an error most often?", [0, 1, 4]),
        (LOG, "Which jobs failed?", [0, 7, 14]),
        (BOATS, "How much is rowing?", [0, 1, 2]),
        (BOATS, "What does the Pike cost?", [4]),
        (ROSTER, "Who works at night on Tuesday?", [0]),
        (ROSTER, "It's Monday. Who works at night?", [1, 3]),
        (ROSTER, "Who works on Tuesday but not at night?", [1, 2, 3]),
        (LOG, "Show the errors on node-1.", [7]),
        (LOG, "Which jobs took more than 50 s?", [16, 17, 18, 19]),
        (LOG, "What happened between 08:05 and 08:08?", [5, 6, 7, 8]),
    ],
)
def test_conditions_pick_rows(text, question, rows):
    """Values, comparisons with units and dates, denials, ends; what is not read leaves all rows."""
    (run,) = runs(text)

    assert rows == sorted(read(question, run).rows)


def test_hours_of_a_column_that_is_named_need_all_rows():
    (run,) = runs(HOURS)

    assert read("Which are open past 6 pm on Mondays?", run).whole
    assert not read("Which are open past 6 pm?", run).whole


COMPARED = {">": [2], ">=": [1, 2], "<": [0], "<=": [0, 1]}


@pytest.mark.parametrize(
    "word", [w for w in table() if w.relation in COMPARED and w.place != "date"], ids=str
)
def test_each_word_of_comparison_is_read_in_its_example(word):
    """A row of the table that did nothing would fail here."""
    (run,) = runs("order,amount\nA1,300\nA2,900\nA3,1200")

    assert COMPARED[word.relation] == sorted(read(word.example, run, word.language).rows)


OBJECTS = [
    {"id": 1, "by": {"name": "Ada, B.", "tags": ["a b", None]}, "at": 1.50, "note": 'a "x" \\'},
    {"id": 2, "by": {"name": "Ben", "tags": []}, "at": -0.0, "note": ""},
    {"id": 3, "by": None, "at": 1e6, "note": "ü", "error": {"code": 7}},
]


@pytest.mark.parametrize("indent", [None, 2])
def test_compact_rows_of_json_say_the_same(indent):
    """Nested values, null, missing keys and numbers as they were written."""
    text = json.dumps(OBJECTS, indent=indent).replace("1.5,", "1.50,")
    shown = joined(text, [(0, len(text))], Layout(compact=True))
    found = json.loads(shown)
    rows = [
        dict(zip(found["columns"], row, strict=False)) | dict(*row[len(found["columns"]) :])
        for row in found["rows"]
    ]

    assert rows == OBJECTS
    assert "1.50" in shown


def test_compact_rows_of_a_table_are_csv():
    """The rule and the padding go, a cell with a comma is in quotes."""
    rows = [["name", "says"], ["Ada", "yes, but"], ["Ben", "no"], ["Carla Maria", ""]]
    lines = [f"| {a:20} | {b:20} |" for a, b in rows]
    text = "\n".join([lines[0], "|---|---|", *lines[1:]])
    shown = joined(text, [(0, len(text))], Layout(compact=True))

    assert rows == [*csv.reader(io.StringIO(shown))]
