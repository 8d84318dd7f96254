"""Which layout of JSON a generator reads better: right answers and tokens of the context.

    python benchmarks/json_layouts.py ANNOTATED --llm transformers:QWEN --dtype bfloat16

Tables of HybridQA and OTT-QA become JSON, an object a row with half of its columns in an object of
their own. A question names a cell that no other row has and asks for another column of its row. The
default filter cuts, the generator answers from what is kept, in each layout.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ragsieve
from ragsieve.types import Layout

Row = dict[str, str]


def tables(folder: Path) -> Iterator[tuple[str, list[Row]]]:
    """Titles and rows of the tables with five rows or more and four columns or more."""
    for name in ("hybridqa", "ottqa"):
        with gzip.open(folder / f"{name}.passages.jsonl.gz", "rt", encoding="utf-8") as lines:
            for passage in map(json.loads, lines):
                rows = [row for line in passage["text"].split("\n") if (row := cells(line))]
                if len(rows) >= 5 and len({*map(tuple, rows)}) == 1:
                    yield passage["title"], rows


def cells(line: str) -> Row:
    """The cells of a line ``column: cell | column: cell``, none where it is no such line."""
    pairs = [part.split(": ", 1) for part in line.split(" | ")]
    return dict(pairs) if len(pairs) > 3 and all(len(p) == 2 for p in pairs) else {}


def asked(title: str, rows: list[Row], chance: random.Random) -> tuple[str, str, str] | None:
    """A question, its answer and the table as JSON."""
    columns = [*rows[0]]
    place = chance.randrange(len(rows))
    row = rows[place]
    counts = {c: Counter(r[c] for r in rows) for c in columns}
    keys = [c for c in columns if counts[c][row[c]] == 1 and 4 <= len(row[c]) <= 40]
    answers = [c for c in columns if len(counts[c]) > 3 and 2 <= len(row[c]) <= 30]
    if not keys or not (answers := [c for c in answers if c != keys[0]]):
        return None
    wanted = chance.choice(answers)
    half = len(columns) // 2
    records: list[dict[str, Any]] = [
        {**{c: r[c] for c in columns[:half]}, "details": {c: r[c] for c in columns[half:]}}
        for r in rows
    ]
    text = json.dumps({"table": title, "count": len(rows), "rows": records}, ensure_ascii=False)
    return f"What is the {wanted} where the {keys[0]} is {row[keys[0]]}?", row[wanted], text


def main() -> None:
    """Print a row a layout."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("annotated", type=Path, help="folder of annotated sets")
    parser.add_argument("--llm", required=True, help="the generator, as `ragsieve ask` takes it")
    parser.add_argument("--dtype", help="of a local generator, as bfloat16")
    parser.add_argument("--count", type=int, default=100, help="questions")
    parser.add_argument("--max-tokens", type=int, default=400, help="of a context")
    options = parser.parse_args()
    chance = random.Random(0)
    found = [*tables(options.annotated)]
    drawn = (asked(*table, chance) for table in chance.sample(found, len(found)))
    questions = [one for one in drawn if one and len(one[2]) < 20_000][: options.count]
    chosen = {"dtype": options.dtype} if options.dtype else {}
    llm = ragsieve.models.load(options.llm, **chosen)
    system = ragsieve.load("finefilter", llm).at(max_tokens=options.max_tokens)
    both: dict[str, list[bool]] = {}
    print("| layout | right | of it kept | tokens |\n|---|---|---|---|", flush=True)
    for name in ("closed", "paths"):
        own = replace(system, layout=Layout(json_as=name))
        results = [own.ask(question, [text]) for question, _, text in questions]
        answers = [one.answer.text if one.answer else "" for one in results]
        right = [
            answer.lower() in said.lower()
            for (_, answer, _), said in zip(questions, answers, strict=True)
        ]
        kept = sum(
            answer in one.text for (_, answer, _), one in zip(questions, results, strict=True)
        )
        tokens = sum(one.tokens.after for one in results) / len(results)
        of = len(questions)
        print(f"| {name} | {sum(right)} of {of} | {kept} | {tokens:.0f} |", flush=True)
        both[name] = right
    pairs = Counter(zip(*both.values(), strict=True))
    print(f"right closed alone {pairs[True, False]}, paths alone {pairs[False, True]}")


if __name__ == "__main__":
    main()
