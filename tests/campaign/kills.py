"""Commands that are killed at random moments and started again."""

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .campaign import Kind
from .commands import FAKES, RUN, TIMES, documents, found, here, questions, records, sources, start
from .laws import holds


class Work(NamedTuple):
    """What is killed: its files, its command, and what it leaves."""

    prepare: Callable[[Path], Any]
    command: tuple[str, ...]
    result: Callable[[Path], Any]


BUILD = ("index", "build", "i", "d.jsonl", "--embedder", "fake:hashing")


def prepare_bench(folder, count=150):
    questions(folder, count, "mine.jsonl")
    (folder / "run.toml").write_text(RUN)


def prepare_added(folder, count=1200):
    documents(folder, "d.jsonl", 0, count // 4)
    documents(folder, "more.jsonl", count // 5, count)
    with chdir(folder):
        here(*BUILD)


def prepare_training(folder, count=100):
    questions(folder, count)
    sources(folder)


def trained(folder):
    values = json.loads(TIMES.sub('"seconds": 0', (folder / "made/router.json").read_text()))
    del values["files"]["router.json"]  # of its times, too
    return values, (folder / "made/router.safetensors").read_bytes()


BATCH = ("filter", "--system", "top-sentences", *FAKES, "--input", "q.jsonl", "--output", "o.jsonl")
WORK = {
    "filter": Work(
        lambda folder: questions(folder, 1500),
        (*BATCH, "--workers", "2"),
        lambda folder: records(folder / "o.jsonl"),
    ),
    "bench": Work(
        prepare_bench,
        ("bench", "run.toml", "--data", ".", "--output", "r"),
        lambda folder: records(*(folder / "r" / "records").glob("*.jsonl")),
    ),
    "index build": Work(lambda folder: documents(folder, "d.jsonl", 0, 1500), BUILD, found),
    "index add": Work(prepare_added, ("index", "add", "i", "more.jsonl"), found),
    "train": Work(
        prepare_training,
        ("train", "router", "made", "q.jsonl", "--sources", "sources.toml", *FAKES),
        trained,
    ),
}


@cache
def undisturbed(name):
    """What the command leaves, and how long it takes."""
    work = WORK[name]
    with tempfile.TemporaryDirectory() as folder:
        work.prepare(Path(folder))
        began = time.monotonic()
        finish(Path(folder), work.command)
        return work.result(Path(folder)), time.monotonic() - began


def finish(folder, command):
    """Run a command to its end."""
    process = start(folder, *command)
    _, err = process.communicate()
    holds("it ends well", process.returncode == 0, err.decode()[-300:])


def draw(rng):
    """A command, and when it is killed, in shares of the time it takes."""
    moments = [round(rng.uniform(0.1, 1), 3) for _ in range(rng.randrange(1, 5))]
    return {"command": rng.choice([*WORK]), "moments": moments}


def check(value, folder):
    """The result is that of an undisturbed run; how many kills there were."""
    work = WORK[value["command"]]
    expected, seconds = undisturbed(value["command"])
    work.prepare(folder)
    kills = 0
    for moment in value["moments"]:
        process = start(folder, *work.command)
        time.sleep(moment * seconds)
        kills += process.poll() is None
        process.kill()
        process.communicate()
    finish(folder, work.command)
    holds("nothing is lost or doubled", work.result(folder) == expected)
    return kills


KILLS = Kind("kills", 100, 6, draw, check)
