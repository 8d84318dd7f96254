"""A row is read with its columns' names, and counts by what of the question it has for itself."""

import json

import pytest

import ragsieve
from ragsieve.models.fake import OverlapPruner
from ragsieve.score.pruner import LEAST, Pruner
from ragsieve.split.blocks import Blocks
from ragsieve.structure.linearize import linearized, shares
from ragsieve.text import words
from ragsieve.types import Document, Query, Segment

NUMBERS = range(12)
PIPES = "| Name | Depth |\n|---|---|\n" + "".join(f"| berth {n} | {n} m deep |\n" for n in NUMBERS)
COMMAS = "Name,Depth\n" + "".join(f'"berth {n}, north",{n} m deep and wide\n' for n in NUMBERS)
TABS = "Name\tDepth\n" + "".join(f"berth {n} north\t{n} m deep and wide\n" for n in NUMBERS)
GAPS = "Name         Depth\n" + "".join(f"berth-{n:03} north  {n} m deep-wide\n" for n in NUMBERS)
CELLS = "".join(f"<tr><td>berth {n}</td><td><b>{n}</b> m</td></tr>\n" for n in NUMBERS)
HTML = f"<table>\n<tr><th>Name</th><th>Depth</th></tr>\n{CELLS}</table>"
READ = [
    (PIPES, "Name: berth 7; Depth: 7 m deep"),
    (f"# Port\n\nIt is:\n\n{PIPES}", "Name: berth 7; Depth: 7 m deep"),
    (COMMAS, "Name: berth 7, north; Depth: 7 m deep and wide"),
    (TABS, "Name: berth 7 north; Depth: 7 m deep and wide"),
    (GAPS, "Name: berth-007 north; Depth: 7 m deep-wide"),
    (HTML, "Name: berth 7; Depth: 7 m"),
    ("| Name | Depth |\n|---|---|\n" + "".join(
        f"| berth {n} | old: {n} m |\n| | new: {n + 1} m, {'it is wide, ' * 9} |\n" for n in NUMBERS
    ), f"Name: berth 7; Depth: old: 7 m\nName: ; Depth: new: 8 m, {('it is wide, ' * 9).strip()}"),
    ("Name\tCrane\tDepth\n" + "".join(f"b{n}\told\t{n}\n\tnew\t1{n}\n" for n in range(40)),
     "Name: b7; Crane: old; Depth: 7\nName: ; Crane: new; Depth: 17"),
    ("|Name|Crane|Depth|\n|-|-|-|\n" + "".join(f"|b{n}|old|{n}|\n||new||\n" for n in range(40)),
     "Name: b7; Crane: old; Depth: 7\nName: ; Crane: new; Depth:"),
    (json.dumps([{"name": f"berth {n}", "of": {"depth": n}} for n in NUMBERS], indent=2),
     "name: berth 7, of: depth: 7"),
    (json.dumps([{"name": f"berth {n}", "told": {"by": "It is so. " * 70}, "of": {"depth": n}}
     for n in NUMBERS]), "name: berth 7, of: depth: 7"),
    (PIPES.replace("7 m deep", "7 \\| x"), "Name: berth 7; Depth: 7 \\| x"),
    (PIPES.replace("7 m deep", "7 | x"), "| berth 7 | 7 | x |"),  # a cell too many: as it stands
]  # fmt: skip
RECORDS = [
    {"id": f"INC-{n}", "by": "Ann" if n < 6 else "Bo", "text": "It rained."} for n in NUMBERS
]
NAMES = [{"name": name, "text": "It is so. " * 20} for name in ("Zoe\u0308", "Ann", "Bo")]
ENTRIES = "".join(f"berth_{n}:\n  crane: type {n % 3}\n  depth: {800 + n}\n" for n in NUMBERS)

CODE = "".join(f"def {name}(x):\n    y = 'said {name}'\n    return y + x\n\n" for name in "fgh")


def units(text):
    return Blocks()(Query("?"), [Segment.whole(Document("d", text))])


@pytest.mark.parametrize("head", ["", '<th colspan="2">Port</th>'])
def test_cells_without_names_of_their_own_are_read_behind_each_other(head):
    text = HTML.replace("<th>Name</th><th>Depth</th>", head)

    assert "berth 7 7 m" in linearized(text, [(s.start, s.end) for s in units(text)])


@pytest.mark.parametrize(("text", "row"), READ)
def test_cells_are_read_behind_their_columns_names(text, row):
    """Whatever stands between them; prose beside a table as it is."""
    segments = units(text)
    read = linearized(text, [(s.start, s.end) for s in segments])

    assert row in read
    assert all(one in text for one in read if ": " not in one)


@pytest.mark.parametrize(
    ("text", "question", "best"),
    [
        (json.dumps(RECORDS), "Who wrote INC-7?", [7]),
        (json.dumps({"incidents": RECORDS}), "Which incidents has Ann and what is INC-3?", [3]),
        (json.dumps(RECORDS), "What happened?", [*NUMBERS]),  # nothing that one of them says
        (json.dumps(RECORDS), "What has Ann?", [*NUMBERS]),  # a word of half of them is not rare
        (PIPES, "What is the depth of berth 7?", [7]),
        (ENTRIES, "What depth has berth_4?", [4]),
        ("\n".join(f"Ticket: {n}\nStatus: open\nBy: Bo" for n in NUMBERS), "Who has 5?", [5]),
        (json.dumps(NAMES, ensure_ascii=False), "And Zo\u00eb?", [0]),
        (json.dumps(RECORDS).replace("INC-7", "runOldGrid"), "How old is a grid?", [7]),
        ("Berth 4 is deep. Berth 5 is not. It rains. It is old.", "Is berth 4 deep?", [0, 1, 2, 3]),
        (CODE, "g?", [0, 1, 2]),
    ],
)  # fmt: skip
def test_what_shares_the_rarer_words_stands_out(text, question, best):
    """Of records, rows and entries alone; the rest stays as it is, prose and code always."""
    spans = [(s.start, s.end) for s in units(text)]
    values = shares(question, text, spans)

    assert best == [n for n, value in enumerate(values) if value == 1]


def test_the_pruner_counts_other_rows_less():
    """Down to a share of their probability; each row is read with its columns' names."""
    query = Query("name depth berth 7")  # of whose four words other rows have three
    values = [s.score for s in Pruner(OverlapPruner())(query, units(PIPES))]

    assert [1.0] == values[7:8]
    assert pytest.approx([0.75 * LEAST] * 11) == [*values[:7], *values[8:]]


def test_sentences_of_one_string_are_no_records():
    """What answers begins with "It", and has no word of the question; escapes part no name."""
    depot = "The Uferweg depot lies by the river. It was opened in May. It costs 4 euros a day."
    others = [f"Trains leave from hall {n} every hour. There is a shop with maps." for n in "ABC"]
    text = json.dumps([*others, depot])
    kept = ragsieve.load("finefilter")("What does the Uferweg depot cost for a bicycle?", [text])

    assert "It costs 4 euros a day." in kept.text and "Trains" not in kept.text
    assert words(r"max\_tokens") == words("max_tokens")
