"""Questions, passages and megabytes a second by how a system is run, and its memory (Linux).

    python benchmarks/throughput.py hotpotqa.jsonl.gz --llm smollm2
    python benchmarks/throughput.py hotpotqa.jsonl.gz --systems finefilter:40 --peers "" --rounds 3

Every row is the command that people use: `ragsieve filter --input -` with one question at a time
(`--workers 1`) or many, two such processes with one core each, and `ragsieve serve` with 32
clients; on Ray, two actors with a core each, whose parts hold a question or two. Each has answered
a question before the time begins, on Ray four parts. `NAME:20` runs so many questions; peers, by
`ragsieve_research.peers`, run in one process. Rounds go through all rows one after
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
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from server_load import SAMPLE, bodies_of, serving, used, waits_of

import ragsieve
from ragsieve import systems
from ragsieve.run.questions import lines, parse_record

CLIENTS = 32
PART_BYTES = 1 << 13
SYSTEMS = "finefilter:40,top-sentences:12,llmlingua:6"
PEERS = "langchain-embeddings-filter:12,llama-index-sentence-optimizer:12"
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
        assert self.process.stdin and self.process.stdout
        self.given, self.taken = self.process.stdin, self.process.stdout
        self.ask([first])
        self.before = used(self.process.pid)[0]

    def ask(self, questions: Sequence[bytes]) -> None:
        """Send the questions while their records are read."""
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(lambda: (self.given.writelines(questions), self.given.flush()))
            for _ in questions:
                record = json.loads(self.taken.readline())
                if "error" in record:
                    raise SystemExit(record["error"])
            sent.result()

    def end(self) -> tuple[float, float]:
        """Seconds of processors since the first question, and megabytes at most; it ends."""
        found = used(self.process.pid)[0] - self.before, peak(self.process.pid)
        self.given.close()
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


def on_ray(load: Load, system: str, llm: str) -> Took:
    """Two actors with a core each, behind the first four parts."""
    from ragsieve.integrations.ray import connected, filter_files

    with tempfile.TemporaryDirectory() as folder, connected(None, 2):
        source = Path(folder) / "questions.jsonl"
        source.write_bytes(b"".join(line.rstrip() + b"\n" for line in [load.first, *load.lines]))
        built = ragsieve.load(system, llm=llm)
        options: dict[str, Any] = {
            "label": system,
            "part_bytes": PART_BYTES,
            "resources": {"num_cpus": 1},
        }
        _, parts = filter_files(str(source), f"{folder}/kept", built, **options)
        for _ in range(4):
            next(parts)
        before, began = used(os.getpid())[0], time.monotonic()
        questions = sum(part["questions"] for part in parts)
        seconds, cpu = time.monotonic() - began, used(os.getpid())[0] - before
        return Took(questions, seconds, cpu, peak(os.getpid()))


def rows(o: argparse.Namespace, load: Load, system: str) -> dict[str, Callable[[], Took]]:
    """How a system is run, by the row's name."""
    llm = o.llm if "LLM" in systems.SYSTEMS[system].needs else "fake:echo"
    options = ["--system", system, "--llm", llm]
    ways = {
        "one process, one at a time": lambda: piped(load, [*options, "--workers", "1"]),
        "one process": lambda: piped(load, options),
    }
    if system in o.peers:
        return ways
    return {
        **ways,
        "two processes": lambda: piped(load, options, 2),
        f"server, {CLIENTS} clients": lambda: served(o.questions, options, o.seconds),
        "Ray, two workers": lambda: on_ray(load, system, llm),
    }


def main() -> None:
    """Print the table."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("questions", nargs="?", type=Path, default=SAMPLE, help="JSONL, .gz too")
    about.add_argument("--systems", default=SYSTEMS, help="with commas between (%(default)s)")
    about.add_argument("--peers", default=PEERS, help="the same of one process (%(default)s)")
    about.add_argument("--llm", default="fake:echo", help="of systems with one (%(default)s)")
    about.add_argument("--rounds", type=int, default=1, help="rounds, one after another")
    about.add_argument("--seconds", type=float, default=10, help="of the server (%(default)s)")
    o = about.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} before\n\n{HEAD}")
    print("|" + "---|" * (HEAD.count(" |")), flush=True)
    for entry in filter(None, f"{o.systems},{o.peers}".split(",")):
        system, _, limit = entry.partition(":")
        load = Load.read(o.questions, int(limit or 20))
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
