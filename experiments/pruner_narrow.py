"""Make an encoder's feed-forward layers narrower: what a faster sentence pruner is trained from.

    python experiments/pruner_narrow.py CHECKPOINT OUT DATA… --width 768 --layers 1,2,4,5,6

CHECKPOINT is a folder of transformers, with a head that reads sentences early or without one; DATA
are folders with a ``train.jsonl`` as ``pruner_train.py`` reads it. Neurons stay whose activation
times gradient is largest over the questions. Then each output matrix is fitted anew, by ridge
regression, so that it gives what the whole layer gave, one layer after the other. OUT is trained on
by ``pruner_until.py --teacher CHECKPOINT``.
"""

from __future__ import annotations

import argparse
import copy
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pruner_early import HEAD, EarlyNet, EarlyTraining
from pruner_train import Lines, thinned

from ragsieve.models.windows import Layout, Window, WindowTokenizer
from ragsieve_research.train import pruner
from ragsieve_research.train.pruner_samples import PrunerSample, Samples

QUESTIONS = 180
WINDOWS = 160  # on which output matrices are fitted
_RIDGE = 1e-3  # of the mean square of a centred activation


def drawn(folders: Sequence[Path], tokenizer: WindowTokenizer) -> list[PrunerSample]:
    """As many questions of each folder, those with labels."""
    chance, samples = random.Random(5), Samples(tokenizer, seed=0)
    records = []
    for folder in folders:
        lines = Lines(folder / "train.jsonl")
        records += [lines[n] for n in chance.sample(range(len(lines)), QUESTIONS // len(folders))]
    found = [samples.of(record, n) for n, record in enumerate(records)]
    return [sample for sample in found if sample.labels]


def importance(net: Any, head: Path, samples: Sequence[PrunerSample]) -> list[torch.Tensor]:
    """Of each layer's neurons: activation times gradient of the loss, summed without signs."""
    layers = net.base_model.encoder.layer
    sums = [torch.zeros(layer.intermediate.dense.out_features) for layer in layers]
    active: dict[int, torch.Tensor] = {}

    def remember(place: int, output: torch.Tensor) -> None:
        output.retain_grad()
        active[place] = output

    hooks = [
        layer.intermediate.register_forward_hook(lambda _m, _i, o, n=n: remember(n, o))
        for n, layer in enumerate(layers)
    ]
    early = EarlyTraining(net, EarlyNet(net, head=head).head) if head.is_file() else net
    taught = pruner.PrunerNet(early, net.config.pad_token_id or 0).eval()
    for sample in samples:
        taught([sample]).backward()
        for place, output in active.items():
            assert output.grad is not None
            products = (output.detach() * output.grad).abs()
            sums[place] += products.reshape(-1, products.shape[-1]).sum(0)
        taught.zero_grad()
    for hook in hooks:
        hook.remove()
    return sums


@torch.no_grad()
def narrow(net: Any, kept: Sequence[torch.Tensor], windows: Sequence[Window]) -> None:
    """Leave these neurons of each layer, its output matrix fitted to the whole layer's output."""
    whole = copy.deepcopy(net).eval()
    pairs = zip(net.base_model.encoder.layer, whole.base_model.encoder.layer, strict=True)
    for (layer, other), own in zip(pairs, kept, strict=True):
        rows, goals = _Outputs(layer.intermediate), _Outputs(other.output.dense)
        for window in windows:
            ids, types = torch.tensor([window.ids]), torch.tensor([window.types])
            for one in (net, whole):
                one(input_ids=ids, token_type_ids=types)
        first = layer.intermediate.dense
        weight, bias = _fitted(rows.taken()[:, own].double(), goals.taken().double())
        layer.intermediate.dense = _linear(first.weight[own], first.bias[own])
        layer.output.dense = _linear(weight, bias)
    net.config.intermediate_size = len(kept[0])


class _Outputs:
    """What a module gives, until it is taken: ``(n, size)`` of all windows."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.rows: list[torch.Tensor] = []
        self.hook = module.register_forward_hook(lambda _m, _i, output: self.rows.append(output[0]))

    def taken(self) -> torch.Tensor:
        self.hook.remove()
        return torch.cat(self.rows)


def _fitted(rows: torch.Tensor, goals: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of a linear layer from rows ``(n, in)`` to goals ``(n, out)``."""
    off, height = rows.mean(0), goals.mean(0)
    centred = rows - off
    squares = centred.T @ centred
    squares += _RIDGE * squares.diagonal().mean() * torch.eye(len(squares), dtype=squares.dtype)
    weight = torch.linalg.solve(squares, centred.T @ (goals - height))
    return weight.T.float(), (height - off @ weight).float()


def _linear(weight: torch.Tensor, bias: torch.Tensor) -> torch.nn.Linear:
    layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
    layer.weight.copy_(weight)
    layer.bias.copy_(bias)
    return layer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--width", type=int, required=True, help="neurons of each layer that stay")
    parser.add_argument("--layers", default="", help="every:2 or 1,2,4 keeps some")
    options = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        encoder = thinned(str(options.checkpoint), options.layers, Path(folder))
        net = pruner._encoder(encoder)
        head = options.checkpoint / HEAD
        file = options.checkpoint / "tokenizer.json"
        samples = drawn(options.data, WindowTokenizer.read(file, Layout(question=128)))
        sums = importance(net, head, samples)
        kept = [one.topk(options.width).indices.sort().values for one in sums]
        shares = [float(one[own].sum() / one.sum()) for one, own in zip(sums, kept, strict=True)]
        print("share of the importance that stays:", [round(share, 2) for share in shares])
        windows = [window for sample in samples for window in sample.windows]
        narrow(net.eval(), kept, random.Random(5).sample(windows, min(WINDOWS, len(windows))))
        pruner._publish(net, encoder, options.output)
    if head.is_file():
        shutil.copy(head, options.output)


if __name__ == "__main__":
    main()
