"""An encoder that reads sentences behind the layer before its last, which then reads [CLS] alone.

A passage's logit needs one row of the last layer. A sentence's is nearly linear in the states of
the layer before: a head is fitted there to the logits of all layers, without any label, and may be
trained on with the layers.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from ragsieve.models.windows import Window

HEAD = "early.safetensors"
"""The file of a trained head, beside a checkpoint."""
_RIDGE = 3e-4  # of the mean square of a centred state


class EarlyTraining(torch.nn.Module):
    """An encoder as `ragsieve_research.train.pruner.PrunerNet` takes it, with a head of sentences.

    Args:
        encoder: A BERT-like encoder for token classification with two labels.
        head: What `EarlyNet` fitted.
    """

    def __init__(self, encoder: Any, head: torch.nn.Linear) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.config, self.device = encoder.config, encoder.device

    def forward(self, **inputs: torch.Tensor) -> SimpleNamespace:
        """``logits`` as those of `EarlyNet`, of windows with padding."""
        found = self.encoder(**inputs, output_hidden_states=True)
        sentences = self.head(found.hidden_states[-2])
        return SimpleNamespace(logits=torch.cat([found.logits[:, :1], sentences[:, 1:]], 1))

    def publish(self, folder: Path) -> None:
        """Write the head beside the encoder's checkpoint."""
        save_file({n: w.detach() for n, w in self.head.state_dict().items()}, folder / HEAD)


class EarlyNet(torch.nn.Module):
    """Logits of one window without padding, ``(1, length, 2)``: of its first token by all layers,
    of the others, as evidence alone, by all but the last.

    Args:
        net: A BERT-like encoder for token classification with two labels.
        windows: On which the head of sentences is fitted; over a thousand.
        taught: Whose logits it is fitted to: an encoder that may have more layers; the same where
            None.
        head: The file of a trained head, in place of one that is fitted.
    """

    def __init__(
        self,
        net: Any,
        windows: Iterable[Window] = (),
        *,
        taught: Any = None,
        head: Path | None = None,
    ) -> None:
        super().__init__()
        self.net = net
        self.head = torch.nn.Linear(net.config.hidden_size, 2)
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.zeros_(self.head.bias)
        if head:
            self.head.load_state_dict(load_file(head))
        else:
            self._fit(windows, taught or net)

    def forward(self, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Of token ids and types, ``(1, length)`` each."""
        states = self._states(ids, types)
        logits: torch.Tensor = self.head(states)
        return torch.cat([self.net.classifier(self._first(states)), logits[:, 1:]], 1)

    def _states(self, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        """Behind the layer before the last, ``(1, length, size)``."""
        states: torch.Tensor = self.net.base_model.embeddings(input_ids=ids, token_type_ids=types)
        for layer in self.net.base_model.encoder.layer[:-1]:
            states = layer(states)
        return states

    def _first(self, states: torch.Tensor) -> torch.Tensor:
        """The first token behind the last layer, ``(1, 1, size)``.

        Keys and values are products of all states. The matrices of both go to the one query
        instead, and to the one sum; a key's bias adds the same to every share.
        """
        last, first = self.net.base_model.encoder.layer[-1], states[:, :1]
        own = last.attention.self
        heads = own.num_attention_heads, own.attention_head_size, -1
        query = own.query(first).view(heads[0], 1, heads[1]) * own.scaling
        query = query @ own.key.weight.view(heads)  # (heads, 1, size)
        shares = (query.transpose(0, 1) @ states.transpose(1, 2)).softmax(-1)  # (1, heads, length)
        summed = (shares @ states).transpose(0, 1)  # (heads, 1, size)
        values = summed @ own.value.weight.view(heads).transpose(1, 2)  # (heads, 1, size of one)
        attended = values.reshape(1, 1, -1) + own.value.bias
        found: torch.Tensor = last.feed_forward_chunk(last.attention.output(attended, first))
        return found

    @torch.no_grad()
    def _fit(self, windows: Iterable[Window], taught: Any) -> None:
        """Fit the head to sentences' logits by all layers: ridge regression."""
        rows, wanted = [], []
        for window in windows:
            ids, types = torch.tensor([window.ids]), torch.tensor([window.types])
            states = self._states(ids, types)
            logits = taught(input_ids=ids, token_type_ids=types).logits
            for _, start, end in window.spans:
                rows.append(states[0, start:end].mean(0))
                wanted.append(logits[0, start:end, 0].mean())
        states, logits = torch.stack(rows).double(), torch.stack(wanted).double()
        off, height = states.mean(0), logits.mean()
        centred = states - off
        squares = centred.T @ centred + _RIDGE * len(rows) * torch.eye(len(off))
        weights = torch.linalg.solve(squares, centred.T @ (logits - height))
        self.head.weight[0] = weights
        self.head.bias[0] = height - off @ weights
