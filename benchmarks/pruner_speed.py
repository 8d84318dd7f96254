"""What the default filter costs beside a bare pass of its net, torch, and other filters.

    python benchmarks/pruner_speed.py hotpotqa.jsonl.gz --limit 20

Every round filters every question once with each, one after the other, so that a machine that
becomes slower does so for all. Milliseconds of processor time a question, over all threads.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

import ragsieve
from ragsieve import models
from ragsieve.models.base import Passage
from ragsieve.models.pruner import Pruner
from ragsieve.models.windows import Window
from ragsieve.run.questions import lines, parse_record
from ragsieve.text import sentence_spans
from ragsieve.types import Example

BARE = "the same windows in onnxruntime"
PEERS = ("langchain-embeddings-filter", "llama-index-sentence-optimizer")


def windows(pruner: Pruner, example: Example) -> list[Window]:
    """The windows that the filter reads."""
    texts = [(d.title, d.text) for d in example.documents]
    passages = [Passage(t, [x[a:b] for a, b in sentence_spans(x)]) for t, x in texts]
    laid = pruner._tokenizer.lay(example.query.text, passages)
    return [window for group in laid.windows for window in group]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    llm, embedder, pruner = models.load("fake:echo"), models.load("minilm"), Pruner()
    systems = {n: ragsieve.load(n, llm, embedder) for n in ("finefilter", *PEERS)}
    systems["finefilter, one thread"] = ragsieve.load("finefilter", llm, pruner=Pruner(threads=1))
    encoder = models.load("minilm").net[0].auto_model.to(torch.bfloat16)

    @torch.no_grad()
    def in_torch(read: list[Window]) -> None:
        for window in read:
            encoder(torch.tensor([window.ids]))

    spent: dict[str, list[float]] = {}

    def timed(name: str, call: Callable[..., object], *arguments: Any) -> None:
        began = time.process_time()
        call(*arguments)
        spent.setdefault(name, []).append(time.process_time() - began)

    for _, line in islice(lines(options.questions), options.limit + 1):
        example = parse_record(line)
        read = windows(pruner, example)
        timed(BARE, pruner._net.run, read, 1)
        timed("the same windows in torch, bfloat16", in_torch, read)
        for name, system in systems.items():
            timed(name, system, example.query, example.documents)
    base = np.array(spent[BARE][1:])  # the first question loads
    for name, seconds in spent.items():
        ratio = np.median(np.array(seconds[1:]) / base)
        print(f"{name:40} {1000 * mean(seconds[1:]):7.0f} ms  {ratio:5.2f} times")


if __name__ == "__main__":
    main()
