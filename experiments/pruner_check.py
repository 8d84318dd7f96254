"""Check a training of the sentence pruner while it runs, on questions that it does not learn from.

    python experiments/pruner_check.py DATA WORK --encoder minilm
    python experiments/pruner_check.py DATA WORK --bundled
    python experiments/pruner_check.py DATA WORK --checkpoint WORK/folder

DATA is what ``experiments/pruner_data.py`` wrote, WORK the folder of ``pruner_train.py``. Adds a
line to WORK/checks.jsonl for its last checkpoint, another one, or for the bundled weights. AUC is
inside a question, averaged over sets; words are what a bar relative to the question's best sentence
keeps at which some evidence, or all of it, survives in 95% of the questions.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from pruner_early import HEAD, EarlyNet, EarlyTraining
from pruner_train import Lines
from pruner_trials import read, shipped
from safetensors.torch import load_file

from ragsieve.models.pruner import Pruner
from ragsieve.models.windows import WindowTokenizer
from ragsieve_research.evaluate.auc import auc
from ragsieve_research.models.store import resolve
from ragsieve_research.train import pruner
from ragsieve_research.train.pruner_samples import Samples
from ragsieve_research.train.resuming import last_checkpoint

Record = dict[str, Any]

PASSAGES = 7  # of a question, those with evidence first
SHARE = 0.5  # of the best sentence's logit goes to the bar


class Scored(NamedTuple):
    """A question's set, and of each sentence logit, tokens and label."""

    name: str
    scores: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray


def chosen(records: Iterable[Mapping[str, Any]], most: int) -> Iterator[Record]:
    """So many questions of each set, with fewer passages."""
    by_set = defaultdict(list)
    for record in records:
        if any(d["evidence"] for d in record["documents"]):
            by_set[record["id"].partition(":")[0]].append(record)
    chance = random.Random(0)
    for some in by_set.values():
        for record in chance.sample(some, len(some))[:most]:
            documents = sorted(record["documents"], key=lambda d: not d["evidence"])[:PASSAGES]
            yield {**record, "documents": documents}


@torch.no_grad()
def scored(net: pruner.PrunerNet, file: Path, records: Sequence[Record]) -> Iterator[Scored]:
    samples = Samples(WindowTokenizer.read(file), seed=None)
    for record in records:
        sample = samples.of(record)
        scores, sizes = read(net, sample)
        name = record["id"].partition(":")[0]
        yield Scored(name, scores, sizes, np.array(sample.labels))


def figures(questions: Sequence[Scored]) -> dict[str, Any]:
    areas = defaultdict(list)
    for q in questions:
        known = (q.labels >= 0) & np.isfinite(q.scores)
        if (area := auc(q.labels[known] == 1, q.scores[known])) is not None:
            areas[q.name].append(area)
    means = {name: round(float(np.mean(some)), 3) for name, some in areas.items()}
    levels = [q.scores - SHARE * q.scores.max() for q in questions]
    found: dict[str, Any] = {"auc": round(float(np.mean([*means.values()])), 4)}
    for what, of in (("some", np.max), ("all", np.min)):
        least = [of(level[q.labels == 1]) for q, level in zip(questions, levels, strict=True)]
        bar = np.quantile(least, 0.05)
        shares = [
            q.sizes[level >= bar].sum() / q.sizes.sum()
            for q, level in zip(questions, levels, strict=True)
        ]
        found[f"words_{what}"] = round(float(np.mean(shares)), 4)
    return {**found, "questions": len(questions), "sets": means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoder", default="minilm", help="that the training began with")
    parser.add_argument("--bundled", action="store_true", help="check the bundled weights")
    parser.add_argument("--checkpoint", help="check this folder of transformers")
    parser.add_argument("--most", type=int, default=6, help="questions of each set")
    options = parser.parse_args()
    records = [*chosen(Lines(options.data / "validation.jsonl"), options.most)]
    if options.bundled:
        net, file, step = shipped(), Pruner().folder / "tokenizer.json", "bundled"
    elif options.checkpoint:
        encoder, step = pruner._encoder(options.checkpoint), options.checkpoint
        padding, file = encoder.config.pad_token_id or 0, Path(step) / "tokenizer.json"
        if (head := Path(step) / HEAD).is_file():
            encoder = EarlyTraining(encoder, EarlyNet(encoder, head=head).head)
        net = pruner.PrunerNet(encoder, padding)
    else:
        encoder = pruner._encoder(options.encoder)
        net = pruner.PrunerNet(encoder, encoder.config.pad_token_id or 0)
        folder = Path(last_checkpoint(options.work) or "")
        net.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        file, step = Path(resolve(options.encoder)) / "tokenizer.json", folder.name
    row = {"step": step, **figures([*scored(net.eval(), file, records)])}
    options.work.mkdir(parents=True, exist_ok=True)
    with (options.work / "checks.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(row) + "\n")
    print(json.dumps(row))


if __name__ == "__main__":
    main()
