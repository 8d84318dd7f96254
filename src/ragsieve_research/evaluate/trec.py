"""Rankings and judgements as TREC files, which trec_eval, ir_measures, ranx and trectools read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.run.batch import replace_lines
from ragsieve.run.questions import lines, parse_json, parse_record
from ragsieve.types import Example

Ranked = Sequence[tuple[str, float | None]]


def run_lines(query: str, ranked: Ranked, tag: str) -> Iterator[bytes]:
    """Lines of a question: a document once, at its best score, and scores fall from rank to rank.

    Scores fall as float32, too, which trec_eval reads; without any, or among equals, the order
    given stays. A question without documents has no line: see docs/benchmark.md.

    Args:
        query: Id of the question.
        ranked: Ids of documents, or of those of chunks, with scores.
        tag: Name of the run.

    Raises:
        InputError: If an id is empty or has white space.
    """
    best: dict[str, float] = {}
    for place, (document, score) in enumerate(ranked):
        value = float(-place if score is None else score)
        best[document] = max(value, best.get(document, value))
    last = np.float32(np.inf)
    for rank, name in enumerate(sorted(best, key=lambda one: -best[one]), 1):
        last = min(np.float32(best[name]), np.nextafter(last, np.float32(-np.inf)))
        yield f"{_id(query)} Q0 {_id(name)} {rank} {last!s} {_id(tag)}\n".encode()


def qrel_lines(example: Example) -> Iterator[bytes]:
    """A question's judgements: ``relevance`` of its documents, else 1 or 0 by ``is_positive``."""
    for document in example.documents:
        label = document.metadata.get("relevance", document.metadata.get("is_positive"))
        if label is not None:
            yield f"{_id(example.query.id)} 0 {_id(document.id)} {int(label)}\n".encode()


def write_run(path: Path, rankings: Iterable[tuple[str, Ranked]], tag: str) -> int:
    """Write rankings by question; the number of lines. Errors as of `run_lines`, and as files."""
    return replace_lines(
        path, (line for q, ranked in rankings for line in run_lines(q, ranked, tag))
    )


def write_bench(folder: Path, cells: Iterable[Any], into: Path) -> list[Path]:
    """Write a run for each cell of a benchmark, and the judgements of each of its questions files.

    Questions without an id are named by their lines. Spans rank their documents by their best.
    """
    into.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}
    for cell in cells:
        source = folder / "questions" / f"{cell.questions_file}.jsonl"
        asked = {n: _named(parse_record(line), n) for n, line in lines(source)}
        qrels, run = into / f"{cell.questions_file}.qrels", into / f"{cell.file}.run"
        replace_lines(qrels, (line for one in asked.values() for line in qrel_lines(one)))
        kept = (parse_json(line) for _, line in lines(folder / "records" / f"{cell.file}.jsonl"))
        rankings = ((asked[one["line"]].query.id, _ranked(one)) for one in kept)
        write_run(run, rankings, cell.file)
        written |= {qrels: None, run: None}
    return [*written]


def _ranked(record: Mapping[str, Any]) -> Ranked:
    return [(one["document"], one.get("score")) for one in record.get("kept") or ()]


def _named(example: Example, number: int) -> Example:
    return (
        example
        if example.query.id
        else replace(example, query=replace(example.query, id=str(number)))
    )


def _id(name: str) -> str:
    if not name or name.split() != [name]:
        raise InputError(f"ids of a TREC file must have no white space, got {name!r}")
    return name
