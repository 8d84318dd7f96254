"""Processor time and evidence of a first look on long texts, beside reading them whole.

    python benchmarks/long_texts.py FOLDER --sets cuad qmsum --questions 12

FOLDER holds ``NAME.questions.jsonl.gz`` and ``NAME.passages.jsonl.gz``: the passages of a question,
joined, are one text, each asked one question that ``--seed`` draws. What survives is the share of
spans of evidence of which something is kept. The log is what ``python -v`` says of a start, up to a
megabyte. Run it on one processor.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import time
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
    began = time.process_time()
    kept = system(question, [text]).kept
    seconds = time.process_time() - began
    return seconds, mean(any(s.start < b and a < s.end for s in kept) for a, b in spans)


def main() -> None:
    """A row a set and number of characters."""
    about = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    about.add_argument("data", type=Path)
    about.add_argument("--sets", nargs="+", default=["cuad", "qmsum"])
    about.add_argument("--questions", type=int, default=12)
    about.add_argument("--seed", type=int, default=1)
    about.add_argument("--shares", nargs="+", type=float, default=[0.1, 0.2, 0.3])
    o = about.parse_args()
    print("| texts | characters | first look | processor seconds | of whole | survives |")
    print("|---" * 6 + "|", flush=True)
    sets = {name: joined(o.data, name, o.questions, o.seed) for name in o.sets} | {"log": [log()]}
    for name, texts in sets.items():
        whole = 0.0
        shares = [1.0, *o.shares] if name != "log" else [0.02, 0.04]
        for share in shares:
            found = []
            for one in texts:
                system = ragsieve.load("finefilter")
                system("Who?", ["He slept."])
                most = None if share == 1 else int(share * len(one[1]))
                found.append(measured(system.at(first_look=most), one))
            seconds = mean(s for s, _ in found)
            whole = seconds if share == 1 else whole
            ratio = f"{seconds / whole:.2f}" if whole else ""
            size, survive = mean(len(one[1]) for one in texts), mean(kept for _, kept in found)
            row = f"{size:,.0f} | {share:.0%} | {seconds:.2f} | {ratio}"
            print(f"| {name} | {row} | {survive:.0%} |", flush=True)


if __name__ == "__main__":
    main()
