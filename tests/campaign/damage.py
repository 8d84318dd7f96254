"""Files that were damaged: an index, a run, records, a trained filter, sources, a cache."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ragsieve_research.artifacts.folder import save
from ragsieve_research.artifacts.recipe import Base, Trained

from .campaign import Kind
from .commands import ASKED, FAKES, documents, here, questions, sources
from .kills import BUILD, WORK, prepare_bench
from .laws import holds

ASK = ("ask", "-q", ASKED, *FAKES)
TOP = ("--system", "top-sentences")


class Target(NamedTuple):
    """Files to damage, a command that reads them, and whether there must be the right result.

    Where ``checked``, there may be an error in its place, but no other result.
    """

    prepare: Callable[[], Any]
    files: tuple[str, ...]
    command: tuple[str, ...]
    exact: bool = False
    checked: bool = False


def prepare_index():
    documents(Path(), "d.jsonl", 0, 300)
    here(*BUILD)


def prepare_run():
    prepare_bench(Path(), 12)
    here(*BENCH)


def prepare_filter():
    questions(Path(), 20)
    here("filter", *TOP, *FAKES, "--input", "q.jsonl", "--output", "o.jsonl")


def prepare_cache():
    documents(Path(), "d.jsonl", 0, 20)
    here(*CACHED)


def prepare_trained():
    Path("a.txt").write_text("Song 7 was sung by Seals. It rained.")
    values = {"min_keep": 1, "order": "score"}
    bases = {"generator": Base("fake:echo"), "embedder": Base("fake:hashing")}
    save("f", Trained(**bases, options=values), {})


BENCH = WORK["bench"].command
AGAIN = ("--input", "q.jsonl", "--output", "o.jsonl")
SEARCHED = (*ASK, *TOP, "--source", "sources:sources.toml")
CACHED = (*ASK, *TOP, "--cache", "c", "--json", "d.jsonl")
TARGETS = {
    "index": Target(
        prepare_index, ("i/index.sqlite",),
        ("index", "search", "i", "-q", ASKED, "-k", "5", "--json"), checked=True,
    ),
    "index by bm25": Target(
        prepare_index, ("i/index.sqlite",),
        (*ASK, *TOP, "--source", "index:i", "--source-option", "by=bm25"),
    ),
    "index add": Target(prepare_index, ("i/index.sqlite",), ("index", "add", "i", "d.jsonl")),
    "run": Target(prepare_run, ("r/run.json", "r/records", "r/latency", "r/questions"), BENCH),
    "report": Target(prepare_run, ("r/run.json", "r/records", "r/questions"), ("report", "r")),
    "records": Target(prepare_filter, ("o.jsonl",), ("filter", *TOP, *FAKES, *AGAIN)),
    "questions": Target(
        prepare_filter, ("q.jsonl",),
        ("filter", *TOP, *FAKES, "--input", "q.jsonl", "--output", "n.jsonl"),
    ),
    "cache": Target(prepare_cache, ("c",), CACHED, exact=True),
    "trained": Target(
        prepare_trained, ("f/filter.json",), ("ask", "-q", ASKED, "--system", "./f", "a.txt")
    ),
    "sources": Target(sources, ("sources.toml",), SEARCHED),
    "pages": Target(sources, ("music.html",), SEARCHED),
}  # fmt: skip
DAMAGE = ("flip", "cut", "nul", "zeros", "noise", "twice", "empty", "folder", "byte", "huge number")


@cache
def pristine(name):
    """A folder that the target's files lie in, and what the command says there."""
    folder = Path(tempfile.mkdtemp())
    with chdir(folder):
        TARGETS[name].prepare()
    with chdir(shutil.copytree(folder, folder / "copy")):
        ended = here(*TARGETS[name].command)
    shutil.rmtree(folder / "copy")
    holds("it works undamaged", ended.code == 0, ended)
    return folder, ended


def draw(rng):
    """A target, one of its files, and what happens to it where, in shares of its size."""
    target = rng.choice([*TARGETS])
    return {
        "target": target,
        "file": rng.choice(TARGETS[target].files),
        "which": rng.random(),
        "damage": rng.choice(DAMAGE),
        "at": [rng.random() for _ in range(rng.choice([1, 1, 5, 30]))],
        "bytes": [rng.randrange(256) for _ in range(16)],
    }


def check(value, folder):
    """One clear line, or a result; of what has checksums, the right one."""
    target = TARGETS[value["target"]]
    source, expected = pristine(value["target"])
    shutil.copytree(source, folder, dirs_exist_ok=True)
    path = folder / value["file"]
    if path.is_dir():
        inside = sorted(path.iterdir())
        path = inside[int(value["which"] * len(inside))]
    spoil(path, value["damage"], value["at"], bytes(value["bytes"]))
    ended = here(*target.command)
    holds("it ends", ended.code in (0, 1, 2), ended)
    if target.exact:
        code = 2 if value["damage"] == "folder" else 0  # in a file's place
        holds("what is damaged is made anew", ended.code == code, ended)
    keys = value["damage"] in ("flip", "byte")  # one may be hit: a word is lost
    if ended.code == 0 and (target.exact or (target.checked and not keys)):
        holds("a result is right", _answer(ended) == _answer(expected), ended.out)
    return 1


def _answer(ended):
    return ended.out.split('"trace"')[0]


def spoil(path, damage, places, noise):
    """Damage a file."""
    data = bytearray(path.read_bytes())
    at = [int(place * len(data)) for place in places] if data else []
    if damage == "folder":
        path.unlink()
        path.mkdir()
        return
    if damage in ("flip", "byte"):
        for place in at:
            data[place] = data[place] ^ (1 << noise[0] % 8) if damage == "flip" else noise[0]
    elif damage == "huge number" and (digits := [n for n in at if chr(data[n]).isdigit()]):
        data[digits[0] : digits[0]] = b"9" * 400
    elif at:
        where = at[0]
        data = {
            "cut": lambda: data[:where],
            "nul": lambda: data + bytes(512),
            "zeros": lambda: data[:where] + bytes(len(data) - where),
            "noise": lambda: data[:where] + noise + data[where + len(noise) :],
            "twice": lambda: data + data[where:],
            "empty": lambda: bytearray(),
            "huge number": lambda: data[:where] + b"1e999" + data[where:],
        }[damage]()
    path.write_bytes(data)


DAMAGED = Kind("damage", 3_000, 40, draw, check)
