"""Rows that SQL gives for a predicate, and rows that filters keep for the same predicate in words.

    python benchmarks/rows.py [--draws 3] [--budget 400] [--alone]

Random tables of 60 rows in seven layouts, DuckDB as the judge, and the wordings of
``tests/core/systems/test_rows_sql.py``, half of which were held out from whoever wrote the reader.
A question is right where every row that SQL gives is kept. Peers get the segments of our splitter
as documents; `headroom-ai` the whole text, where it is installed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ragsieve
from ragsieve import score, split
from ragsieve.types import Document, Query, Segment

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "core" / "systems"))
sql = importlib.import_module("test_rows_sql")

Filter = Callable[[str, str], str]
BEST = 20  # documents and lines that rankers keep


def ours(budget: int | None) -> Filter:
    """The default filter."""
    sieve = ragsieve.load("finefilter")
    sieve = sieve.with_budget(budget) if budget else sieve
    return lambda question, text: sieve(question, [text]).text


def peer(name: str, *, whole: bool = False) -> Filter:
    """A filter of another framework, on the segments of our splitter or on the whole text."""
    sieve = ragsieve.load(name)
    cut = split.Blocks()

    def run(question: str, text: str) -> str:
        parts = [text] if whole else [s.text for s in cut(Query(question), [as_segment(text)])]
        return sieve(question, parts).text

    return run


def bm25(question: str, text: str) -> str:
    """The best lines by BM25."""
    query = Query(question)
    lines = [as_segment(line) for line in text.split("\n") if line.strip()]
    ranked = sorted(score.BM25()(query, lines), key=lambda s: -s.score)
    return "\n".join(s.text for s in ranked[:BEST])


def headroom(question: str, text: str) -> str:
    """What headroom-ai makes of a tool's result, without its net."""
    messages = [
        {"role": "user", "content": question},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    return str(
        importlib.import_module("headroom")
        .compress(messages, model="gpt-4o")
        .messages[-1]["content"]
    )


def as_segment(text: str) -> Segment:
    """A text as a segment."""
    return Segment.whole(Document("d" if "\n" in text else text, text))


def row(name: str, run: Filter, draws: int) -> str:
    """A row of the table: right and kept for the wordings known and held out, and seconds."""
    cells, began, asked = [], time.perf_counter(), 0
    for wordings in (sql.SEEN, sql.HELD):
        found = [*sql.outcomes(wordings, seed=5, draws=draws, run=run)]
        asked += len(found)
        right = sum(wanted <= kept for _, wanted, kept in found)
        shares = [sum(len(one[n]) for one in found) / (sql.ROWS * len(found)) for n in (1, 2)]
        cells.append(f"{right} of {len(found)} | {shares[1]:.0%} (of {shares[0]:.0%})")
    seconds = (time.perf_counter() - began) / asked
    return f"| {name} | {' | '.join(cells)} | {seconds:.2f} s |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--draws", type=int, default=3, help="tables, each with eleven questions")
    parser.add_argument("--budget", type=int, help="tokens of ours")
    parser.add_argument("--alone", action="store_true", help="without the others")
    options = parser.parse_args(arguments)
    filters: dict[str, Filter] = {"ragsieve": ours(options.budget)}
    if not options.alone:
        filters["LangChain's EmbeddingsFilter"] = peer("langchain-embeddings-filter")
        optimizer = peer("llama-index-sentence-optimizer", whole=True)
        filters["LlamaIndex's SentenceEmbeddingOptimizer"] = optimizer
        filters[f"BM25, {BEST} lines"] = bm25
        if importlib.util.find_spec("headroom"):
            filters["headroom-ai"] = headroom
    print("| | right | rows kept (asked for) | held out: right | rows kept | a question |")
    print("|---|---|---|---|---|---|")
    for name, run in filters.items():
        print(row(name, run, options.draws), flush=True)


if __name__ == "__main__":
    main()
