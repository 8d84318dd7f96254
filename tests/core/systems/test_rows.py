"""Rows that conditions pick: what is kept, said and warned of."""

import json
from dataclasses import replace

import pytest

import ragsieve
from ragsieve.models.base import PASSAGE
from ragsieve.split.blocks import Blocks
from ragsieve.systems.rows import Rows
from ragsieve.types import Document, Layout, Query, Segment

ORDERS = [
    {"order": 500 + 7 * n, "customer": ("Ada", "Ben", "Carla")[n % 3], "amount": 10 * n}
    for n in range(60)
]
TEXT = "\n".join(["order,customer,amount", *(",".join(map(str, o.values())) for o in ORDERS)])
SIEVE = ragsieve.load("finefilter", "fake:echo", pruner="fake:pruner")


def test_all_rows_that_match_stay_and_the_mark_says_why():
    """The trace says it, too, and each row that went has a reason."""
    result = SIEVE("Which orders of Ada are over 300 EUR?", [TEXT])

    assert 9 == result.text.count(",Ada,")
    assert "… 9 of 60 rows: customer = Ada, amount > 300 EUR" in result.text
    assert "a row without customer = Ada, amount > 300 EUR" == result.dropped[0].reason
    assert any("9 of 60 rows" in line for step in result.trace.steps for line in step.messages)


def test_a_list_that_a_budget_cuts_says_that_it_is_not_whole():
    """In the text, and as a warning of the trace."""
    result = SIEVE.with_budget(60)("How many orders does Ada have?", [TEXT])
    shown = result.text.count(",Ada,")

    assert 0 < shown < 20
    assert f"… {shown} of 20 rows that match: customer = Ada" in result.text
    assert any("is not whole" in line for line in result.trace.warnings)


@pytest.mark.parametrize(("second", "kept"), [(0.2, 1), (0.6, 60)])
def test_one_row_that_answers_by_itself_leaves_the_others(second, kept):
    """Where nothing comes near it no other row counts, whatever words ask for all of them."""

    def best(query, rows, /):
        scores = (0.9, second, *[0.01] * len(rows))
        read = (
            s.scored(PASSAGE, 0.9).scored("pruner", n) for s, n in zip(rows, scores, strict=False)
        )
        return [s for s in read if s.score > 0.5]

    query = Query("How much did it cost?")
    rows = Blocks()(query, [Segment.whole(Document("d", TEXT))])

    assert kept == len(Rows(best)(query, rows))


def test_compact_rows_are_shown_cell_by_cell():
    """Each cell is a verbatim span of its document, in the order of the text."""
    sieve = replace(SIEVE, layout=Layout(compact=True))
    result = sieve("What are Ada's orders?", [json.dumps(ORDERS, indent=1)])
    cells = [segment.text for segment in result.shown]
    own = [order for order in ORDERS if order["customer"] == "Ada"]

    assert [json.dumps(value) for order in own for value in order.values()] == cells
    assert 3 * result.tokens.after < result.tokens.before
