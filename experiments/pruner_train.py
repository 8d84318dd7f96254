"""Train the bundled sentence pruner; the same command on CPUs and on GPUs, and after a kill.

    python experiments/pruner_train.py DATA WORK --steps 20000
    torchrun --nproc_per_node 2 experiments/pruner_train.py DATA WORK --steps 20000

DATA is what ``experiments/pruner_data.py`` wrote. WORK/folder is the checkpoint at the end. More
``--steps`` for a WORK that is done go on from there.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from ragsieve.models.windows import Layout
from ragsieve_research.models.store import resolve
from ragsieve_research.train.pruner import train_pruner


class Lines(Sequence[Mapping[str, Any]]):
    """Records of a JSONL file, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._starts = [0]
        for line in self._file:
            self._starts.append(self._starts[-1] + len(line))
        self._starts.pop()

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, place: Any) -> Any:
        self._file.seek(self._starts[place])
        return json.loads(self._file.readline())


def thinned(encoder: str, layers: str, folder: Path) -> str:
    """The encoder, or a folder of it with some layers: ``every:2`` or ``1,2,3,4,6``.

    Raises:
        ValueError: If ``layers`` is neither empty nor of such a form.
    """
    if not layers:
        return encoder
    source = Path(resolve(encoder))
    config = json.loads((source / "config.json").read_text("utf-8"))
    every, number = [*range(config["num_hidden_layers"])], layers.removeprefix("every:")
    if layers != number and number.isdigit() and int(number):
        kept = every[int(number) - 1 :: int(number)]  # the last is among them
    else:
        kept = [int(one) - 1 for one in layers.split(",") if one.isdigit()]
        if not {*kept} <= {*every} or len(kept) != len(layers.split(",")):
            raise ValueError(f"layers must be every:N or numbers as 1,2,4, got {layers!r}")
    weights = {}
    for key, weight in load_file(source / "model.safetensors").items():
        place = re.search(r"(?<=\.layer\.)\d+(?=\.)", key)
        if place and int(place[0]) not in kept:
            continue
        at = str(kept.index(int(place[0]))) if place else ""
        weights[key[: place.start()] + at + key[place.end() :] if place else key] = weight
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps({**config, "num_hidden_layers": len(kept)}, indent=1)
    (folder / "config.json").write_text(text, "utf-8")
    for file in source.glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return str(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--encoder", default="minilm", help="a name, folder or hub id")
    parser.add_argument("--steps", type=int, help="all questions once, where not given")
    parser.add_argument("--batch", type=int, default=4, help="questions a step and process")
    parser.add_argument("--learning-rate", type=float, default=1.5e-4)
    parser.add_argument("--question", type=int, default=128, help="tokens of a question, at most")
    parser.add_argument("--layers", default="", help="every:2 or 1,2,4 keeps some")
    options = parser.parse_args()
    start = time.monotonic()

    def log(step: int, steps: int, loss: float) -> None:
        if step % 10 == 0:
            print(
                f"{step} of {steps}: loss {loss:.3f}, {time.monotonic() - start:.0f} s", flush=True
            )

    train_pruner(
        options.work / "folder",
        Lines(options.data / "train.jsonl"),
        work=options.work,
        encoder=thinned(options.encoder, options.layers, options.work / "thinned"),
        batch=options.batch,
        learning_rate=options.learning_rate,
        steps=options.steps,
        layout=Layout(question=options.question),
        on_progress=log,
    )


if __name__ == "__main__":
    main()
