"""Requests a second and waiting times of `ragsieve serve`, by clients and by load (Linux).

    python benchmarks/server_load.py hotpotqa.jsonl.gz
    python benchmarks/server_load.py --loads 32 --seconds 600           # memory over 10 minutes
    python benchmarks/server_load.py --cores 1,2 --loads 32 --rounds 3  # what a second core brings
    python benchmarks/server_load.py --other ../before/src --rounds 3   # another version beside

It starts the server on a free port of 127.0.0.1, sends every question under a number of its own, so
that the server remembers none, and ends the server. A load is a number of clients, each of which
sends its next question when it has its reply; or `even` and `poisson`: arrivals at 80% of the most
requests a second that clients got, equally far apart or at random.

CPU is the server's seconds of processors a request, the time that it takes on one core: beside
other programs it is what can be compared. One client's question is read on all cores, so that more
clients only fill what it leaves idle: cores / CPU is the most that any number of them can get.
Ratios of the same round stand at the end, so that a slower machine counts for both.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import httpx

from ragsieve.run.questions import lines, parse_record

SAMPLE = Path(__file__).parents[1] / "src/ragsieve_research/datasets/sample.jsonl"
SHARE = 0.8
READY_S = 300
TICKS = os.sysconf("SC_CLK_TCK")
HEAD = (
    "| server | cores | load | requests/s | p50 s | p95 s | mean s | CPU s | MB before | MB after |"
)
Send = Callable[[], Coroutine[Any, Any, None]]


@dataclass
class Row:
    """What a load came to."""

    version: str
    cores: int
    load: str
    seconds: float
    waits: list[float]
    cpu: float
    megabytes: tuple[float, float]

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.waits) / self.seconds

    def __str__(self) -> str:
        cuts = quantiles(self.waits, n=20)
        figures = [self.rate, cuts[9], cuts[18], mean(self.waits), self.cpu / len(self.waits)]
        numbers = [*(f"{x:.3f}" for x in figures), *(f"{mb:.0f}" for mb in self.megabytes)]
        return f"| {self.version} | {self.cores} | {self.load} | {' | '.join(numbers)} |"

    @property
    def tail(self) -> float:
        """The 95th percentile of waiting times, in times of one core's seconds a request."""
        return quantiles(self.waits, n=20)[18] * len(self.waits) / self.cpu


@contextmanager
def serving(source: Path | None, arguments: list[str], cores: int) -> Iterator[Any]:
    """The server's process and its address, until the block ends."""
    program = [sys.executable, "-m", "ragsieve", "serve", "--port", "0", "--limit-queue", "9999"]
    environment = {**os.environ, **({"PYTHONPATH": str(source)} if source else {})}
    allowed = sorted(os.sched_getaffinity(0))
    process = subprocess.Popen(
        [*program, "--limit-per-client", "9999", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, allowed[:cores]),
    )
    assert process.stdout
    try:
        yield process.pid, process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def used(pid: int) -> tuple[float, float]:
    """Seconds of processors and megabytes in memory of a process and its children."""
    task = Path(f"/proc/{pid}/task/{pid}/children")
    children = [used(int(child)) for child in task.read_text().split()]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    own = (int(fields[11]) + int(fields[12])) / TICKS, pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return own[0] + sum(c[0] for c in children), own[1] + sum(c[1] for c in children)


async def closed(clients: int, ends: float, send: Send) -> None:
    """So many clients, each with one request at a time."""

    async def client() -> None:
        while time.monotonic() < ends:
            await send()

    await asyncio.gather(*(client() for _ in range(clients)))


async def arriving(load: str, rate: float, ends: float, send: Send) -> None:
    """Requests that do not wait for others."""
    drawn = random.Random(0)
    at, tasks = time.monotonic(), list[asyncio.Task[None]]()
    while at < ends:
        await asyncio.sleep(at - time.monotonic())
        tasks.append(asyncio.create_task(send()))
        at += 1 / rate if load == "even" else drawn.expovariate(rate)
    await asyncio.gather(*tasks)


async def waits_of(
    server: Any, load: str, rate: float, seconds: float, bodies: Iterator[Any]
) -> dict[str, Any]:
    """One load for so many seconds: the figures of its row."""
    pid, url = server
    waits: list[float] = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as http:

        async def send() -> None:
            body, began = next(bodies), time.monotonic()
            (await http.post("/v1/filter", json=body)).raise_for_status()
            waits.append(time.monotonic() - began)

        async with asyncio.timeout(READY_S):
            while (await http.get("/ready")).status_code != 200:
                await asyncio.sleep(0.1)
        await send()
        waits.clear()
        cpu, before = used(pid)
        began = time.monotonic()
        if load.isdigit():
            await closed(int(load), began + seconds, send)
        else:
            await arriving(load, rate, began + seconds, send)
        took = time.monotonic() - began
        after = used(pid)
    figures = {"seconds": took, "waits": waits, "cpu": after[0] - cpu}
    return {**figures, "megabytes": (before, after[1])}


def bodies_of(path: Path) -> Iterator[dict[str, Any]]:
    """Requests without end: the questions of a file, each time with another number."""
    examples = [parse_record(line) for _, line in itertools.islice(lines(path), 500)]
    for n, example in enumerate(itertools.cycle(examples)):
        texts = [document.text for document in example.documents]
        yield {"query": f"{example.query.text} ({n})", "documents": texts}


def rounds(o: argparse.Namespace) -> Iterator[Row]:
    """The table's rows, one after another."""
    bodies = bodies_of(o.questions)
    others = [(str(source), source) for source in o.other or []]
    for _, cores, (version, source) in itertools.product(
        range(o.rounds), o.cores, [("this", None), *others]
    ):
        with serving(source, o.serve.split(), cores) as server:
            rate = 1.0
            for load in o.loads.split(","):
                figures = asyncio.run(waits_of(server, load, SHARE * rate, o.seconds, bodies))
                row = Row(version, cores, load, **figures)
                rate = max(rate, row.rate) if load.isdigit() else rate
                yield row


def ratios(rows: Sequence[Row]) -> Iterator[str]:
    """Requests a second against the table's first load, cores and version; waits at 80%."""
    rates: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if not row.load.isdigit():
            yield f"{row.version}, {row.cores} cores, {row.load}: p95 is {row.tail:.1f} times CPU s"
            continue
        rates.setdefault((row.version, row.cores, row.load), []).append(row.rate)
    first = next(iter(rates), ())
    for key, own in rates.items():
        for place, name in enumerate(("version", "cores", "load")):
            other = (*key[:place], first[place], *key[place + 1 :])
            if other != key and other in rates:
                times = median(a / b for a, b in zip(own, rates[other], strict=True))
                label = "{}, {} cores, {} clients".format(*key)
                yield f"{label} against {name} {first[place]}: {times:.2f} times the requests/s"


def main() -> None:
    """Print the table, then ratios."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("questions", nargs="?", type=Path, default=SAMPLE, help="JSONL, .gz too")
    about.add_argument("--loads", default="1,8,32,even,poisson", help="in this order (%(default)s)")
    about.add_argument("--seconds", type=float, default=20, help="of each load (%(default)s)")
    about.add_argument("--rounds", type=int, default=1, help="rounds, one after another")
    about.add_argument(
        "--cores",
        type=numbers,
        default=[len(os.sched_getaffinity(0))],
        help="processors that the server may use, as 1,2; else all",
    )
    about.add_argument("--other", type=Path, action="append", help="src of another version")
    about.add_argument("--serve", default="", help="more options of `ragsieve serve`")
    o = about.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} before\n\n{HEAD}")
    print("|" + "---|" * (HEAD.count(" |")), flush=True)
    rows = []
    for row in rounds(o):
        print(row, flush=True)
        rows.append(row)
    print(f"\nload average {os.getloadavg()[0]:.1f} after\n", *ratios(rows), sep="\n")


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between."""
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
