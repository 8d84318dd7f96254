"""What a pruner computes: an encoder with two heads, over windows of one passage each.

`ragsieve.models.provence` says what the files hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors.torch import load_file
from transformers.activations import ACT2FN

from ragsieve.errors import ModelError
from ragsieve.models.base import Passage
from ragsieve.models.clue_windows import Layout, Read, Setter, Span, Tokens, Window
from ragsieve.models.loading import loaded, own_tokenizer
from ragsieve.text import safe

WEIGHTS = "model.safetensors"
LAYOUT = Layout(size=512, question=64, title=64, sentence=200, overlap=64)
STEP = 8  # windows are padded to a multiple of this many tokens
TOGETHER = 16  # windows of one padded length that are computed together
_WORD = 32  # characters; a longer word is read in pieces, so that none is cut off


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

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of passages, ``(n,)``, and of keeping each token, ``(n, length)``."""
        with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.in_bfloat16):
            found = self.encoder(input_ids=ids, attention_mask=mask)
        hidden = found.last_hidden_state.float()
        first = self.activation(self.pooler["dense"](hidden[:, 0]))
        drop, keep = self.token_classifier(hidden).unbind(-1)
        return self.classifier(first)[:, 0], keep - drop

    @torch.inference_mode()
    def run(
        self, windows: Sequence[Window], padding: int
    ) -> list[tuple[float, NDArray[np.float32]]]:
        """Of each window the passage's logit, and the keep-probability of all its tokens."""
        sizes = [-(-len(window.ids) // STEP) * STEP for window in windows]
        found: list[Any] = [None] * len(windows)
        for size in sorted(set(sizes)):
            places = [n for n, own in enumerate(sizes) if own == size]
            for at in range(0, len(places), TOGETHER):
                part = places[at : at + TOGETHER]
                scores, tokens = self(*self.batch([windows[n] for n in part], padding, size))
                keep = torch.sigmoid(tokens).cpu().numpy()
                for n, score, row in zip(part, scores.tolist(), keep, strict=True):
                    found[n] = score, row
        return found

    def batch(
        self, windows: Sequence[Window], padding: int, size: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids and their mask, ``(len(windows), size)``."""
        device = self.classifier.weight.device
        ids = [[*w.ids, *[padding] * (size - len(w.ids))] for w in windows]
        mask = [[1] * len(w.ids) + [0] * (size - len(w.ids)) for w in windows]
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def ready(self, dtype: str, device: str) -> TwoHeads:
        """Itself, to be run and no longer trained."""
        self.in_bfloat16 = dtype == "bfloat16"
        if self.in_bfloat16:  # what autocast would do in each call
            for module in self.encoder.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(torch.bfloat16)
        return self.eval().to(device)

    def tensors(self) -> dict[str, torch.Tensor]:
        """Weights by their names in a folder."""
        prefix = f"{self.encoder.base_model_prefix}."
        return {
            f"{prefix}{name[8:]}" if name.startswith("encoder.") else name: value.contiguous()
            for name, value in self.state_dict().items()
        }

    @classmethod
    def load(cls, folder: Path) -> TwoHeads:
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
        return net


def _config(values: Mapping[str, Any], tensors: Mapping[str, Any]) -> Any:
    """The encoder's; one that only its repository's code knows is told by its tensors."""
    kind = values["model_type"]
    if any(name.startswith("deberta.") for name in tensors):
        kind = "deberta-v2"
    own = {"model_type", "auto_map", "architectures", "transformers_version", "torch_dtype"}
    return transformers.AutoConfig.for_model(
        kind, **{name: value for name, value in values.items() if name not in own}
    )


class PassageSetter(Setter):
    """Sets every passage in windows of its own; marks in a text are left out, whoever wrote them.

    A sentencepiece tokenizer knows its marks as pieces of text, too.
    """

    def read(self, question: str, passages: Sequence[Passage]) -> Read:
        """All token ids, uncut; those of a word are the same whatever stands beside it."""
        texts = [words(text) for title, some in passages for text in (title, *some)]
        flat = [question, *(f" {word}" for text in texts for word in text)]
        asked, *found = (e.ids for e in self.tokenizer.encode_batch(flat, add_special_tokens=False))
        ids = iter(found)
        rows = iter([self._text([n for _ in text for n in next(ids)]) for text in texts])
        taken = [(next(rows), [next(rows) for _ in some]) for _, some in passages]
        return Read(self._text(asked), taken)

    def _text(self, tokens: Tokens) -> list[int]:
        return [n for n in tokens if n not in (self.cls, self.sep, self.padding)]

    def windows(self, read: Read, layout: Layout) -> list[Window]:
        """Windows in which every sentence counts once; none holds two passages."""
        (*_, colon) = self.tokenizer.encode("a:", add_special_tokens=False).ids
        made: list[Window] = []
        first = 0
        for passage in read.passages:
            own = layout.windows(read.question, [passage], (self.cls, self.sep, colon))
            for window in own:
                spans = [Span(first + n, start, end) for n, start, end in window.spans]
                made.append(Window(window.ids, window.question, spans))
            first += len(passage[1])
        return made


def words(text: str) -> list[str]:
    """Words of a text as they are read, of at most `_WORD` characters."""
    return [w[at : at + _WORD] for w in safe(text).split() for at in range(0, len(w), _WORD)]


def passage_setter(name: str, folder: Path | str) -> PassageSetter:
    """What sets passages as windows of the encoder ``name``, which lies in ``folder``.

    Raises:
        ModelError: If it has no fast tokenizer with marks of start and end.
    """
    # not AutoTokenizer: it asks to run the code of a repository that has some
    own = loaded(name, transformers.PreTrainedTokenizerFast.from_pretrained, str(folder))
    if None in (own.cls_token_id, own.sep_token_id):
        raise ModelError(f"model {name!r} needs a tokenizer.json with marks of start and end")
    plain = own_tokenizer(own, plain=True)
    return PassageSetter(plain, own.cls_token_id, own.sep_token_id, own.pad_token_id or 0)


def layout_for(config: Any) -> Layout:
    """`LAYOUT`, or a smaller one for an encoder that reads less.

    Raises:
        ModelError: If it reads less than 32 tokens.
    """
    size = config.max_position_embeddings
    if size >= LAYOUT.longest:
        return LAYOUT
    if size < 32:
        raise ModelError(f"the encoder of a pruner must read at least 32 tokens, got {size}")
    return Layout(size, *[size // 4] * 4)
