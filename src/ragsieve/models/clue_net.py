"""What a clue reader computes: an adapted encoder's hidden states, and a head that judges them.

`ragsieve.models.clues` says what the files hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch.nn import functional

from ragsieve.models.clue_windows import Window

WEIGHTS, CALIBRATION = "packed.safetensors", "calibration.json"
STEP = 8  # windows are padded to a multiple of this many tokens
TOGETHER = 8  # windows of a question that are computed together


class Prior(torch.nn.Module):
    """A net over the hand-made inputs alone."""

    mean: torch.Tensor
    scale: torch.Tensor

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.net = torch.nn.Sequential(
            torch.nn.Linear(inputs, hidden),
            torch.nn.GELU(),
            torch.nn.Identity(),  # where training drops out
            torch.nn.Linear(hidden, hidden),
            torch.nn.GELU(),
            torch.nn.Identity(),  # where training drops out
            torch.nn.Linear(hidden, 1),
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Logits, ``(n,)``, of ``(n, inputs)``."""
        logits: torch.Tensor = self.net((inputs - self.mean) / self.scale)[:, 0]
        return logits


class Head(torch.nn.Module):
    """From sentence and question vectors, and hand-made inputs, to a logit."""

    def __init__(self, dim: int, hidden: int, inputs: int, prior: int) -> None:
        super().__init__()
        self.cos_scale = torch.nn.Parameter(torch.tensor(1.0))
        self.down = torch.nn.Linear(3 * dim, hidden)
        mixed = torch.nn.Linear(hidden + 1, hidden)
        self.mix = torch.nn.Sequential(torch.nn.Identity(), mixed, torch.nn.GELU())  # as above
        self.out = torch.nn.Linear(hidden, 1)
        self.prior = Prior(inputs, prior)

    def forward(self, s: torch.Tensor, q: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        """Logits, ``(n,)``, of two times ``(n, dim)`` and ``(n, inputs)``."""
        logits: torch.Tensor = self.of_states(s, q) + self.prior(inputs)
        return logits

    def of_states(self, s: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        """The part of the logits, ``(n,)``, that hidden states give."""
        s, q = functional.normalize(s, dim=-1), functional.normalize(q, dim=-1)
        cosine = (s * q).sum(-1, keepdim=True)
        x = self.down(torch.cat([s, q, s * q], -1) * s.shape[-1] ** 0.5)
        x = self.mix(torch.cat([x, cosine], -1))
        logits: torch.Tensor = (self.cos_scale * cosine + self.out(x))[:, 0]
        return logits


@dataclass(frozen=True, eq=False)
class Net:
    """An encoder with its adapter merged, the head behind it, and how logits are calibrated.

    Args:
        encoder: Gives hidden states.
        head: Makes logits of them and of hand-made inputs.
        calibration: Slope and offset of a logit (Platt's two numbers).
        padding: The token that fills windows up.
        bfloat16: Whether the encoder computes in it; the head does in float32.
    """

    encoder: torch.nn.Module
    head: Head
    calibration: tuple[float, float]
    padding: int
    bfloat16: bool

    @classmethod
    def load(
        cls, folder: Path, encoder: torch.nn.Module, padding: int, dtype: str, device: str
    ) -> Net:
        """The net in ``folder``; any exception where its tensors do not fit."""
        packed = load_file(folder / WEIGHTS)
        tensors = {name: tensor.float() for name, tensor in packed.items()}
        own = {name: tensors.pop(name) for name in [*tensors] if name.startswith("encoder.")}
        merge(encoder, {name.removeprefix("encoder."): tensor for name, tensor in own.items()})
        down, first = tensors["down.weight"], tensors["prior.net.0.weight"]
        head = Head(down.shape[1] // 3, down.shape[0], first.shape[1], first.shape[0])
        head.load_state_dict(tensors)
        values = json.loads((folder / CALIBRATION).read_text(encoding="utf-8"))
        bfloat16 = dtype == "bfloat16"
        if bfloat16:  # what autocast would do in each call
            for module in encoder.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(torch.bfloat16)
        calibration = float(values["a"]), float(values["b"])
        encoder, head = encoder.eval().to(device), head.eval().to(device)
        return cls(encoder, head, calibration, padding, bfloat16)

    @torch.inference_mode()
    def logits(self, windows: Sequence[Window], inputs: NDArray[np.float32]) -> list[float]:
        """As below, before calibration: any finite number."""
        if not windows:
            return []
        own, asked = states(self.encoder, windows, self.padding, self.bfloat16)
        values: list[float] = self.head(
            own, asked, torch.from_numpy(inputs).to(own.device)
        ).tolist()
        return values

    def probabilities(self, windows: Sequence[Window], inputs: NDArray[np.float32]) -> list[float]:
        """A number in [0, 1] for each row of ``inputs``, ``(n_sentences, n_inputs)``."""
        a, b = self.calibration
        logits = torch.tensor(self.logits(windows, inputs))
        values: list[float] = torch.sigmoid(a * logits + b).tolist()
        return values


def states(
    encoder: torch.nn.Module, windows: Sequence[Window], padding: int, bfloat16: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean hidden states of each sentence and of the question before it, ``(n, dim)`` each.

    Args:
        encoder: Gives hidden states.
        windows: At least one; each of the ``n`` sentences counts in one of them.
        padding: The token that fills windows up.
        bfloat16: Whether the encoder computes in it.
    """
    ordered = sorted(windows, key=lambda window: -len(window.ids))  # little padding
    own, asked, places = [], [], []
    for at in range(0, len(ordered), TOGETHER):
        part = ordered[at : at + TOGETHER]
        hidden = _hidden(encoder, [window.ids for window in part], padding, bfloat16)
        means = _shares(part, hidden.shape[1]).to(hidden.device) @ hidden
        for window, rows in zip(part, means, strict=True):
            count = len(window.spans)
            own.append(rows[1 : 1 + count])
            asked.append(rows[:1].expand(count, -1))
            places += [span.sentence for span in window.spans]
    back = torch.tensor(places).argsort().to(own[0].device)
    return torch.cat(own)[back], torch.cat(asked)[back]


def _shares(windows: Sequence[Window], length: int) -> torch.Tensor:
    """What each token counts in the means of the question and of each sentence behind it.

    ``(len(windows), 1 + most sentences, length)``.
    """
    most = max(len(window.spans) for window in windows)
    shares = torch.zeros(len(windows), 1 + most, length)
    for own, window in zip(shares, windows, strict=True):
        own[0, 1 : 1 + window.question] = 1 / max(1, window.question)
        for row, (_, start, end) in zip(own[1:], window.spans, strict=False):
            row[start:end] = 1 / max(1, end - start)
    return shares


def _hidden(
    encoder: torch.nn.Module, rows: Sequence[Sequence[int]], padding: int, bfloat16: bool
) -> torch.Tensor:
    """The encoder's last hidden states, ``(len(rows), length, dim)``."""
    device = next(encoder.parameters()).device
    length = -(-max(map(len, rows)) // STEP) * STEP
    ids = [[*row, *[padding] * (length - len(row))] for row in rows]
    mask = [[1] * len(row) + [0] * (length - len(row)) for row in rows]
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16):
        found = encoder(
            input_ids=torch.tensor(ids, device=device),
            attention_mask=torch.tensor(mask, device=device),
        )
    hidden: torch.Tensor = found.last_hidden_state.float()
    return hidden


def merge(encoder: torch.nn.Module, differences: Mapping[str, torch.Tensor]) -> None:
    """Add ``differences`` to the weights they are named after."""
    weights = dict(encoder.named_parameters())
    for name, tensor in differences.items():
        weight, _, kind = name.rpartition(".")
        if kind == "up":
            weights[weight].data += tensor @ differences[f"{weight}.down"]
        elif kind == "diff":
            weights[weight].data += tensor
        elif kind != "down":
            raise ValueError(f"{name} is no difference to the encoder's weights")
