"""Rows that SQL gives for a predicate, and rows kept for the same predicate in words.

DuckDB is the judge. `SEEN` are the wordings that the reader of conditions was written against;
`HELD` were written down before it and are only measured.
"""

import datetime
import json
import random
import re
from pathlib import Path

import duckdb
import pytest

from ragsieve import Document, Pipeline, Query, Segment, split
from ragsieve.systems.rows import Rows

WORDINGS = json.loads((Path(__file__).parents[2] / "rows_wordings.json").read_bytes())
SEEN = WORDINGS["seen"]
HELD = WORDINGS["held"]
ROWS = 60
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "ves", "dor", "pel", "sa", "gri", "nom", "bex")


def word(draw):
    """A word of no language."""
    return "".join(draw.choices(_SYLLABLES, k=draw.choice((2, 3))))


def table(draw):
    """Columns and rows: a number of its own, two of words, two of numbers, a date."""
    nouns = draw.sample(("ticket", "parcel", "reading", "invoice", "shift", "device"), 1)
    words = draw.sample(("owner", "region", "state", "colour", "team", "vendor"), 2)
    numbers = draw.sample(("weight", "score", "duration", "level", "price", "distance"), 2)
    own = draw.sample(range(10_000, 99_999), ROWS)
    kinds = [[word(draw).title() for _ in range(6)] for _ in words]
    scale = draw.choice((1, 10, 0.1))
    day = datetime.date(2026, 1, 1)
    rows = [
        (
            number,
            *(draw.choice(some) for some in kinds),
            draw.randrange(1, 900),
            round(draw.randrange(1, 9000) * scale, 1),
            day + datetime.timedelta(days=draw.randrange(300)),
        )
        for number in own
    ]
    return [*nouns, *words, *numbers, "day"], rows


def predicates(draw, rows):
    """Sign, column, one or two values and the SQL of a predicate."""
    column = draw.choice((0, 1, 2))
    a, b = draw.sample(sorted({row[column] for row in rows}, key=str), 2)
    yield "=", column, a, b, "{c} = {a}"
    yield "in", column, a, b, "{c} in ({a}, {b})"
    yield "<>", (column := draw.choice((1, 2))), draw.choice(rows)[column], "", "{c} <> {a}"
    column = draw.choice((3, 4))
    values = sorted({row[column] for row in rows}, key=lambda value: float(str(value)))
    low, high = values[draw.randrange(3, 9)], values[-draw.randrange(3, 9)]
    for sign in (">", ">="):
        yield sign, column, high, "", f"{{c}} {sign} {{a}}"
    for sign in ("<", "<="):
        yield sign, column, low, "", f"{{c}} {sign} {{a}}"
    yield "between", column, *values[9:14:4], "{c} between {a} and {b}"
    days = sorted({row[5] for row in rows}, key=str)
    yield "after", 5, days[-6], "", "{c} > {a}"
    yield "before", 5, days[5], "", "{c} < {a}"
    yield "during", 5, days[9], days[12], "{c} between {a} and {b}"


def laid(draw, names, rows):
    """The rows in one of seven layouts."""
    cells = [[str(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    padded = [[c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in [names, *cells]]
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    rule = ["-" * width for width in widths]
    log = [
        f"{row[5]}T09:00:00Z INFO "
        + " ".join(f"{name}={cell}" for name, cell in zip(names[:5], row, strict=False))
        for row in cells
    ]
    return draw.choice(
        (
            "\n".join(",".join(row) for row in [names, *cells]),
            "\n".join(json.dumps(one, default=str) for one in objects),
            json.dumps({"total": len(rows), "items": objects}, indent=2, default=str),
            "\n".join(f"| {' | '.join(row)} |" for row in [names, rule, *cells]),
            "\n".join(" | ".join(row) for row in [padded[0], rule, *padded[1:]]),
            "\n".join("  ".join(row).rstrip() for row in padded),
            "\n".join(log),
        )
    )


def literal(value):
    """A value in SQL."""
    return str(value) if isinstance(value, int | float) else f"'{value}'"


def kept(question, text):
    """What the conditions alone keep, without a net."""
    sieve = Pipeline(split.Blocks(), Rows())
    found = sieve(Query(question), [Segment.whole(Document("d", text))])
    return "\n".join(segment.text for segment in found)


def outcomes(wordings, *, seed=11, draws=25, run=kept):
    """A question, the rows that SQL gives, and those that a filter keeps."""
    draw = random.Random(seed)
    for _ in range(draws):
        names, rows = table(draw)
        base = duckdb.connect()
        kinds = ("bigint", "varchar", "varchar", "double", "double", "date")
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
        base.execute(f"create table t ({columns})")
        base.executemany("insert into t values (?, ?, ?, ?, ?, ?)", rows)
        own = names[0]
        for sign, column, a, b, sql in predicates(draw, rows):
            said = {"rows": f"{own}s", "row": own, "column": names[column], "a": a, "b": b}
            question = draw.choice(wordings[sign]).format(**said)
            where = sql.format(c=names[column], a=literal(a), b=literal(b))
            found = base.execute(f"select {own} from t where {where}").fetchall()
            shown = run(question, laid(draw, names, rows))
            numbers = {int(number) for number in re.findall(r"(?<!\d)\d{5}(?!\d)", shown)}
            yield f"{sign}: {question}", {row[0] for row in found}, numbers & {r[0] for r in rows}


@pytest.mark.parametrize(
    ("wordings", "least", "most"), [(SEEN, 0.97, 0.02), (HELD, 0.9, 0.2)], ids=["seen", "held out"]
)
def test_rows_of_sql_are_kept(wordings, least, most, record_property):
    """All rows that SQL gives are kept for nearly all questions, and few others."""
    found = [*outcomes(wordings)]
    right = sum(wanted <= kept for _, wanted, kept in found) / len(found)
    more = sum(len(kept - wanted) for _, wanted, kept in found) / (ROWS * len(found))
    record_property("right", right)
    record_property("more", more)

    assert right >= least, [question for question, wanted, kept in found if not wanted <= kept][:20]
    assert more <= most
