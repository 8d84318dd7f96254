"""Waiting times of small requests beside large ones, and memory where clients come and go (Linux).

    python benchmarks/large_bodies.py
    python benchmarks/large_bodies.py --other ../before/src --rounds 3   # another version beside

Two clients send large bodies of a kind, each the next when it has its reply, while one sends small
requests of five documents: the 95th percentile of its waiting times alone, beside, and their ratio,
of one run, so that a slower machine counts for both. Then 64 clients send 5,000 requests, of which
every fifth is given up after a drawn time, beside 300 connections that send a head byte by byte:
megabytes of the server and of what it has started before and after, and errors that are no refusal.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from server_load import READY_S, SAMPLE, serving, used

from ragsieve.run.questions import lines, parse_record

DRAWN = random.Random(0)
WORDS = [
    w for _, line in lines(SAMPLE) for d in parse_record(line).documents for w in d.text.split()
]
CLIENTS, REQUESTS, SLOW = 64, 5000, 300


def words(count: int) -> str:
    """Words at random."""
    return " ".join(DRAWN.choices(WORDS, k=count))


def small(sentences: int = 6) -> dict[str, Any]:
    """A request that no other is like."""
    texts = [" ".join(f"{words(12)}." for _ in range(sentences)) for _ in range(5)]
    return {"query": f"Who sang {words(3)}?", "documents": texts}


LARGE: dict[str, Callable[[], list[Any]]] = {
    "4 MB of words": lambda: [words(900_000)[:4_000_000]],
    "999 documents of 540 characters": lambda: [words(150)[:540] for _ in range(999)],
    "10 MB of names": lambda: [{"text": "a", words(9): 1} for _ in range(900)] + ["a" * 9_900_000],
    "10 MB of line breaks": lambda: ["\n" * 10_000_000],
}


async def wait(http: httpx.AsyncClient, seconds: float) -> list[float]:
    """Waiting times of one client's small requests."""
    waits, ends = [], time.monotonic() + seconds
    while (began := time.monotonic()) < ends:
        (await http.post("/v1/filter", json=small())).raise_for_status()
        waits.append(time.monotonic() - began)
    return waits


async def beside(http: httpx.AsyncClient, kind: str, seconds: float) -> list[float]:
    """Waiting times alone, and beside two clients with large bodies: 95th percentiles, medians."""
    bodies = [
        json.dumps({"query": f"Who sang {n}?", "documents": LARGE[kind]()}).encode()
        for n in range(4)
    ]
    alone = await wait(http, seconds)

    async def large(some: list[bytes]) -> None:
        for body in itertools.cycle(some):
            await http.post(
                "/v1/filter", content=body, headers={"content-type": "application/json"}
            )

    tasks = [asyncio.create_task(large(bodies[n::2])) for n in (0, 1)]
    await asyncio.sleep(1)
    others = await wait(http, seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [*(quantiles(w, n=20)[18] for w in (alone, others)), *map(median, (alone, others))]


async def coming_and_going(http: httpx.AsyncClient) -> str:
    """Send `REQUESTS`; what came of them."""
    codes: list[int] = []
    left = iter(range(REQUESTS))

    async def client() -> None:
        for number in left:
            asked = http.post("/v1/filter", json=small(1))
            seconds = DRAWN.uniform(0, 0.5) if number % 5 == 0 else 120
            with suppress(TimeoutError):
                codes.append((await asyncio.wait_for(asked, seconds)).status_code)

    async def slow() -> None:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port)
            for byte in b"POST /v1/filter HTTP/1.1\r\nX: " + b"x" * 10_000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(1)

    heads = [asyncio.create_task(slow()) for _ in range(SLOW)]
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    for head in heads:
        head.cancel()
    wrong = sum(code not in (200, 429, 503) for code in codes)
    return f"{len(codes)} of {REQUESTS} answered, {codes.count(200)} by 200, {wrong} by an error"


async def measured(server: Any, o: argparse.Namespace, name: str) -> None:
    """Print the rows of one server."""
    pid, url = server
    async with httpx.AsyncClient(base_url=url, timeout=150, limits=httpx.Limits()) as http:
        async with asyncio.timeout(READY_S):
            while (await http.get("/ready")).status_code != 200:
                await asyncio.sleep(0.1)
        await wait(http, 2)
        began = used(pid)[1]
        for kind in o.kinds:
            alone, others, middle, shared = await beside(http, kind, o.seconds)
            figures = f"{alone:.3f} | {others:.3f} | {others / alone:.1f} | {shared / middle:.1f}"
            print(f"| {name} | {kind} | {figures} | {used(pid)[1]:.0f} |", flush=True)
        if o.no_clients:
            return
        if o.kinds:
            await asyncio.sleep(60)
        before = used(pid)[1]
        print(f"\n{name}: {began:.0f} MB at first, {before:.0f} MB a minute after the last")
        said = await coming_and_going(http)
        await asyncio.sleep(3)
        print(f"{name}: {said}; {before:.0f} MB before, {used(pid)[1]:.0f} MB after", flush=True)


def main() -> None:
    """Print the table."""
    about = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about.add_argument("--kinds", nargs="*", default=[*LARGE], choices=[*LARGE], metavar="KIND")
    about.add_argument("--seconds", type=float, default=20, help="alone, and beside (%(default)s)")
    about.add_argument("--rounds", type=int, default=1, help="rounds, one after another")
    about.add_argument("--other", type=Path, action="append", help="src of another version")
    about.add_argument("--no-clients", action="store_true", help="without the 5,000 requests")
    o = about.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} before\n")
    print("| server | beside | p95 alone, s | p95 beside, s | times | median, times | MB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    versions = [*((str(one), one) for one in o.other or []), ("this", None)]
    for _, (name, source) in itertools.product(range(o.rounds), versions):
        with serving(source, [], len(os.sched_getaffinity(0))) as server:
            asyncio.run(measured(server, o, name))
    print(f"\nload average {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
