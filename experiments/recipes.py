"""Run the small variant of every recipe to its end, and list how long each takes.

    python experiments/recipes.py --data ../shared/data
    python experiments/recipes.py --data ../shared/data --only winnowrag chunkrag --limit 3
    python experiments/recipes.py --data ../shared/data --llm openai:NAME --judge openai:NAME

Runs in the repository's folder, where it first makes what recipes name: indexes, routers, filters
and generators, each from few questions. What exists is not made again; a recipe starts anew.
Further options are those of `ragsieve bench`: another model, ``--dry-run``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

HERE = Path(__file__).resolve().parent
INDEXED = ("popqa", "nq", "hotpotqa", "multihoprag")
ROUTED = ("popqa", "multihoprag", "nq")
EPSILONS = ("0", "0.3", "0.4", "0.5")
OUTPUT = Path("runs/recipes")


def ragsieve(*arguments: str) -> int:
    """Exit code of a command; what it prints stays in a file."""
    with (OUTPUT / "log.txt").open("a", encoding="utf-8") as log:
        print("$ ragsieve", *arguments, file=log, flush=True)
        command = [sys.executable, "-m", "ragsieve", *arguments]
        return subprocess.run(command, stdout=log, stderr=log).returncode


def prepare(recipe: str, data: Path) -> None:
    """Make the indexes and trained models that a recipe names and that are not there."""
    if "indexes/" in recipe or "three.toml" in recipe:
        for name in INDEXED:
            if not Path("indexes", name).exists():
                ragsieve("index", "build", f"indexes/{name}", name, "--data", str(data))
    if "routers/three" in recipe:
        train_routers(data)
    train_filters(data, recipe.partition("[small]")[2])
    if "trained/" in recipe:
        train_compared(data)
    train_generators(data, recipe.partition("[small]")[2])


def train_routers(data: Path) -> None:
    routed = OUTPUT / "routed.jsonl"
    with routed.open("w", encoding="utf-8") as out:
        for name in ROUTED:
            with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
                for line in islice(lines, 40):
                    record = {**json.loads(line), "metadata": {"sources": [name]}}
                    out.write(json.dumps(record) + "\n")
    for form in ("light", "llm"):
        if not Path("routers", f"three-{form}").exists():
            how = ["--sources", str(HERE / "sources/three.toml"), "--form", form, "--epochs", "1"]
            ragsieve("train", "router", f"routers/three-{form}", str(routed), *how)


def train_filters(data: Path, small: str) -> None:
    little = [*few(data), "--limit", "5", "--labelled", "4", "--extractor", "write"]
    for name, epsilon in (("tuned", "0"), *((f"epsilon-{e}", e) for e in EPSILONS)):
        if f'"filters/{name}"' in small and not Path("filters", name).exists():
            ragsieve("train", "finefilter", f"filters/{name}", *little, "--epsilon", epsilon)


def train_compared(data: Path) -> None:
    made = {"recomp": "recomp --limit 5", "exit": "exit --limit 5", "filco": "writer --limit 5"}
    made["bottleneck"] = "writer --by ib --limit 2 --documents 1"
    for name, options in made.items():
        kind, *little = options.split()
        if not Path("trained", name).exists():
            ragsieve("train", kind, f"trained/{name}", *few(data), *little)


def train_generators(data: Path, small: str) -> None:
    made = {"sft": "", "retrobust": "--context mixed --documents 1", "sail": "--target informative"}
    for name, options in (made | {"instructrag": "--target rationale"}).items():
        if f"./generators/{name}" in small and not Path("generators", name).exists():
            little = [*few(data), "--limit", "5", *options.split()]
            ragsieve("train", "generator", f"generators/{name}", *little)


def few(data: Path) -> list[str]:
    """What a training reads, once."""
    return ["nq", "--data", str(data), "--epochs", "1"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of recipes' names")
    parser.add_argument("--limit", type=int, default=1, help="questions of each data set")
    options, more = parser.parse_known_args()
    options.data = options.data.absolute()
    os.chdir(HERE.parent)  # where recipes look for their sources
    OUTPUT.mkdir(parents=True, exist_ok=True)
    for recipe in sorted(HERE.glob("*.toml")):
        if recipe.stem.startswith(tuple(options.only)):
            prepare(recipe.read_text(encoding="utf-8"), options.data)
            output = OUTPUT / f"{recipe.stem}-{time.time_ns()}"
            run = ["--small", "--limit", str(options.limit), "--data", str(options.data), *more]
            start = time.monotonic()
            code = ragsieve("bench", str(recipe), *run, "--output", str(output))
            ended = f"ended with {code}: see {OUTPUT}/log.txt" if code else ""
            print(f"{recipe.stem:26} {time.monotonic() - start:6.0f} s  {ended}", flush=True)


if __name__ == "__main__":
    main()
