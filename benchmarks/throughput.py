"""Questions, passages and megabytes a second by how a system is run, and its memory (Linux).

    python benchmarks/throughput.py hotpotqa.jsonl.gz --limit 40 --rounds 3
    python benchmarks/throughput.py --systems finefilter-point --llm smollm2 --limit 4

Every row is the command that people use: `ragsieve filter --input -` with one question at a time
(`--workers 1`) or many, two such processes with one core each, and `ragsieve serve` with 32
clients. Each has answered a question before the time begins. Rounds go through all rows one after
another, so that a machine that becomes slower does so for all; a row shows the median round, and
*times* is the median of its ratios to one at a time in the same round. CPU is seconds of processors
a question, which other programs disturb least; memory is the peak of all its processes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from server_load import SAMPLE, bodies_of, serving, used, waits_of

from ragsieve.datasets.local import lines, parse_record

CLIENTS = 32
HEAD = "| system | run as | questions/s | times | passages/s | MB/s | CPU s | MB peak |"


@dataclass
class Load:
    """Questions as lines, a first one before them, and their size."""

    first: bytes
    lines: list[bytes]
    passages: int
    megabytes: float

    @classmethod
    def read(cls, path: Path, limit: int) -> Load:
        """The first questions of a file, of which it has more."""
        first, *found = (line for _, line in itertools.islice(lines(path), limit + 1))
        texts = [d.text for line in found for d in parse_record(line).documents]
        return cls(first, found, len(texts), sum(len(text.encode()) for text in texts) / 1e6)


@dataclass
class Took:
    """What a run came to."""

    questions: int
    seconds: float
    cpu: float
    megabytes: float


def peak(pid: int) -> float:
    """Megabytes that a process and its children had in memory at most."""
    status = Path(f"/proc/{pid}/status").read_text()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM"))
    return own / 1e3 + sum(peak(int(child)) for child in children)


class Process:
    """`ragsieve filter --input -`, which has answered one question.

    Args:
        arguments: More of its options.
        first: The question.
        cores: Processors that it may use.
    """

    def __init__(self, arguments: list[str], first: bytes, cores: Sequence[int]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ragsieve", "-q", "filter", "--input", "-", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        self.ask([first])
        self.before = used(self.process.pid)[0]

    def ask(self, questions: Sequence[bytes]) -> None:
        """Send the questions while their records are read."""
        given, taken = self.process.stdin, self.process.stdout
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(lambda: (given.writelines(questions), given.flush()))
            for _ in questions:
                record = json.loads(taken.readline())
                if "error" in record:
                    raise SystemExit(record["error"])
            sent.result()

    def end(self) -> tuple[float, float]:
        """Seconds of processors since the first question, and megabytes at most; it ends."""
        found = used(self.process.pid)[0] - self.before, peak(self.process.pid)
        self.process.stdin.close()
        self.process.wait(60)
        return found


def piped(load: Load, arguments: list[str], processes: int = 1) -> Took:
    """So many processes, each with its share of the questions and of the cores."""
    cores = sorted(os.sched_getaffinity(0))
    parts = [load.lines[n::processes] for n in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        started = [
            Process(arguments, load.first, cores[n::processes] or cores) for n in range(processes)
        ]
        began = time.monotonic()
        list(pool.map(Process.ask, started, parts))
        seconds = time.monotonic() - began
        ends = [process.end() for process in started]
    return Took(len(load.lines), seconds, sum(e[0] for e in ends), sum(e[1] for e in ends))


def served(path: Path, arguments: list[str], seconds: float) -> Took:
    """The server with 32 clients, for so many seconds."""
    cores = len(os.sched_getaffinity(0))
    with serving(None, arguments, cores) as server:
        figures = asyncio.run(waits_of(server, str(CLIENTS), 0, seconds, bodies_of(path)))
        return Took(len(figures["waits"]), figures["seconds"], figures["cpu"], peak(server[0]))


def rows(o: argparse.Namespace, load: Load, system: str) -> dict[str, Callable[[], Took]]:
    """How a system is run, by the row's name."""
    options = ["--system", system, "--llm", o.llm]
    alone = "one process, one at a time"
    return {
        alone: lambda: piped(load, [*options, "--workers", "1"]),
        "one process": lambda: piped(load, options),
        "two processes": lambda: piped(load, options, 2),
        f"server, {CLIENTS} clients": lambda: served(o.questions, options, o.seconds),
    }


def main() -> None:
    """Print the table."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("questions", nargs="?", type=Path, default=SAMPLE, help="JSONL, .gz too")
    about.add_argument("--systems", default="finefilter,top-sentences", help="with commas between")
    about.add_argument("--llm", default="fake:echo", help="of all systems (%(default)s)")
    about.add_argument("--limit", type=int, default=20, help="questions (%(default)s)")
    about.add_argument("--rounds", type=int, default=1, help="rounds, one after another")
    about.add_argument("--seconds", type=float, default=10, help="of the server (%(default)s)")
    o = about.parse_args()
    load = Load.read(o.questions, o.limit)
    print(f"load average {os.getloadavg()[0]:.1f} before\n\n{HEAD}")
    print("|" + "---|" * (HEAD.count(" |")), flush=True)
    for system in o.systems.split(","):
        ways = rows(o, load, system)
        took = [{name: way() for name, way in ways.items()} for _ in range(o.rounds)]
        for name in ways:
            print(_row(system, name, took, load), flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f} after")


def _row(system: str, name: str, rounds: Sequence[dict[str, Took]], load: Load) -> str:
    rates = [took[name].questions / took[name].seconds for took in rounds]
    first = [next(iter(took.values())) for took in rounds]
    alone = [one.questions / one.seconds for one in first]
    rate, each = median(rates), len(load.lines)
    times = median(own / other for own, other in zip(rates, alone, strict=True))
    cpu = median(took[name].cpu / took[name].questions for took in rounds)
    figures = [rate, times, rate * load.passages / each, rate * load.megabytes / each, cpu]
    numbers = [f"{x:.3g}" for x in figures]
    memory = max(took[name].megabytes for took in rounds)
    return f"| {system} | {name} | {' | '.join(numbers)} | {memory:.0f} |"


if __name__ == "__main__":
    main()
