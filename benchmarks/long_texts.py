"""Processor time and evidence of a first look on long texts, beside reading them whole.

    python benchmarks/long_texts.py FOLDER --sets cuad qmsum --questions 12
    python benchmarks/long_texts.py FOLDER --sets cuad --shares --beside pruner:OTHER

FOLDER holds ``NAME.questions.jsonl.gz`` and ``NAME.passages.jsonl.gz``: the passages of a question,
joined, are one text, each asked one question that ``--seed`` draws. What survives is the share of
spans of evidence of which something is kept. The log is what ``python -v`` says of a start, up to a
megabyte. Run it on one processor. ``--beside`` reads each text whole by other pruners, too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import ragsieve
from ragsieve.system import System

Span = tuple[int, int]
Text = tuple[str, str, list[Span]]  # question, text, evidence
MODULES = "xmlrpc.client, sqlite3, numpy.testing, onnxruntime, ragsieve.system, scipy.stats, torch"
ASKED = "From which file was the module bisect imported?"


def rows(file: Path) -> list[dict[str, Any]]:
    """Records of a file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def joined(folder: Path, name: str, count: int, seed: int) -> list[Text]:
    """Some questions with evidence, each of another text."""
    passages = {one["id"]: one["text"] for one in rows(folder / f"{name}.passages.jsonl.gz")}
    texts: dict[str, Text] = {}
    questions = rows(folder / f"{name}.questions.jsonl.gz")
    random.Random(seed).shuffle(questions)
    for one in questions:
        starts, text = {}, ""
        for passage in one["passages"]:
            starts[passage] = len(text)
            text += f"{passages[passage]}\n\n"
        spans = [
            (starts[e["passage"]] + a, starts[e["passage"]] + b)
            for e in one["evidence"]
            for a, b in e["spans"]
        ]
        if spans and text not in texts and len(texts) < count:
            texts[text] = one["question"], text, spans
    return [*texts.values()]


def log() -> Text:
    """What Python says of a start, and the line that answers."""
    run = [sys.executable, "-v", "-c", f"import {MODULES}"]
    text = subprocess.run(run, capture_output=True, text=True).stderr
    text = text[:1_000_000]
    start = text.index("/bisect.py")
    return ASKED, text, [(start, start + 10)]


def measured(system: System, one: Text) -> tuple[float, float]:
    """Processor seconds, and the share of evidence that survives."""
    question, text, spans = one
    system("Who?", ["He slept."])
    began = time.process_time()
    kept = system(question, [text]).kept
    seconds = time.process_time() - began
    return seconds, mean(any(s.start < b and a < s.end for s in kept) for a, b in spans)


def main() -> None:
    """Rows of each set: read whole, whole by other pruners, and by a first look."""
    about = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    about.add_argument("data", type=Path)
    about.add_argument("--sets", nargs="+", default=["cuad", "qmsum", "log"])
    about.add_argument("--questions", type=int, default=12)
    about.add_argument("--seed", type=int, default=1)
    about.add_argument("--shares", nargs="*", type=float, default=[0.1, 0.2, 0.3])
    about.add_argument("--beside", nargs="*", default=[], help="pruners, pruner:FOLDER")
    o = about.parse_args()
    print("| texts | characters | read | processor seconds | of whole | survives |")
    print("|---" * 6 + "|", flush=True)
    whole, *others = (ragsieve.load("finefilter", pruner=p) for p in ("pruner", *o.beside))
    for name in o.sets:
        texts = [log()] if name == "log" else joined(o.data, name, o.questions, o.seed)
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for one in texts:
            for by, system in zip(("all", *o.beside), (whole, *others), strict=True):
                found[by].append(measured(system, one))
            for share in o.shares:
                looks = whole.at(first_look=int(share * len(one[1])))
                found[f"{share:.0%}"].append(measured(looks, one))
        size = mean(len(text) for _, text, _ in texts)
        first = mean(seconds for seconds, _ in found["all"])
        for by, results in found.items():
            seconds, survive = (mean(column) for column in zip(*results, strict=True))
            row = f"{size:,.0f} | {by} | {seconds:.2f} | {seconds / first:.2f}"
            print(f"| {name} | {row} | {survive:.0%} |", flush=True)


if __name__ == "__main__":
    main()
