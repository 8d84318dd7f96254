"""Hours, money and what is busy when a cluster of Ray filters very many passages: a simulation.

    python benchmarks/cluster_cost.py --passages 1e9 --rate 52 --price 0.04

First, the driver's seconds a part are measured here: parts of one question, two actors, a filter
without a model. They are an upper bound, as the actors read and write in them, too. Then parts are
handed out one after another to whichever core is free, each with its own seconds (log-normal).
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import ragsieve
from ragsieve.integrations.ray import connected, filter_files

BYTES = 573  # of a passage of HotpotQA
SPREAD = 0.1  # standard deviation of the logarithm of a part's seconds


def driver_seconds(parts: int = 300) -> float:
    """Seconds a part where the filter does nothing, behind the first 20."""
    line = json.dumps({"question": "Who?", "documents": ["It rained."]}).encode() + b"\n"
    with tempfile.TemporaryDirectory() as folder, connected(None, 2):
        source = Path(folder) / "questions.jsonl"
        source.write_bytes(line * parts)
        system = ragsieve.load("all", llm="fake:echo")
        options: dict[str, Any] = {"label": "x", "part_bytes": len(line), "workers": 1}
        _, done = filter_files(str(source), f"{folder}/kept", system, **options)
        for _ in range(20):
            next(done)
        began = time.monotonic()
        count = sum(1 for _ in done)
        return (time.monotonic() - began) / count


def simulated(parts: int, seconds: float, cores: int, driver: float) -> float:
    """Seconds until the last of ``parts`` is done, each of ``seconds`` of a core on average."""
    drawn = random.Random(0)
    free, handed = [0.0] * cores, 0.0
    for _ in range(parts):
        handed = max(handed, free[0]) + driver
        heapq.heapreplace(free, handed + seconds * drawn.lognormvariate(-(SPREAD**2) / 2, SPREAD))
    return max(free)


def main() -> None:
    """Print a line for each number of cores and size of parts."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("--passages", type=float, default=1e9)
    about.add_argument("--rate", type=float, required=True, help="passages a second and core")
    about.add_argument("--price", type=float, default=0.04, help="of a core and hour (%(default)s)")
    about.add_argument("--driver", type=float, help="its seconds a part; measured where not given")
    o = about.parse_args()
    driver = o.driver or driver_seconds()
    print(f"driver: {1000 * driver:.1f} ms a part\n")
    print("| cores | MB a part | hours | price | cores busy | driver busy | MB/s read |")
    print("|---|---|---|---|---|---|---|")
    work = o.passages / o.rate  # seconds of a core
    for cores in (100, 1_000, 10_000):
        for megabytes in (0.25, 4, 64):
            parts = max(1, round(o.passages * BYTES / megabytes / 1e6))
            took = simulated(parts, work / parts, cores, driver)
            busy, driven = work / cores / took, parts * driver / took
            figures = f"{took / 3600:.3g} | ${o.price * cores * took / 3600:,.0f} | {busy:.0%}"
            read = o.passages * BYTES / 1e6 / took
            print(
                f"| {cores:,} | {megabytes} | {figures} | {driven:.0%} | {read:,.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
