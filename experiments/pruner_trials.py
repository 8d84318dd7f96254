"""Compare trainings of the sentence pruner: small ones, equal but for one choice each.

    python experiments/pruner_trials.py DATA OUTPUT.jsonl
    python experiments/pruner_trials.py DATA OUTPUT.jsonl --only both listwise --questions 600

DATA is what ``experiments/pruner_data.py`` wrote. Every trial starts from MiniLM-L6, reads its
questions once, and is checked on the same validation questions; a trial that OUTPUT.jsonl has is
not done again. AUC is inside a question, averaged over its set and then over sets; ``words`` is
what a plain threshold keeps at which the evidence survives whole in 95% of the questions.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pruner_data import RETRIEVED
from pruner_train import Lines
from torch.nn import functional

from ragsieve.models.pruner import Pruner
from ragsieve.models.windows import Layout, WindowTokenizer
from ragsieve_research.models.loading import fetched
from ragsieve_research.train import pruner
from ragsieve_research.train.pruner_samples import PrunerSample, Samples
from ragsieve_research.train.restore import restore

Record = Mapping[str, Any]
RATE, BATCH = 1.5e-4, 4
USUAL = Layout()


@dataclass(frozen=True)
class Trial:
    """One choice that differs from the usual training.

    Args:
        loss: Of a question.
        layout: Of windows.
        share: Part of the questions that is read.
        passes: How often they are read.
        of: Which questions are learned from, by their set; all where None.
        masked: Whether unmarked sentences that hold an answer are left out of the loss.
        joined: Whether the passages of a question are read as one.
    """

    loss: pruner.Loss = pruner.loss
    layout: Layout = USUAL
    share: float = 1.0
    passes: int = 1
    of: Callable[[str], bool] | None = None
    masked: bool = True
    joined: bool = False


def binary(
    sentences: torch.Tensor, labels: torch.Tensor, passages: torch.Tensor, holds: torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of each sentence and passage, without the softmax over the question."""
    total = 0.0 * passages.sum() + 0.5 * pruner._crossed(passages[holds == 1], passages[holds == 0])
    return total + pruner._crossed(sentences[labels == 1], sentences[labels == 0])


def listwise(
    sentences: torch.Tensor, labels: torch.Tensor, passages: torch.Tensor, holds: torch.Tensor
) -> torch.Tensor:
    """Each piece of evidence against all other sentences of the question."""
    total = 0.0 * passages.sum() + 0.5 * pruner._crossed(passages[holds == 1], passages[holds == 0])
    good, other = sentences[labels == 1], sentences[labels == 0]
    if len(good) and len(other):
        total = total + functional.softplus(other.logsumexp(0) - good).mean()
    return total


TRIALS = {
    "usual": Trial(),
    "usual, another seed": Trial(),
    "a quarter of the questions": Trial(share=0.25),
    "a quarter of the questions, four times": Trial(share=0.25, passes=4),
    "retrieved questions only": Trial(of=lambda name: name in RETRIEVED),
    "annotated questions only": Trial(of=lambda name: name not in RETRIEVED),
    "binary loss": Trial(loss=binary),
    "listwise loss": Trial(loss=listwise),
    "labels not masked": Trial(masked=False),
    "windows of 128 tokens": Trial(layout=Layout(size=128, question=48, title=16, context=32)),
    "windows of 512 tokens": Trial(layout=Layout(size=512)),
    "several passages a window of 512": Trial(layout=Layout(size=512), joined=True),
}


SHIPPED = "the weights that come with the package"
"""Not trained here: checked beside the trials."""


def shipped() -> pruner.PrunerNet:
    """The bundled weights, from int8."""
    with tempfile.TemporaryDirectory() as folder:
        restore(Pruner().folder, folder)
        encoder = pruner._encoder(folder)
    return pruner.PrunerNet(encoder, encoder.config.pad_token_id or 0)


def whole(record: Record) -> Record:
    """A question whose passages are one document."""
    text, spans = "", []
    marked = any("evidence" in d for d in record["documents"])
    for document in record["documents"]:
        shift = len(text)
        spans += [[a + shift, b + shift] for a, b in document.get("evidence", [])]
        text += document["text"] + "\n\n"
    one = {"id": "1", "text": text, **({"evidence": spans} if marked else {})}
    return {**record, "documents": [one]}


def chosen(records: Sequence[Record], trial: Trial, questions: int) -> Iterator[Record]:
    """The questions of a trial in order."""
    count = int(questions * trial.share)
    names = (r["id"].split(":")[0] for r in records)
    places = [n for n, name in enumerate(names) if trial.of is None or trial.of(name)][:count]
    for _ in range(trial.passes):
        yield from (records[n] for n in places)


def train(trial: Trial, records: Iterable[Record], seed: int) -> tuple[pruner.PrunerNet, int]:
    """The net after one pass, and the tokens that it read."""
    torch.manual_seed(seed)
    net, samples = fresh(trial, seed=seed)
    learned = [w for w in net.parameters() if w.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    order, tokens = list(records), 0
    steps = len(order) // BATCH
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: pruner.rate(step, steps, 1.0)
    )
    for step in range(steps):
        batch = [samples.of(order[n], n) for n in range(step * BATCH, (step + 1) * BATCH)]
        net([sample if trial.masked else unmasked(sample) for sample in batch]).backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        tokens += sum(len(w.ids) for sample in batch for w in sample.windows)
    return net, tokens


def fresh(trial: Trial, seed: int | None) -> tuple[pruner.PrunerNet, Samples]:
    """MiniLM-L6 with a new head, and what lays questions out for it."""
    encoder = pruner._encoder("minilm")
    file = fetched("minilm", ["tokenizer.json"]) / "tokenizer.json"
    samples = Samples(WindowTokenizer.read(file, trial.layout), seed=seed)
    return pruner.PrunerNet(encoder, encoder.config.pad_token_id or 0, trial.loss), samples


def unmasked(sample: PrunerSample) -> PrunerSample:
    return sample._replace(labels=[max(0.0, x) for x in sample.labels])


@torch.no_grad()
def check(net: pruner.PrunerNet, trial: Trial, records: Sequence[Record]) -> dict[str, float]:
    """AUC inside questions, whether the first sentence is evidence, and words for survival .95."""
    samples = Samples(fresh(trial, None)[1].tokenizer, seed=None)
    areas, firsts = defaultdict(list), defaultdict(list)
    needed: list[float] = []
    texts: list[tuple[np.ndarray, np.ndarray]] = []
    for record in records:
        sample = samples.of(whole(record) if trial.joined else record)
        scores, words = read(net, sample)
        labels = np.array(sample.labels)
        good, other = scores[labels == 1], scores[labels == 0]
        if not (len(good) and len(other)):
            continue
        name = record["id"].split(":")[0]
        above = (good[:, None] > other).mean() + 0.5 * (good[:, None] == other).mean()
        areas[name].append(above)
        firsts[name].append(float(good.max() > other.max()))
        needed.append(float(good.min()))
        texts.append((scores, words))
    threshold = np.quantile(needed, 0.05)
    kept = [words[scores >= threshold].sum() / words.sum() for scores, words in texts]
    means = [np.mean([np.mean(of) for of in table.values()]) for table in (areas, firsts)]
    return {
        "auc": round(means[0], 4),
        "first": round(means[1], 4),
        "words": round(np.mean(kept), 4),
    }


def read(net: pruner.PrunerNet, sample: PrunerSample) -> tuple[np.ndarray, np.ndarray]:
    """Logits and sizes of the sentences of a question, the size in tokens, ``(n_sentences,)``."""
    scores, sizes = np.full(len(sample.labels), -np.inf), np.zeros(len(sample.labels))
    order = sorted(sample.windows, key=lambda w: len(w.ids))
    for first in range(0, len(order), 8):
        windows = order[first : first + 8]
        for row, window in zip(net.logits(windows), windows, strict=True):
            for place, start, end in window.spans:
                if end > start:
                    scores[place] = max(scores[place], float(row[start:end, 0].mean()))
                    sizes[place] += end - start
    return scores, sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", nargs="+", choices=[*TRIALS, SHIPPED], default=[*TRIALS, SHIPPED])
    parser.add_argument("--questions", type=int, default=2000, help="that a trial learns from")
    parser.add_argument("--check", type=int, default=12, help="validation questions of each set")
    options = parser.parse_args()
    records = Lines(options.data / "train.jsonl")
    by_set = defaultdict(list)
    for record in Lines(options.data / "validation.jsonl"):
        by_set[record["id"].split(":")[0]].append(record)
    held = [
        r
        for rows in by_set.values()
        for r in random.Random(0).sample(rows, len(rows))[: options.check]
    ]
    for name in options.only:
        done = options.output.read_text("utf-8") if options.output.is_file() else ""
        if any(json.loads(line)["trial"] == name for line in done.splitlines()):
            continue
        trial, start = TRIALS.get(name, Trial()), time.monotonic()
        order = chosen(records, trial, options.questions)
        if trial.joined:
            order = map(whole, order)
        if name == SHIPPED:
            net, tokens = shipped(), 0
        else:
            net, tokens = train(trial, order, seed=int(name.endswith("seed")))
        seconds = round(time.monotonic() - start)
        row = {"trial": name, "questions": options.questions, "tokens": tokens, "seconds": seconds}
        with options.output.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({**row, **check(net, trial, held)}) + "\n")


if __name__ == "__main__":
    main()
