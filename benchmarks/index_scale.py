"""Build, change, search and kill an index of synthetic passages: seconds, bytes, whole states.

    python benchmarks/index_scale.py 100000 /tmp/index --kills 20

Words have Zipf's frequencies and questions are pieces of passages with 6 to 12 words, so that
common words stand in them as in real ones. The embedder hashes words to 384 numbers.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np

from ragsieve.models.fake import HashingEmbedder
from ragsieve.types import Document, Query
from ragsieve_research.retrieve.corpus import Corpus

T = TypeVar("T")
VOCABULARY = 180_000
EMBEDDER = HashingEmbedder(384)
CHANGE = """
import random, sys
from benchmarks.index_scale import EMBEDDER
from ragsieve_research.retrieve import Corpus
from ragsieve.types import Document
corpus = Corpus(sys.argv[1], EMBEDDER)
print("ready", flush=True)
for n in range(10**6):
    corpus.add([Document(f"kill-{sys.argv[2]}-{n}-{i}", f"w1 w{n}") for i in range(3)])
    print(n, flush=True)
"""


def passages(n: int) -> Iterator[Document]:
    """Documents of 20 to 150 words."""
    random_ = np.random.default_rng(0)
    chances = 1 / (np.arange(VOCABULARY) + 2.7)
    chances /= chances.sum()
    for start in range(0, n, 1000):
        lengths = np.clip(random_.normal(70, 20, 1000).astype(int), 20, 150)
        drawn = np.split(random_.choice(VOCABULARY, lengths.sum(), p=chances), lengths.cumsum())
        for i, numbers in enumerate(drawn[: min(1000, n - start)]):
            yield Document(str(start + i), " ".join(f"w{number}" for number in numbers))


def questions(n: int) -> list[Query]:
    """Pieces of the first passages."""
    draw = random.Random(0)
    texts = [document.text.split() for document in passages(n)]
    return [Query(" ".join(text[5 : 5 + draw.randrange(6, 13)])) for text in texts]


def timed(results: dict[str, float], name: str, call: Callable[[], T]) -> T:
    """The result of a call, whose seconds are noted."""
    start = time.perf_counter()
    result = call()
    results[f"{name}, s"] = round(time.perf_counter() - start, 3)
    return result


def kill(path: Path, run: int) -> bool:
    """Whether the index is whole after a kill at a random moment of single adds."""
    command = [sys.executable, "-c", CHANGE, str(path), str(run)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    child.stdout.readline()
    time.sleep(random.Random(run).random())
    child.send_signal(signal.SIGKILL)
    done = len(child.stdout.read().split())
    child.wait()
    with Corpus(path, EMBEDDER) as corpus:
        added = sum(id_.startswith(f"kill-{run}-") for id_ in corpus.ids())
        dense = corpus.search(Query("w1"), by="dense", k=1)
    return bool(dense) and added in (3 * done, 3 * done + 3)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("n", type=int)
    parser.add_argument("path", type=Path)
    parser.add_argument("--kills", type=int, default=0)
    options = parser.parse_args()
    shutil.rmtree(options.path, ignore_errors=True)
    results: dict[str, float] = {}
    corpus = Corpus(options.path, EMBEDDER)
    timed(results, "build", lambda: corpus.add(passages(options.n)))
    results["bytes a passage"] = round(corpus.about().bytes / options.n)
    new = Document("new", "w1 w2 w3 w500 w9000")
    timed(results, "one add", lambda: corpus.add([new]))
    timed(results, "one remove", lambda: corpus.remove(["17"]))
    for by in ("bm25", "dense", "hybrid"):
        corpus.search(Query("w1"), by=by)  # reads the vectors
        times = []
        for query in questions(100):
            start = time.perf_counter()
            corpus.search(query, by=by)
            times.append(1000 * (time.perf_counter() - start))
        for part in (50, 95):
            results[f"{by} p{part}, ms"] = round(float(np.percentile(times, part)), 1)
    results["peak memory, MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
    corpus.close()
    results["kills"] = options.kills
    results["broken by them"] = sum(not kill(options.path, run) for run in range(options.kills))
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
