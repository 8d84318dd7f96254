"""Seconds a question takes beside other processes: `python benchmarks/contention.py QUESTIONS`.

QUESTIONS is a JSONL file of examples, ``.gz`` too (HotpotQA's for the figures in the docs). Each
round measures every company once, so that a machine that becomes slower does so for all of them.
Variables of the environment are the setting: ``OMP_WAIT_POLICY=active python benchmarks/…``; other
processes run without them. It ends the processes that it has started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import mean

import click

import ragsieve
from ragsieve.run.questions import lines, parse_record

LOOP = "while True: pass"
PRODUCTS = "import torch\na = torch.randn(1024, 1024)\nwhile True: a @ a"
COMPANY = {
    "alone": [],
    "1 busy loop": [LOOP],
    "2 busy loops": [LOOP] * 2,
    "torch, all cores": [PRODUCTS],
    "4 busy loops": [LOOP] * 4,
}


@contextmanager
def running(programs: list[str]) -> Iterator[None]:
    """Run Python programs beside the block."""
    own = ("OMP_", "GOMP_", "KMP_", "MKL_")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(own)}
    found = [subprocess.Popen([sys.executable, "-c", p], env=environment) for p in programs]
    try:
        time.sleep(5 if PRODUCTS in programs else 1)  # torch takes seconds to import
        yield
    finally:
        for process in found:
            process.kill()
            process.wait()


@click.command()
@click.argument("questions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--system", default="finefilter", show_default=True)
@click.option("--limit", default=10, show_default=True, help="Questions in each round.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--threads", type=int, help="Threads of torch; all cores where not given.")
def main(questions: Path, system: str, limit: int, rounds: int, threads: int | None) -> None:
    """Print a table: company, seconds a question, how many times as long as alone."""
    found = (parse_record(line) for _, line in islice(lines(questions), limit * rounds + 1))
    first, *examples = found
    if threads:
        import torch

        torch.set_num_threads(threads)
    seconds: dict[str, list[float]] = {name: [] for name in COMPANY}
    for at in range(0, len(examples), limit):
        for name, programs in COMPANY.items():
            sieve = ragsieve.load(system)  # anew: models remember what they have read
            sieve(first.query, first.documents)
            with running(programs):
                for example in examples[at : at + limit]:
                    began = time.perf_counter()
                    sieve(example.query, example.documents)
                    seconds[name].append(time.perf_counter() - began)
    print("| beside | s a question | times |\n|---|---|---|")
    for name, some in seconds.items():
        print(f"| {name} | {mean(some):.3f} | {mean(some) / mean(seconds['alone']):.1f} |")


if __name__ == "__main__":
    main()
