"""Questions a second of `ragsieve.integrations.ray` by workers, and its efficiency.

    python benchmarks/ray_scaling.py hotpotqa.jsonl.gz --limit 120 --rounds 3

Each worker is an actor with one core. The clock begins when each has done a part, and so has its
model, and stops with the last part; efficiency is the rate a worker against that of one. Ray's
workers are nice and yield to other programs, so each round says how much of the cores these took;
rounds in which they took over 5% are left out of the medians where there are others (Linux).
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from server_load import TICKS, used

import ragsieve
from ragsieve import models
from ragsieve.integrations.ray import connected, filter_files
from ragsieve.run.questions import lines

QUIET = 0.05  # share of the cores that other programs may take


def busy() -> float:
    """Seconds for which the machine's processors were busy."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / TICKS  # but idle, and waiting for a disk


def rate(source: Path, workers: int) -> tuple[float, float]:
    """Questions a second behind the first parts, and the share of the cores others had."""
    system = ragsieve.load("finefilter", pruner=models.load("pruner", threads=1))
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"actors": workers, "workers": 1, "part_bytes": 1 << 15}
        _, parts = filter_files(str(source), folder, system, label="x", **options)
        for _ in range(2 * workers):
            next(parts)
        began, all_, own = time.monotonic(), busy(), used(os.getpid())[0]
        questions = sum(part["questions"] for part in parts)
        seconds = time.monotonic() - began
        others = busy() - all_ - (used(os.getpid())[0] - own)
        return questions / seconds, others / seconds / (os.cpu_count() or 1)


def main() -> None:
    """Print a line for each round, and medians."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("questions", type=Path)
    about.add_argument("--limit", type=int, default=120)
    about.add_argument("--rounds", type=int, default=3)
    o = about.parse_args()
    rounds: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as folder, connected(None, 2):
        source = Path(folder) / "questions.jsonl"
        some = itertools.islice(lines(o.questions), o.limit)
        source.write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for _, line in some))
        for _ in range(o.rounds):
            (one, before), (two, after) = rate(source, 1), rate(source, 2)
            rounds.append((one, two, max(before, after)))
            percent = f"{two / one / 2:.0%}, others {before:.0%} and {after:.0%}"
            print(f"1 worker {one:.2f}, 2 workers {two:.2f} questions/s: {percent}", flush=True)
    quiet = [r for r in rounds if r[2] < QUIET] or rounds
    efficiency = median(two / one / 2 for one, two, _ in quiet)
    print(f"median of {len(quiet)} of {len(rounds)} rounds: efficiency {efficiency:.0%}")


if __name__ == "__main__":
    main()
