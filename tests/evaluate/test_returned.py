"""What other frameworks' filters gave back, counted over the records of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve.evaluate.cells import load_run
from ragsieve.evaluate.report import Report, summarise
from ragsieve.evaluate.returned import Returned
from ragsieve.evaluate.tables import peers, to_json, to_markdown

COUNTS = {
    **{"event": "peer", "given": 5, "returned": 4, "invented": 1, "repeated": 2, "grown": 1},
    **{"words": 40, "invented_words": 3, "repeated_words": 10},
}
RAISED = "PeerError: LLMChainFilter raised ValueError: no YES"


def record(line: int, **values: Any) -> dict[str, Any]:
    """A question that a filter answered with `COUNTS`, changed by ``values``."""
    step = {"stage": "Filter()", "unreadable": 1, "story": [COUNTS | values]}
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


def test_counts_are_summed_and_failures_counted(tmp_path: Path) -> None:
    """Two questions with counts, one on which the filter raised, one that failed otherwise."""
    rows = [record(1), record(2, invented=3), failure(3), failure(4, "ModelError: gone")]
    (row,) = reported(tmp_path, nq=rows).rows

    assert Returned(3, 1, 2, 10, 8, 4, 4, 2, 80, 6, 20) == row.returned


def test_a_table_shows_them(tmp_path: Path) -> None:
    """Of 4 texts 1 has invented, 2 repeated words, 1 grew; of 40 words 3 and 10 are such."""
    report = reported(tmp_path, nq=[record(1), failure(2)])
    _, ((*cells,),) = peers(report, "nq")

    assert ["filter", "2", "1", "1", "5", "4"] == cells[:6]
    assert ["25.0", "50.0", "25.0", "7.5", "25.0"] == cells[6:]
    assert "What other frameworks' filters give back" in to_markdown(report)
    assert 1 == json.loads(to_json(report))["rows"][0]["returned"]["raised"]


def test_where_every_question_raised_there_are_no_shares(tmp_path: Path) -> None:
    """Nothing was given back."""
    _, ((*cells,),) = peers(reported(tmp_path, nq=[failure(1)]), "nq")

    assert ["filter", "1", "1", "0", "0", "0", *["–"] * 5] == cells


def test_overall_is_the_sum_over_data_sets(tmp_path: Path) -> None:
    """Shares are of all texts together."""
    overall, *_ = reported(tmp_path, nq=[record(1)], triviaqa=[record(1), failure(2)]).rows

    assert overall.returned
    assert ("overall", 3, 1, 8) == (
        *(overall.dataset, overall.returned.questions),
        *(overall.returned.raised, overall.returned.returned),
    )


def test_a_question_asked_again_counts_once(tmp_path: Path) -> None:
    """As it was last: here it raises no more."""
    (row,) = reported(tmp_path, nq=[failure(1), record(1)]).rows

    assert row.returned
    assert (1, 0) == (row.returned.questions, row.returned.raised)


def test_other_systems_have_no_such_table(tmp_path: Path) -> None:
    """Not even an empty one."""
    report = reported(tmp_path, nq=[failure(1, "ModelError: gone")])

    assert [] == peers(report, "nq")[1]
    assert "other frameworks" not in to_markdown(report)


def test_counts_that_are_none_are_refused(tmp_path: Path) -> None:
    """With the line and the file."""
    with pytest.raises(InputError, match=r"line 1 of .*nq must count what a filter returned"):
        reported(tmp_path, nq=[record(1, given="many")])
