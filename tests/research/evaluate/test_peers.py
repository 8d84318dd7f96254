"""Counts of other frameworks' filters in a report."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragsieve_research.evaluate.records import load_run
from ragsieve_research.evaluate.report import OVERALL, Report, summarise
from ragsieve_research.evaluate.tables import tables, to_markdown

COUNTS = {
    **{"event": "peer", "given": 5, "returned": 4, "invented": 1, "repeated": 2, "grown": 1},
    **{"words": 40, "invented_words": 3, "repeated_words": 10},
}
RAISED = "PeerError: LLMChainFilter raised ValueError: no YES"
PEERS = "Output of other frameworks' filters"


def record(line: int, **counts: Any) -> dict[str, Any]:
    """A question that a filter answered with `COUNTS`, changed by ``counts``."""
    step = {"stage": "Filter()", "unreadable": 1, "events": [COUNTS | counts]}
    steps = [step, {"stage": "Reader()"}]
    return {"line": line, "id": f"q{line}", "metrics": {"f1": 1.0}, "trace": {"steps": steps}}


def failure(line: int, error: str = RAISED) -> dict[str, Any]:
    return {"line": line, "id": f"q{line}", "metrics": {"f1": 0.0}, "error": error}


def reported(folder: Path, **datasets: Sequence[dict[str, Any]]) -> Report:
    (folder / "records").mkdir()
    cells = [{"dataset": n, "system": "filter", "file": f"records/{n}"} for n in datasets]
    (folder / "run.json").write_text(json.dumps({"name": "r", "cells": cells, "datasets": {}}))
    for name, rows in datasets.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "records" / name).write_text(lines)
    return summarise([load_run(folder)], draws=50)


def line_of(report: Report) -> list[str]:
    """The only line of the table of filters on ``nq``, without the system."""
    ((_, *cells),) = next(table.cells for table in tables(report, "nq") if table.name == PEERS)
    return cells


def test_counts_are_means_and_failures_shares(tmp_path: Path) -> None:
    """Of 8 texts 4 have invented, 4 repeated words, 2 grew; of 80 words 6 and 20 are such. On one
    of three questions the filter raised; one that failed otherwise is none of its."""
    rows = [record(1), record(2, invented=3), failure(3), failure(4, "ModelError: gone")]
    report = reported(tmp_path, nq=rows)

    assert ["3", "33.3", "1.00", "5.00", "4.00"] == line_of(report)[:5]
    assert ["50.0", "50.0", "25.0", "7.5", "25.0"] == line_of(report)[5:]
    assert PEERS in to_markdown(report)
    assert 5 == report.rows[0].figures["peer"]["given"].value


def test_where_every_question_raised_there_are_no_shares(tmp_path: Path) -> None:
    """Nothing was given back; a question asked again counts as it was last."""
    report = reported(tmp_path, nq=[record(1), failure(1)])

    assert ["1", "100.0", *["–"] * 8] == line_of(report)


def test_data_sets_count_the_same(tmp_path: Path) -> None:
    """None of one question raised, and one of two: a quarter overall."""
    report = reported(tmp_path, nq=[record(1)], triviaqa=[record(1), failure(2)])
    (row,) = report.select(OVERALL)
    raised = row.figures["peer"]["raised"]

    assert (0.25, 3) == (raised.value, raised.n)
    assert math.isnan(raised.low)


def test_other_systems_have_no_such_table(tmp_path: Path) -> None:
    """Not even an empty one, whatever else their stages log."""
    other = record(1)
    other["trace"]["steps"][0]["events"] = [{"event": "verdict", "verdict": "correct"}]
    report = reported(tmp_path, nq=[failure(2, "ModelError: gone"), other])

    assert "other frameworks" not in to_markdown(report)
