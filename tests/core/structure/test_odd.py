"""What is unlike its neighbours stays, where the question picks none of these."""

from random import Random

import pytest

from ragsieve.split.blocks import Blocks
from ragsieve.structure.odd import odd_keys
from ragsieve.types import Document, Query, Segment

FAULTS = [
    "has no customer", "skipped 3 rows", "duplicate key 4711", "killed", "took 940 seconds",
    "gave up after three attempts", "rejected by the bank", "unexpected end of file", "rolled back",
]  # fmt: skip
STATES = ["CrashLoopBackOff", "ImagePullBackOff", "Pending", "Evicted"]
ROWS = {  # a row among others, as numbers and words are drawn; what is odd; with it
    "import": ("{t} import: batch {n} {x}", "stored {n} rows"),
    "levels": ("{t}Z [worker-{k}] INFO  order {n} {x}", "packed for customer {w}"),
    "syslog": ("Nov  2 {t} box-{k} sync[{n}]: file /srv/{w}/{n}.csv {x}", "done in {k} ms"),
    "logfmt": ('level=info ts={t} msg="{x}" job={n}', "job done"),
    "JSON": ('{{"time": "{t}", "job": {n}, "state": "{x}"}}', "done"),
    "CSV": ("{n},{w},{x},{k}", "stored"),
}


def odd(question, text):
    units = Blocks()(Query(question), [Segment.whole(Document("d", text))])
    keys = odd_keys(question, units)
    return [unit.text for unit in units if unit.key in keys]


def rows(kind, fault, size, seed):
    draw = Random(seed)
    form, usual = ROWS[kind]
    at = draw.randrange(2, size - 2)
    lines = []
    for place in range(size):
        told = {"t": f"10:{place // 60:02}:{place % 60:02}", "k": draw.randrange(4)}
        told |= {"n": draw.randrange(100, 999), "w": draw.choice(["north", "south", "east"])}
        said = fault if place == at else usual.format(**told)
        lines.append(form.format(x=said, **told))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ROWS)
def test_the_one_line_that_says_something_else_is_odd(kind):
    """Whatever its words are, in the lines of anybody; few others are."""
    for seed, fault in enumerate(FAULTS):
        text = rows(kind, fault, 60, seed)
        found = odd("Is everything fine?", text)

        assert any(fault in line for line in found)
        assert sum(line.count("\n") + 1 for line in found) <= 4


@pytest.mark.parametrize("size", [24, 40])
def test_the_one_row_with_another_state_is_odd(size):
    """Of a table whose other columns have few values, many, or numbers alone."""
    for seed, state in enumerate(STATES):
        draw = Random(seed)
        at = draw.randrange(size)
        head = f"{'NAME':24}READY   STATUS            RESTARTS\n"
        table = "".join(
            f"{draw.choice(['cart', 'web'])}-{draw.randrange(16**8):08x}".ljust(24)
            + f"{int(n != at)}/1     {state if n == at else 'Running':18}{draw.choice([0, 0, 1])}\n"
            for n in range(size)
        )

        (found,) = (line for line in odd("Customers cannot pay.", head + table) if state in line)
        assert found.count("\n") <= 1


@pytest.mark.parametrize(
    ("fault", "others"),
    [
        ("100%", "20% 22% 21% 25% 28% 24% 27% 26% 23% 29% 30%"),  # far from the others
        ("71.3", "3.9 0.0 0.3 0.1 0.0 0.0 0.1 0.3 0.0 0.2 2.6"),  # more than all of them
        ("503", "200 200 200 200 200 200 200 200 200 200 200"),  # alone
        ("0/1", "1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1 1/1"),
    ],
)
def test_a_number_unlike_the_others_is_odd(fault, others):
    """Of one unit: a disk that is full among others."""
    values = [*others.split()[:5], fault, *others.split()[5:]]
    rows = (f"/dev/sd{n:02}  100G  {value}  /data/{n}\n" for n, value in enumerate(values))

    assert [f"/dev/sd05  100G  {fault}  /data/5"] == odd(
        "Uploads fail.", f"Name       Size  Use%  Place\n{''.join(rows)}"
    )


@pytest.mark.parametrize("between", [" | ", "   ", "\t", " │ "])
def test_rows_have_cells_whatever_words_stand_in_them(between):
    """Of which few lines have as many."""
    for seed in range(8):
        draw = Random(seed)
        places = [f"{'pier of ' * draw.randrange(7)}{draw.random()}" for _ in range(24)]
        rows = [[f"gate {n}", place, "free", f"{n}.5 m"] for n, place in enumerate(places)]
        rows[8 + seed][2] = "jammed"

        found = odd("Is all well?", "\n".join(map(between.join, rows)))

        assert sum("jammed" in row for row in found) == 1 and len(found) <= 3


def test_what_is_asked_for_needs_nothing_odd():
    """Words of the question that some usual lines have pick these."""
    text = rows("levels", "killed", 60, 1)

    assert odd("What happened?", text)
    assert odd("grep north\nWhat happened?", text)
    assert not odd("Which orders were packed for north?", text)

    fields = "".join(f"disk_size_{n}:{n}\ncpu_temp_{n}:{n}\n" for n in range(8))
    fields += "boot_mode:safe (kernel 6)\n"

    assert odd("What happened?", fields)
    assert not odd("What size has it?", fields)
    assert odd("What size has it?", fields.replace("kernel", "size"))


def test_what_is_rare_beside_a_word_that_lines_share_is_odd():
    """However many words they have before or behind it."""
    lines = [f"//t{n}:all {'again ' * (n % 4)}PASSED in 0.{n} s" for n in range(24)]

    text = "\n".join([*lines[:9], "//t9:one TIMEOUT in 300 s", *lines[9:]])

    assert ["//t9:one TIMEOUT in 300 s"] == odd("Is all well?", text)


PROSE = """\
The pier was closed in March because of the storm.
It took six weeks to mend the planks, and the rails were painted.
The harbour master asked for a second coat.
Nobody had planned for it, and it cost nine thousand euros.
In May the band will play at noon.
Fishers land their catch on the north side before five.
A crane of 1911 still stands there; it lifts three tonnes.
Children may not climb it.
Two boats carry visitors to the island, and one carries the mail.
When the wind is strong neither of them leaves.
"""


@pytest.mark.parametrize(
    "text",
    [
        rows("import", "stored 100 rows", 60, 1),
        PROSE,
        "All backups\nID    Time   Size\n"
        + "".join(f"a{n}    0{n}:00  {n} MiB\n" for n in range(20)),
        "".join(f"{name} likes {thing}.\n" for name in "abcdefgh" for thing in "ijklmn"),
    ],
)
def test_nothing_is_odd_where_all_or_none_are_alike(text):
    """A log that is well, prose, and a table below its title."""
    assert not odd("What went wrong?", text)
