"""Train a sentence pruner on until a time of day, on one core; the same command after a kill.

    python experiments/pruner_until.py DATA WORK --encoder FOLDER --until 2026-11-29T00:25
    python experiments/pruner_until.py DATA WORK --encoder FOLDER --until … --layers every:2

DATA is what ``experiments/pruner_new_data.py`` wrote. The rate falls to nothing by a cosine of the
time that is over, so the end is the same on a machine that others use, too. WORK/checkpoints has
the last state (every five minutes), WORK/log.jsonl loss and tokens, WORK/folder at the end the
averaged weights, which ``pruner_check.py --checkpoint`` and ``pruner_release.py`` take.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
from pruner_train import Lines, thinned
from safetensors.torch import load_file, save_file

from ragsieve.models.windows import Layout, WindowTokenizer
from ragsieve_research.models.loading import fetched
from ragsieve_research.train import pruner
from ragsieve_research.train.pruner_samples import Samples

SAVE_S = 300.0
WARM_UP = 40  # steps
AVERAGE = 0.995  # share of the average that a step keeps


class Training:
    """A net, its average and its optimizer, with how far they are."""

    def __init__(self, encoder: str, work: Path) -> None:
        own = pruner._encoder(encoder)
        self.net = pruner.PrunerNet(own, own.config.pad_token_id or 0)
        self.learned = {n: w for n, w in self.net.named_parameters() if w.requires_grad}
        self.average = {n: w.detach().clone() for n, w in self.learned.items()}
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

    def step(self, samples: list[Any], rate: float) -> float:
        """Learn from some questions; their mean loss."""
        self.optimizer.param_groups[0]["lr"] = rate
        loss = self.net(samples)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.learned.values(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.told["step"] += 1
        self.told["tokens"] += sum(len(w.ids) for s in samples for w in s.windows)
        keep = min(AVERAGE, self.told["step"] / (self.told["step"] + 10))
        with torch.no_grad():
            for name, weight in self.learned.items():
                self.average[name].lerp_(weight, 1 - keep)
        return float(loss.detach())

    def publish(self, encoder: str, folder: Path) -> None:
        """Write the averaged weights as a checkpoint of transformers."""
        with torch.no_grad():
            for name, weight in self.learned.items():
                weight.copy_(self.average[name])
        pruner._publish(self.net.encoder, encoder, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoder", required=True, help="a name, folder or hub id")
    parser.add_argument("--until", type=datetime.fromisoformat, required=True, help="local time")
    parser.add_argument("--batch", type=int, default=4, help="questions a step")
    parser.add_argument("--learning-rate", type=float, default=8e-5, help="at its height")
    parser.add_argument("--layers", default="", help="every:2 keeps every second layer")
    options = parser.parse_args()
    torch.manual_seed(0)
    encoder = thinned(options.encoder, options.layers, options.work / "thinned")
    work, records = Training(encoder, options.work), Lines(options.data / "train.jsonl")
    file = fetched(encoder, ["tokenizer.json"]) / "tokenizer.json"
    samples = Samples(WindowTokenizer.read(file, Layout(question=128)), seed=0)
    end, saved, told = options.until.timestamp(), time.monotonic(), work.told
    whole = end - told["began"]
    while (left := end - time.time()) > 0:
        fall = 0.5 - 0.5 * math.cos(math.pi * left / whole)
        rate = options.learning_rate * fall * min(1.0, (told["step"] + 1) / WARM_UP)
        first = told["step"] * options.batch
        turns = range(first, first + options.batch)
        some = [samples.of(records[n % len(records)], n) for n in turns]
        if some := [s for s in some if s.labels]:
            loss = work.step(some, rate)
        else:
            told["step"] += 1
            continue
        with (options.work / "log.jsonl").open("a", encoding="utf-8") as lines:
            row = {**told, "loss": round(loss, 4), "rate": rate, "at": round(time.time())}
            lines.write(json.dumps(row) + "\n")
        if time.monotonic() - saved > SAVE_S:
            work.save()
            saved = time.monotonic()
    work.save()
    work.publish(encoder, options.work / "folder")


if __name__ == "__main__":
    main()
