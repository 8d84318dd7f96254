"""Processor seconds and memory of first calls from two source trees, in turns.

    python benchmarks/cold_start.py BEFORE/src AFTER/src

Bytecode is written first; a pair runs both trees one after the other, so that others' load counts
for both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PAIRS = 7
CALL = "import ragsieve; ragsieve.load('finefilter')('Who?', ['It rained. He slept.', 'Cats eat.'])"
QUESTION = "Who designed the Eiffel Tower?"
EXAMPLE = str(Path(__file__).parents[1] / "examples" / "eiffel.jsonl")
COMMANDS = {
    "ragsieve --version": ["-m", "ragsieve", "--version"],
    "load and a first call": ["-c", CALL],
    "ragsieve filter": ["-m", "ragsieve", "filter", "-q", QUESTION, EXAMPLE],
}


def run(source: str, arguments: list[str], cache: str) -> tuple[float, float]:
    """User and system seconds, and the peak of memory in MB."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPATH": source, "PYTHONPYCACHEPREFIX": cache}
    null = subprocess.DEVNULL
    child = subprocess.Popen([sys.executable, *arguments], env=env, stdout=null, stderr=null)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, (source, arguments)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print a row a command: medians before and after, and their ratio."""
    trees = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        caches = [str(Path(folder, name)) for name in ("before", "after")]
        for name, arguments in COMMANDS.items():
            pairs = [
                [run(tree, arguments, cache) for tree, cache in zip(trees, caches, strict=True)]
                for _ in range(PAIRS + 1)
            ][1:]
            before, after = (statistics.median(p[i][0] for p in pairs) for i in (0, 1))
            memory = [max(p[i][1] for p in pairs) for i in (0, 1)]
            seconds = f"{before:.2f} | {after:.2f} | {after / before:.2f}"
            print(f"| `{name}` | {seconds} | {memory[0]:.0f} | {memory[1]:.0f} |")


if __name__ == "__main__":
    main()
