"""A wall clock that goes back or leaps, and files from the future."""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .campaign import Kind
from .commands import FAKES, documents, found, here, questions, records
from .kills import BATCH, prepare_bench, prepare_training, trained
from .laws import holds

ALONE = (*BATCH, "--workers", "1", "--cache", "c")  # else who pays for what is shared is chance
BENCH = ("bench", "run.toml", "--data", ".", "--output", "r")
WORK = {  # files, commands one after the other, what they leave
    "filter": (
        partial(questions, count=40),
        ((*ALONE, "--limit", "20"), ALONE),
        lambda folder: records(folder / "o.jsonl"),
    ),
    "bench": (
        prepare_bench,
        ((*BENCH, "--limit", "5"), (*BENCH, "--limit", "10")),
        lambda folder: records(*(folder / "r" / "records").glob("*.jsonl")),
    ),
    "index": (
        partial(documents, name="d.jsonl", start=0, stop=80),
        (
            ("index", "build", "i", "d.jsonl", "--embedder", "fake:hashing"),
            ("index", "add", "i", "d.jsonl"),
        ),
        found,
    ),
    "train": (
        prepare_training,
        (("train", "router", "made", "q.jsonl", "--sources", "sources.toml", *FAKES),),
        trained,
    ),
}


@contextmanager
def wrong(leaps: list[float]) -> Iterator[None]:
    """A wall clock that leaps at every reading; monotonic ones never do, by their contract."""
    real, readings = time.time, cycle(leaps)
    time.time = lambda: real() + next(readings)
    try:
        yield
    finally:
        time.time = real


@cache
def usual(name: str) -> Any:
    """What the commands leave where clocks go well."""
    home = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return run(name, [0.0], [], Path(folder))
        finally:
            os.chdir(home)


def run(name: str, leaps: list[float], ages: list[float], folder: Path) -> Any:
    """What the commands leave; files have other ages before each."""
    prepare, commands, result = WORK[name]
    prepare(folder)
    for command in commands:
        for n, path in enumerate(sorted(folder.rglob("*")) if ages else []):
            when = time.time() - ages[n % len(ages)]
            os.utime(path, (when, when))
        with wrong(leaps):
            ended = here(*command)
        holds("it ends well", ended.code == 0, ended)
    return result(folder)


def draw(rng: random.Random) -> dict[str, Any]:
    """A command, leaps in seconds, ages of files in seconds."""
    leaps = [rng.choice([0, -1, -3600, -1e9, 1e9, 0.001]) for _ in range(rng.randrange(1, 6))]
    ages = [rng.choice([0, -1e6, 1e6, 1e9, -1e9]) for _ in range(rng.randrange(1, 4))]
    return {"command": rng.choice([*WORK]), "leaps": leaps, "ages": ages}


def check(value: dict[str, Any], folder: Path) -> int:
    """The result is that of clocks that go well."""
    expected = usual(value["command"])
    same = run(value["command"], value["leaps"], value["ages"], folder) == expected
    holds("a clock changes no result", same)
    return 1


CLOCK_KIND = Kind("clocks", 60, 2, draw, check)
