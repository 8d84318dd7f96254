"""Accuracy, tokens and seconds of systems on real questions, as a Markdown table.

    python bench/systems.py --data ../shared/data --datasets nq hotpotqa --limit 100

Each run is resumable: records lie in ``build/bench`` and are not made again; remove the folder for
new timings. ``accuracy`` is the share of questions whose answer holds a gold answer, with a 95%
bootstrap interval; ``seconds`` is wall time per question, filter and answer together, with 16
questions at once; ``with answer`` is the share whose kept text still holds a gold answer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from json import loads
from pathlib import Path

import numpy as np

from ragsieve.systems import SYSTEMS
from ragsieve.text import contains_answer

SHOWN = ["closed-book", "all", "top-sentences", "finefilter"]
HEAD = "| data | system | accuracy | 95% | with answer | tokens kept | seconds |"


def main() -> None:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("RAGSIEVE_DATA", "../shared/data"))
    parser.add_argument("--datasets", nargs="+", default=["nq", "hotpotqa"])
    parser.add_argument("--systems", nargs="+", default=SHOWN, choices=list(SYSTEMS))
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(HEAD, "|---" * 7 + "|", sep="\n")
    for dataset in options.datasets:
        source = Path(options.data) / f"{dataset}.jsonl.gz"
        if not source.is_file():
            sys.exit(f"error: --data must be a folder that holds {source.name}, got {options.data}")
        for system in options.systems:
            output = options.out / f"{dataset}-{system}-{options.limit}.jsonl"
            print(row(dataset, system, records(source, system, output, options.limit)), flush=True)


def records(source: Path, system: str, output: Path, limit: int) -> list[dict[str, object]]:
    """Records of a run, made by the command line that a user would call."""
    clock = output.with_suffix(".seconds")
    if not clock.exists():
        began = time.perf_counter()
        command = ["ask", "--system", system, "--input", source, "--output", output]
        command += ["--limit", str(limit)]
        subprocess.run([sys.executable, "-m", "ragsieve", *map(str, command)], check=True)
        clock.write_text(str((time.perf_counter() - began) / limit))
    seconds = float(clock.read_text())
    return [{**loads(line), "wall": seconds} for line in output.read_text().splitlines()]


def row(dataset: str, system: str, found: list[dict[str, object]]) -> str:
    """A line of the table."""
    right = np.array([r["accuracy"] for r in found])
    draws = np.random.default_rng(0).choice(right, (2000, len(right))).mean(axis=1)
    low, high = np.quantile(draws, [0.025, 0.975])
    present = np.mean([contains_answer(str(r["text"]), r["answers"]) for r in found])
    before = sum(r["tokens"]["before"] for r in found)
    after = sum(r["tokens"]["after"] for r in found)
    return (
        f"| {dataset} | {system} | {right.mean():.0%} | {low:.0%} to {high:.0%} | {present:.0%} "
        f"| {after / before:.1%} | {found[0]['wall']:.2f} |"
    )


if __name__ == "__main__":
    main()
