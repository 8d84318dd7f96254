"""Share of questions whose answer lies in the first characters of what a stack sends on.

    python benchmarks/excerpt_curve.py ../shared/data --questions 60

Sets with passages and pages that a search gave; questions whose answer lies in some document, of
sets that the pruner learnt from those of the test part. Every method fills the same budgets of
characters, over the whole response: the first characters of the documents as they were retrieved,
the best sentences by BM25 or by cosine, and the default filter's excerpts, as promised or filled up
to the budget.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import mean

import ragsieve
from ragsieve import models, score, select, split
from ragsieve.answer import Reader
from ragsieve.context.excerpts import ExcerptReader, excerpts_of
from ragsieve.result import Result
from ragsieve.run.questions import lines, parse_record
from ragsieve.system import Pipeline, System
from ragsieve.text import contains_answer
from ragsieve.types import Example
from ragsieve_research.datasets.parts import part_of

SETS = ("simpleqa_web", "realtimeqa_web", "realtimeqa_sources", "retrievalqa", "asqa")
LEARNT = {"retrievalqa", "asqa"}
BUDGETS = (250, 500, 1000, 2000, 4000)
Method = Callable[[Example], Callable[[int], str]]
"""What makes of a question what gives the text within a budget."""


def first_characters(example: Example) -> Callable[[int], str]:
    """Documents as they were retrieved."""
    text = "\n".join(document.text for document in example.documents)
    return lambda most: text[:most]


def excerpts(system: System, *, filled: bool = False) -> Method:
    """Excerpts of a system, read once for all budgets."""

    def method(example: Example) -> Callable[[int], str]:
        reader = ExcerptReader(system.reader)
        result = replace(system, reader=reader)(example.query, example.documents)
        result = result.at(min_score=0.0) if filled else result
        return lambda most: shown(result.at(max_chars=most))

    return method


def shown(result: Result) -> str:
    """The text of all excerpts."""
    return "\n".join(one.text for document in excerpts_of(result) for one in document.excerpts)


def questions(folder: Path, name: str, most: int) -> list[Example]:
    """Questions of a set whose answer lies in some document."""
    path = folder / f"{name}.jsonl.gz"
    parsed = (parse_record(line) for _, line in lines(path))
    held = (e for e in parsed if name not in LEARNT or part_of(e.query.text) == "test")
    found = (e for e in held if any(contains_answer(d.text, e.answers) for d in e.documents))
    return [*islice(found, most)]


def row(name: str, values: Sequence[float]) -> str:
    """A row of a Markdown table, in percent."""
    return f"| {name} | " + " | ".join(f"{100 * value:.0f}" for value in values) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=60, help="of each set, at most")
    options = parser.parse_args()
    llm = models.load("fake:echo")
    bm25 = Pipeline(split.Sentences(), score.BM25())
    cosine = Pipeline(split.Sentences(), score.Cosine(models.load("minilm")))
    sieve = ragsieve.load("finefilter", llm, options={"min_answerable": 0.0})
    methods: dict[str, Method] = {
        "first characters": first_characters,
        "sentences by BM25": excerpts(System(Pipeline(bm25, select.Order()), Reader(llm))),
        "sentences by cosine": excerpts(System(Pipeline(cosine, select.Order()), Reader(llm))),
        "`finefilter`": excerpts(sieve),
        "`finefilter`, filled": excerpts(sieve, filled=True),
    }
    print("| set, method | " + " | ".join(f"{n:,}" for n in BUDGETS) + " | characters of 4,000 |")
    print("| --- |" + " ---: |" * (len(BUDGETS) + 1))
    overall: dict[str, list[list[float]]] = {name: [] for name in methods}
    for name in SETS:
        some = questions(options.data, name, options.questions)
        for label, method in methods.items():
            table: list[list[float]] = []
            for example in some:
                texts = [*map(method(example), BUDGETS)]
                hits = [float(contains_answer(text, example.answers)) for text in texts]
                table.append([*hits, len(texts[-1])])
            means = [mean(column) for column in zip(*table, strict=True)]
            overall[label].append(means)
            print(
                row(f"{name} ({len(some)}), {label}", means[:-1]), f"{means[-1]:.0f} |", flush=True
            )
    for label, rows in overall.items():
        means = [mean(column) for column in zip(*rows, strict=True)]
        print(row(f"mean of {len(rows)} sets, {label}", means[:-1]), f"{means[-1]:.0f} |")


if __name__ == "__main__":
    main()
