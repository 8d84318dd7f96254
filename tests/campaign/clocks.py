"""A wall clock that goes back or leaps, and files from the future."""

import os
import time
from contextlib import chdir
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from .campaign import Kind
from .commands import documents, here, questions
from .kills import BATCH, WORK
from .laws import holds

ALONE = (*BATCH, "--workers", "1", "--cache", "c")  # else who pays for what is shared is chance
BENCH = WORK["bench"].command
COMMANDS = {  # one after the other
    "filter": ((*ALONE, "--limit", "20"), ALONE),
    "bench": ((*BENCH, "--limit", "5"), (*BENCH, "--limit", "10")),
    "index build": (WORK["index build"].command, ("index", "add", "i", "d.jsonl")),
    "train": (WORK["train"].command,),
}
LESS = {
    "filter": partial(questions, count=40),
    "index build": partial(documents, name="d.jsonl", start=0, stop=80),
}


def wrong(leaps):
    """A wall clock that leaps at every reading; monotonic ones never do, by their contract."""
    real, readings = time.time, cycle(leaps)
    return patch("time.time", lambda: real() + next(readings))


@cache
def usual(name):
    """What the commands leave where clocks go well."""
    with TemporaryDirectory() as folder, chdir(folder):
        return run(name, [0.0], [], Path(folder))


def run(name, leaps, ages, folder):
    """What the commands leave; files have other ages before each."""
    LESS.get(name, WORK[name].prepare)(folder)
    for command in COMMANDS[name]:
        for n, path in enumerate(sorted(folder.rglob("*")) if ages else []):
            when = time.time() - ages[n % len(ages)]
            os.utime(path, (when, when))
        with wrong(leaps):
            ended = here(*command)
        holds("it ends well", ended.code == 0, ended)
    return WORK[name].result(folder)


def draw(rng):
    """A command, leaps in seconds, ages of files in seconds."""
    leaps = [rng.choice([0, -1, -3600, -1e9, 1e9, 0.001]) for _ in range(rng.randrange(1, 6))]
    ages = [rng.choice([0, -1e6, 1e6, 1e9, -1e9]) for _ in range(rng.randrange(1, 4))]
    return {"command": rng.choice([*COMMANDS]), "leaps": leaps, "ages": ages}


def check(value, folder):
    """The result is that of clocks that go well."""
    expected = usual(value["command"])
    same = run(value["command"], value["leaps"], value["ages"], folder) == expected
    holds("a clock changes no result", same)
    return 1


CLOCK_KIND = Kind("clocks", 60, 2, draw, check)
