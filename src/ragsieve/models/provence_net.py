"""The parts of a Provence model: a tokenizer of words, and an encoder with two heads.

`ragsieve.models.provence` says what the files hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file
from torch.nn.utils.rnn import pad_sequence
from transformers.activations import ACT2FN

from ragsieve.errors import ModelError
from ragsieve.models.loading import own_tokenizer
from ragsieve.models.window_cache import Logits
from ragsieve.models.windows import Laid, Layout, Marks, Window
from ragsieve.text import safe

WEIGHTS = "model.safetensors"
SIZE = 512  # tokens of a window, at most
TOGETHER = 16  # windows of about one length that are computed together

Words = list[str]


class WordTokenizer:
    """Lays passages out word by word: a word's tokens are the same whatever stands beside it.

    A control token is left out wherever a text names it: to a sentencepiece tokenizer it is a piece
    of text, too.

    Args:
        folder: Holds a ``tokenizer.json``.
        positions: Tokens that the encoder reads.

    Raises:
        InputError: If the encoder reads too few.
        ModelError: If the tokenizer has no control tokens for start and end.
    """

    def __init__(self, folder: Path, positions: int) -> None:
        # not AutoTokenizer: it asks to run the code of a repository that has some
        own = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
        if None in (own.cls_token_id, own.sep_token_id):
            raise ModelError("it needs a tokenizer.json with control tokens for start and end")
        size = min(SIZE, positions)
        self.layout = Layout(size, question=size // 8, title=0, context=size // 8)
        self.control = {*own.all_special_ids} - {own.unk_token_id}
        self._marks = Marks(own.cls_token_id, own.sep_token_id, colon=own.sep_token_id)  # no titles
        self._tokenizer = own_tokenizer(own, plain=True)

    def lay(self, question: str, passages: Sequence[Words]) -> Laid:
        """Windows of each passage, whose words are what `Layout` calls its sentences."""
        flat = [safe(question), *(f" {word}" for words in passages for word in words)]
        encodings = self._tokenizer.encode_batch(flat, add_special_tokens=False)
        rows = ([n for n in one.ids if n not in self.control] for one in encodings)
        question_ids, most = next(rows), self.layout.question
        windows = [
            self.layout.windows(question_ids, [], [*islice(rows, len(words))], self._marks)
            for words in passages
        ]
        cut = len(question_ids) > most
        return Laid(windows, f"the question has over {most} tokens: only these count" * cut)


class TwoHeads(torch.nn.Module):
    """An encoder with a head for the passage, on the first token, and one for every token."""

    def __init__(self, encoder: Any, scores: int = 1) -> None:
        super().__init__()
        config = encoder.config
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None  # ours is the one above it
        self.encoder, self.in_bfloat16 = encoder, False
        wide = getattr(config, "pooler_hidden_size", config.hidden_size)
        self.pooler = torch.nn.ModuleDict({"dense": torch.nn.Linear(wide, wide)})
        self.activation = ACT2FN[getattr(config, "pooler_hidden_act", "tanh")]
        self.classifier = torch.nn.Linear(wide, scores)
        self.token_classifier = torch.nn.Linear(config.hidden_size, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of keeping each token, and of its passage, ``(n, length, 2)``."""
        with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.in_bfloat16):
            output = self.encoder(input_ids=ids, attention_mask=mask)
        hidden = output.last_hidden_state.float()
        first = self.activation(self.pooler["dense"](hidden[:, 0]))
        drop, keep = self.token_classifier(hidden).unbind(-1)
        return torch.stack([keep - drop, self.classifier(first)[:, :1].expand_as(keep)], -1)

    @torch.inference_mode()
    def run(self, windows: Sequence[Window]) -> list[Logits]:
        """Logits of each window's tokens, ``(n_tokens, 2)`` each."""
        device = self.classifier.weight.device
        order = sorted(range(len(windows)), key=lambda n: len(windows[n].ids))  # little padding
        logits: dict[int, Logits] = {}
        for at in range(0, len(order), TOGETHER):
            part = order[at : at + TOGETHER]
            rows = [torch.tensor(windows[n].ids, device=device) for n in part]
            ids = pad_sequence(rows, batch_first=True)
            mask = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
            both = self(ids, mask).cpu().numpy()
            for k, n in enumerate(part):
                logits[n] = both[k, : len(windows[n].ids)].copy()
        return [logits[n] for n in range(len(windows))]

    @classmethod
    def load(cls, folder: Path, dtype: str = "float32", device: str = "cpu") -> TwoHeads:
        """The net in ``folder``; any exception where its tensors do not fit."""
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}
        make: Any = transformers.AutoModel.from_config
        encoder = make(_config(values, tensors))
        prefix = f"{encoder.base_model_prefix}."
        net = cls(encoder, len(tensors["classifier.bias"]))
        net.load_state_dict(
            {
                f"encoder.{name.removeprefix(prefix)}" if name.startswith(prefix) else name: tensor
                for name, tensor in tensors.items()
                if not name.endswith(".position_ids")  # no weight; older versions saved it
            }
        )
        net.in_bfloat16 = dtype == "bfloat16"
        if net.in_bfloat16:  # what autocast would do in each call
            for module in encoder.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(torch.bfloat16)
        return net.eval().to(device)


def _config(values: Mapping[str, Any], tensors: Mapping[str, Any]) -> Any:
    """The encoder's; one that only its repository's code knows is recognised by its tensors."""
    kind = values["model_type"]
    if any(name.startswith("deberta.") for name in tensors):
        kind = "deberta-v2"
    own = {"model_type", "auto_map", "architectures", "transformers_version", "torch_dtype"}
    return transformers.AutoConfig.for_model(
        kind, **{name: value for name, value in values.items() if name not in own}
    )
