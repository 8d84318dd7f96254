"""Rankings and judgements as TREC files, which trec_eval, ir_measures, ranx and trectools read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ragsieve.errors import InputError
from ragsieve.files import replace_lines
from ragsieve.run.questions import lines, parse_json, parse_record
from ragsieve.types import Document, Example, Segment
from ragsieve_research.evaluate.retrieval import deep, gold_passages
from ragsieve_research.retrieve.corpus import By, Corpus
from ragsieve_research.retrieve.index.store import digest_of

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


def qrel_lines(example: Example, held: Mapping[bytes, str] | None = None) -> Iterator[bytes]:
    """A question's judgements: ``relevance`` of its documents, else 1 or 0 by ``is_positive``.

    Args:
        example: The question.
        held: Ids of an index by digest: what it does not hold is left out, and its gold passages
            are those that `ragsieve_research.evaluate.retrieval.recall` counts.
    """
    documents = example.documents
    if held is not None:
        named = sorted(gold_passages(example))
        gold = [Document("", text, title, metadata={"is_positive": True}) for title, text in named]
        known = ((one, held.get(digest_of(one))) for one in (*documents, *gold))
        documents = tuple(replace(one, id=name) for one, name in known if name)
    grades: dict[str, int] = {}
    for one in documents:
        label = one.metadata.get("relevance", one.metadata.get("is_positive"))
        if label is not None:
            grades[one.id] = max(int(label), grades.get(one.id, int(label)))
    for name, grade in grades.items():
        yield f"{_id(example.query.id)} 0 {_id(name)} {grade}\n".encode()


def write_run(path: Path, rankings: Iterable[tuple[str, Ranked]], tag: str) -> int:
    """Write rankings by question; the number of lines.

    Raises:
        InputError: As `run_lines`, if two questions have one id, or the file cannot be written.
    """
    asked: set[str] = set()

    def content() -> Iterator[bytes]:
        for query, ranked in rankings:
            if query in asked:
                raise InputError(f"ids of a TREC file's questions must differ, got {query!r} twice")
            asked.add(query)
            yield from run_lines(query, ranked, tag)

    return replace_lines(path, content())


def write_recall(
    path: Path, corpus: Corpus, numbered: Iterable[tuple[int, Example]], by: By, k: int
) -> int:
    """Write what an index finds as a run, and as ``PATH.qrels`` which of it is gold, by its ids.

    Tools of TREC find the recall@K of `ragsieve_research.evaluate.retrieval.recall` in the two.

    Args:
        path: The run.
        corpus: The index.
        numbered: Questions by their lines, which name those without an id.
        by: The way of searching.
        k: Documents of a question.

    Returns:
        Lines of the run.
    """
    held, qrels = corpus.digests(), list[bytes]()

    def rankings() -> Iterator[tuple[str, Ranked]]:
        for number, example in numbered:
            one = _named(example, number)
            qrels.extend(qrel_lines(one, held))
            yield one.query.id, scored(deep(corpus, one.query, by, k))

    count = write_run(path, rankings(), by)
    replace_lines(path.with_name(f"{path.name}.qrels"), qrels)
    return count


def scored(chunks: Sequence[Segment]) -> Ranked:
    """Ids of chunks' documents with the scores of the chunks."""
    return [(chunk.document.id, chunk.score) for chunk in chunks]


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
        rows = (parse_json(line) for _, line in lines(folder / "records" / f"{cell.file}.jsonl"))
        kept = ((asked[one["line"]].query.id, one.get("kept") or ()) for one in rows)
        ranked = ((name, [(s["document"], s.get("score")) for s in spans]) for name, spans in kept)
        write_run(run, ranked, cell.file)
        written |= {qrels: None, run: None}
    return [*written]


def _named(example: Example, number: int) -> Example:
    return replace(example, query=replace(example.query, id=example.query.id or str(number)))


def _id(name: str) -> str:
    if not name or name.split() != [name]:
        raise InputError(f"ids of a TREC file must have no white space, got {name!r}")
    return name
