"""Train a sentence pruner on until a time of day, on one core; the same command after a kill.

    python experiments/pruner_until.py DATA WORK --encoder FOLDER --until 2026-11-29T00:25
    python experiments/pruner_until.py DATA WORK --encoder FOLDER --until … --layers every:2
    python experiments/pruner_until.py DATA WORK --encoder pruner --until … \
        --teacher pruner --teacher LARGER --layers 1,2,3,4,6 --early

DATA is what ``experiments/pruner_new_data.py`` wrote. The rate falls to nothing by a cosine of the
time that is over, so the end is the same on a machine that others use, too. WORK/checkpoints has
the last state (every five minutes), WORK/log.jsonl loss and tokens, WORK/folder at the end the
averaged weights, which ``pruner_check.py --checkpoint`` and ``pruner_release.py`` take.
``--encoder pruner`` goes on from the bundled weights. With teachers, folders as
``ragsieve_research.train.export`` writes them, it also learns the mean of their logits, of the
questions of ``pruner_data.py`` alone: of the kinds added since labels tell more. ``--early`` reads
sentences behind the layer before the last (``pruner_early.py``), by a head that is trained.
``--share 0.75`` writes so much of the learned weights, and the rest of what they began as, by
which they forget less. With ``torchrun --nproc-per-node 2`` each of two processes, a core for each,
reads other questions, and gradients are averaged.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
import torch.distributed as processes
from pruner_early import EarlyNet, EarlyTraining
from pruner_new_data import SHARES as NEW_KINDS
from pruner_release import typical
from pruner_train import Lines, thinned
from safetensors.torch import load_file, save_file
from torch.nn import functional

from ragsieve.models.onnx import Encoder
from ragsieve.models.pruner import BUNDLED, NET, Pruner
from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve_research.models.loading import fetched
from ragsieve_research.train import pruner
from ragsieve_research.train.pruner_samples import PrunerSample, Samples
from ragsieve_research.train.restore import restore

SAVE_S = 300.0
WARM_UP = 40  # steps
AVERAGE = 0.995  # share of the average that a step keeps
FITTED = 300  # questions on which an early head is fitted before it learns
HEAT = 2.0  # divides logits before they are compared, so that sure ones count, too
UNTAUGHT = ("page", *NEW_KINDS)  # kinds of questions that no teacher has read


class TaughtNet(pruner.PrunerNet):
    """A net that learns from labels, and from the mean of its teachers' logits where it has any.

    Compared are sentences, by the mean over their tokens, and passages. What a single token says
    no net was trained for, and two good nets differ there.
    """

    def __init__(self, encoder: Any, teachers: Sequence[str], weight: float) -> None:
        super().__init__(encoder, encoder.config.pad_token_id or 0)
        self.teachers = [Encoder(Pruner(name).folder / NET) for name in teachers]
        self.taught = True  # whether teachers tell of the questions that are read
        self.weight, self.distance = weight, torch.tensor(0.0)
        self._distances: list[torch.Tensor] = []

    def forward(self, samples: Sequence[PrunerSample]) -> torch.Tensor:
        """Mean loss of the samples by their labels, plus ``weight`` times the distance."""
        self._distances = []
        labelled = super().forward(samples)
        if not self._distances:
            return labelled
        self.distance = torch.cat(self._distances).mean()
        return labelled + self.weight * self.distance

    def logits(self, windows: Sequence[Window]) -> torch.Tensor:
        """Of every token, as those of `PrunerNet`; notes how far they are from the teachers'."""
        rows = super().logits(windows)
        taught = [teacher.run(windows, 1) for teacher in self.teachers if self.taught]
        for row, window, *others in zip(rows, windows, *taught, strict=True):
            if others:
                goal = torch.stack([torch.from_numpy(one) for one in others]).mean(0)
                self._distances.append(distance(judged(row, window), judged(goal, window)))
        return rows


def judged(logits: torch.Tensor, window: Window) -> torch.Tensor:
    """Logits of the passage and of each of its sentences."""
    spans = [logits[start:end, 0].mean() for _, start, end in window.spans if end > start]
    return torch.stack([logits[0, 1], *spans])


def distance(logits: torch.Tensor, goal: torch.Tensor) -> torch.Tensor:
    """Relative entropy of each softened probability to the teachers', in nats times `HEAT` ** 2."""
    crossed = functional.binary_cross_entropy_with_logits
    share = torch.sigmoid(goal / HEAT)
    own, least = (crossed(x / HEAT, share, reduction="none") for x in (logits, goal))
    return HEAT**2 * (own - least)


class Training:
    """A net, its average and its optimizer, with how far they are."""

    def __init__(
        self, encoder: Any, work: Path, teachers: Sequence[str] = (), weight: float = 0.0
    ) -> None:
        self.net = TaughtNet(encoder, teachers, weight)
        self.learned = {n: w for n, w in self.net.named_parameters() if w.requires_grad}
        self.first = {n: w.detach().clone() for n, w in self.learned.items()}
        self.average = {n: w.clone() for n, w in self.first.items()}
        self.optimizer = torch.optim.AdamW(self.learned.values(), lr=0.0, weight_decay=0.01)
        self.file = work / "checkpoints" / "state.safetensors"
        self.told: dict[str, Any] = {"step": 0, "tokens": 0, "began": time.time()}
        if self.file.is_file():
            self._resume()

    def save(self) -> None:
        """Write all that the next start needs, in place of the last."""
        state = {f"weight.{n}": w.detach() for n, w in self.learned.items()}
        state |= {f"average.{n}": w for n, w in self.average.items()}
        for name, weight in self.learned.items():
            for key, value in self.optimizer.state[weight].items():
                state[f"{key}.{name}"] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(".part")
        save_file(state, fresh, metadata={"told": json.dumps(self.told)})
        fresh.replace(self.file)

    def _resume(self) -> None:
        state = load_file(self.file)
        with self.file.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            self.told = json.loads(json.loads(file.read(size))["__metadata__"]["told"])
        with torch.no_grad():
            for name, weight in self.learned.items():
                weight.copy_(state[f"weight.{name}"])
                self.average[name].copy_(state[f"average.{name}"])
                keys = ("step", "exp_avg", "exp_avg_sq")
                self.optimizer.state[weight] = {k: state[f"{k}.{name}"] for k in keys}

    def step(self, samples: Sequence[tuple[bool, PrunerSample]], rate: float) -> float:
        """Learn from some questions, each with whether teachers tell of it; their mean loss."""
        self.optimizer.param_groups[0]["lr"] = rate
        total = 0.0
        for taught in (False, True):
            if some := [sample for by_teachers, sample in samples if by_teachers == taught]:
                self.net.taught = taught
                loss = self.net(some) * len(some) / len(samples)
                loss.backward()
                total += float(loss.detach())
        averaged([*self.learned.values()])
        torch.nn.utils.clip_grad_norm_(self.learned.values(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.told["step"] += 1
        self.told["tokens"] += sum(len(w.ids) for _, s in samples for w in s.windows)
        keep = min(AVERAGE, self.told["step"] / (self.told["step"] + 10))
        with torch.no_grad():
            for name, weight in self.learned.items():
                self.average[name].lerp_(weight, 1 - keep)
        return total

    def publish(self, encoder: str, folder: Path, share: float) -> None:
        """Write a checkpoint of transformers, and a head that was added: so much of the averaged
        weights, the rest of what the training began with."""
        with torch.no_grad():
            for name, weight in self.learned.items():
                weight.copy_(torch.lerp(self.first[name], self.average[name], share))
        early = isinstance(self.net.encoder, EarlyTraining)
        pruner._publish(self.net.encoder.encoder if early else self.net.encoder, encoder, folder)
        if early:
            self.net.encoder.publish(folder)


def averaged(weights: Sequence[torch.Tensor]) -> None:
    """Make the gradients of each process the mean over all processes."""
    if not processes.is_initialized():
        return
    flat = torch.cat(
        [(torch.zeros_like(w) if w.grad is None else w.grad).flatten() for w in weights]
    )
    processes.all_reduce(flat)
    parts = torch.split(flat / processes.get_world_size(), [w.numel() for w in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.grad = part.view_as(weight)


def shared(number: float) -> float:
    """What the first process says."""
    told = torch.tensor([number], dtype=torch.float64)
    if processes.is_initialized():
        processes.broadcast(told, 0)
    return float(told)


def whole(encoder: str, work: Path) -> str:
    """What the training begins with: bundled weights in float32, or an encoder."""
    if encoder not in BUNDLED:
        return encoder
    if not processes.is_initialized() or processes.get_rank() == 0:
        restore(Pruner(encoder).folder, work / "base")
    shared(0.0)  # the others wait for it
    return str(work / "base")


def taught(record: Mapping[str, Any]) -> bool:
    """Whether teachers tell of a question."""
    return record["id"].partition(":")[0] not in UNTAUGHT


def early(net: Any, fitted_to: Any, records: Lines, tokenizer: Path) -> EarlyTraining:
    """A net with a head of sentences that is fitted to the logits of what it was thinned from."""
    some = (records[n] for n in range(0, len(records), max(1, len(records) // FITTED)))
    with torch.no_grad():
        head = EarlyNet(net, typical(some, tokenizer, 3), taught=fitted_to.eval()).head
    return EarlyTraining(net, head)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoder", required=True, help="a name, folder or hub id")
    parser.add_argument("--until", type=datetime.fromisoformat, required=True, help="local time")
    parser.add_argument("--batch", type=int, default=4, help="questions a step")
    parser.add_argument("--learning-rate", type=float, default=8e-5, help="at its height")
    parser.add_argument("--layers", default="", help="every:2 or 1,2,4 keeps some")
    parser.add_argument("--early", action="store_true", help="sentences behind the last but one")
    parser.add_argument("--teacher", action="append", default=[], help="a pruner's name or folder")
    parser.add_argument(
        "--weight", type=float, default=8.0, help="weight of the teachers' distance"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of what is learned in the end")
    options = parser.parse_args()
    torch.manual_seed(0)
    place, count = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if count > 1:
        processes.init_process_group("gloo")
    base = whole(options.encoder, options.work)
    encoder = thinned(base, options.layers, options.work / f"thinned-{place}")
    records = Lines(options.data / "train.jsonl")
    file = fetched(encoder, ["tokenizer.json"]) / "tokenizer.json"
    net = pruner._encoder(encoder)
    if options.early:
        net = early(net, pruner._encoder(base), records, file)
    work = Training(net, options.work, options.teacher, options.weight)
    samples = Samples(WindowTokenizer.read(file, Layout(question=128)), seed=0)
    end, saved, told = options.until.timestamp(), time.monotonic(), work.told
    length = end - told["began"]
    while (left := shared(end - time.time())) > 0:
        fall = 0.5 - 0.5 * math.cos(math.pi * left / length)
        rate = options.learning_rate * fall * min(1.0, (told["step"] + 1) / WARM_UP)
        first = (told["step"] * count + place) * options.batch
        read = [(records[n % len(records)], n) for n in range(first, first + options.batch)]
        some = [(taught(record), samples.of(record, n)) for record, n in read]
        loss = work.step([(by, sample) for by, sample in some if sample.labels], rate)
        if place:
            continue
        with (options.work / "log.jsonl").open("a", encoding="utf-8") as lines:
            row = {**told, "loss": round(loss, 4), "rate": rate, "at": round(time.time())}
            row["distance"] = round(float(work.net.distance.detach()), 4)
            lines.write(json.dumps(row) + "\n")
        if time.monotonic() - saved > SAVE_S:
            work.save()
            saved = time.monotonic()
    if place == 0:
        work.save()
        work.publish(encoder, options.work / "folder", options.share)


if __name__ == "__main__":
    main()
