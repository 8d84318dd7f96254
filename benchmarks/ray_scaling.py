"""Questions a second of `ragsieve.ray` by workers, and its efficiency.

    python benchmarks/ray_scaling.py hotpotqa.jsonl.gz --limit 120 --rounds 3

Each worker is an actor with one core. The clock begins when each has done a part, and so has its
model, and stops with the last part; efficiency is the rate a worker against that of one.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from pathlib import Path
from statistics import median

import ragsieve
from ragsieve import models
from ragsieve.datasets.local import lines
from ragsieve.ray import connected, filter_files


def rate(source: Path, workers: int) -> float:
    """Questions a second behind the first parts."""
    system = ragsieve.load("finefilter", pruner=models.load("pruner", threads=1))
    with tempfile.TemporaryDirectory() as folder:
        options = {"actors": workers, "workers": 1, "part_bytes": 1 << 15}
        _, parts = filter_files(str(source), folder, system, label="x", **options)
        for _ in range(2 * workers):
            next(parts)
        began = time.monotonic()
        questions = sum(part["questions"] for part in parts)
        return questions / (time.monotonic() - began)


def main() -> None:
    """Print a line for each round, and medians."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("questions", type=Path)
    about.add_argument("--limit", type=int, default=120)
    about.add_argument("--rounds", type=int, default=3)
    o = about.parse_args()
    found: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder, connected(None, 2):
        source = Path(folder) / "questions.jsonl"
        some = itertools.islice(lines(o.questions), o.limit)
        source.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for _, line in some))
        for _ in range(o.rounds):
            for workers, rates in found.items():
                rates.append(rate(source, workers))
            print({workers: round(rates[-1], 2) for workers, rates in found.items()}, flush=True)
    one, two = (median(rates) for rates in found.values())
    print(f"1 worker {one:.2f}, 2 workers {two:.2f} questions/s: efficiency {two / one / 2:.0%}")


if __name__ == "__main__":
    main()
