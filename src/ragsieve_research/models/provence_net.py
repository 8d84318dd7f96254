"""The parts of Provence models: a tokenizer of words, and encoders with a head for every token.

`ragsieve_research.models.provence` says what the files hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import torch
import transformers
from safetensors.torch import load_file
from transformers.activations import ACT2FN

from ragsieve.errors import ModelError
from ragsieve.models.windows import Layout, Logits, Marks, QuestionWindows, Window
from ragsieve.text import safe
from ragsieve_research.models.loading import batches, own_tokenizer

WEIGHTS = "model.safetensors"
SIZE = 512  # tokens of a window, at most, where the configuration does not say
_KINDS = {"deberta.": "deberta-v2", "roberta.": "xlm-roberta"}  # by what tensors' names begin with
_HEAD = "pruning_head."
_STOPS = tuple("。！？")  # no space follows them

Words = list[str]


class WordTokenizer:
    """Lays passages out word by word: a word's tokens are the same whatever stands beside it.

    A control token is left out wherever a text names it: to a sentencepiece tokenizer it is a piece
    of text, too.

    Args:
        folder: Holds a ``tokenizer.json``.
        size: Tokens of a window.
        paired: Whether control tokens stand as the tokenizer puts them around two texts; else there
            is one before the question, one behind it and one behind the passage.

    Raises:
        InputError: If a window is too small.
        ModelError: If the tokenizer has no control tokens for start and end.
    """

    def __init__(self, folder: Path, size: int, *, paired: bool = False) -> None:
        # not AutoTokenizer: it asks to run the code of a repository that has some
        own = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
        self._tokenizer = own_tokenizer(own, plain=True)
        ids = [own.cls_token_id, own.sep_token_id, own.sep_token_id]
        if paired:
            ids = self._tokenizer.encode("", "").ids
        if None in ids or len(ids) < 3 or ids[1] != ids[-1]:
            raise ModelError("it needs a tokenizer.json with control tokens for start and end")
        self._marks = Marks(ids[0], ids[1], colon=ids[1], gap=tuple(ids[2:-1]))  # no titles
        self.layout = Layout(size, question=size // 8, title=0, context=size // 8)
        self.control = {*own.all_special_ids} - {own.unk_token_id}

    def lay(self, question: str, passages: Sequence[Words]) -> QuestionWindows:
        """Windows of each passage, whose words are what `Layout` calls its sentences."""
        flat = [safe(question), *(word for words in passages for word in _spaced(words))]
        encodings = self._tokenizer.encode_batch(flat, add_special_tokens=False)
        rows = ([n for n in one.ids if n not in self.control] for one in encodings)
        question_ids, most = next(rows), self.layout.question
        windows = [
            self.layout.windows(question_ids, [], [*islice(rows, len(words))], self._marks)
            for words in passages
        ]
        cut = len(question_ids) > most
        return QuestionWindows(
            windows, f"the question has over {most} tokens: only these count" * cut
        )


def _spaced(words: Words) -> list[str]:
    """Words as they stand in a text: behind a space, but for the first."""
    before = [_STOPS[0], *words]
    return [
        word if last.endswith(_STOPS) else f" {word}"
        for last, word in zip(before, words, strict=False)
    ]


class PairNet(torch.nn.Module):
    """An encoder of a question with a passage: a logit for the passage, one for every token.

    Args:
        config: The encoder's.
        size: Tokens of a window, at most; fewer where the encoder reads fewer.
    """

    inside: ClassVar[str]  # what the names of the encoder's modules begin with
    paired: ClassVar[bool]  # see `WordTokenizer`

    def __init__(self, config: Any, size: int) -> None:
        super().__init__()
        unused = config.pad_token_id + 1 if "roberta" in config.model_type else 0
        self.size = min(size, config.max_position_embeddings - unused)
        self.in_bfloat16 = False

    def _encoded(self, encoder: Any, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self.in_bfloat16):
            return encoder(input_ids=ids, attention_mask=mask)

    @torch.inference_mode()
    def run(self, windows: Sequence[Window], batch_tokens: int) -> list[Logits]:
        """Logits of each window's tokens, ``(n_tokens, 2)`` each."""
        device = next(self.parameters()).device
        logits: dict[int, Logits] = {}
        for places, ids, mask in batches([w.ids for w in windows], batch_tokens, 0, device):
            both = self(ids, mask).cpu().numpy()
            for k, n in enumerate(places):
                logits[n] = both[k, : len(windows[n].ids)].copy()
        return [logits[n] for n in range(len(windows))]

    def filled(self, tensors: Mapping[str, Any], dtype: str, device: str) -> PairNet:
        """With these weights, ready to compute."""
        kept = {n: t for n, t in tensors.items() if not n.endswith(".position_ids")}  # no weight
        self.load_state_dict(kept)
        self.in_bfloat16 = dtype == "bfloat16"
        if self.in_bfloat16:  # what autocast would do in each call
            for name, module in self.named_modules():
                if isinstance(module, torch.nn.Linear) and name.startswith(self.inside):
                    module.to(torch.bfloat16)
        return self.eval().to(device)


class TwoHeads(PairNet):
    """An encoder with a head for the passage, on the first token, and one for every token."""

    inside, paired = "encoder.", False

    def __init__(self, encoder: Any, scores: int = 1) -> None:
        config = encoder.config
        super().__init__(config, SIZE)
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None  # ours is the one above it
        self.encoder = encoder
        wide = getattr(config, "pooler_hidden_size", config.hidden_size)
        self.pooler = torch.nn.ModuleDict({"dense": torch.nn.Linear(wide, wide)})
        self.activation = ACT2FN[getattr(config, "pooler_hidden_act", "tanh")]
        self.classifier = torch.nn.Linear(wide, scores)
        self.token_classifier = torch.nn.Linear(config.hidden_size, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of keeping each token, and of its passage, ``(n, length, 2)``."""
        hidden = self._encoded(self.encoder, ids, mask).last_hidden_state.float()
        first = self.activation(self.pooler["dense"](hidden[:, 0]))
        drop, keep = self.token_classifier(hidden).unbind(-1)
        return torch.stack([keep - drop, self.classifier(first)[:, :1].expand_as(keep)], -1)

    @classmethod
    def of(cls, values: Mapping[str, Any], tensors: dict[str, Any]) -> tuple[TwoHeads, Any]:
        """The net without its weights, and these by its own names."""
        make: Any = transformers.AutoModel.from_config
        encoder = make(_config(values, tensors))
        prefix = f"{encoder.base_model_prefix}."
        starts = {f"{prefix}pooler.": "pooler.", prefix: cls.inside}
        own = {_renamed(name, starts): tensor for name, tensor in tensors.items()}
        return cls(encoder, len(tensors["classifier.bias"])), own


class RankingNet(PairNet):
    """A reranker with its own head for the passage, and a linear head for every token.

    Differs: From what the code of such a repository does today. Its tokens' head was trained on the
        last ``hidden_states`` of transformers 4, which for ModernBERT are those before its final
        norm; transformers 5 calls those behind it so, and they are not taken here.
    """

    inside, paired = "ranking_model.", True

    def __init__(self, ranking_model: Any, size: int) -> None:
        super().__init__(ranking_model.config, size)
        self.ranking_model = ranking_model
        head = torch.nn.Linear(ranking_model.config.hidden_size, 2)
        self.pruning_head = torch.nn.ModuleDict({"classifier": head})
        self._states: list[torch.Tensor] = []
        encoder = ranking_model.base_model
        if hasattr(encoder, "final_norm"):
            encoder.final_norm.register_forward_pre_hook(lambda _, args: self._keep(args[0]))
        else:
            encoder.register_forward_hook(lambda *call: self._keep(call[-1].last_hidden_state))

    def _keep(self, states: torch.Tensor) -> None:
        self._states[:] = [states.float()]

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Logits of keeping each token, and of its passage, ``(n, length, 2)``."""
        score = self._encoded(self.ranking_model, ids, mask).logits[:, :1].float()
        drop, keep = self.pruning_head["classifier"](self._states.pop()).unbind(-1)
        return torch.stack([keep - drop, score.expand_as(keep)], -1)

    @classmethod
    def of(cls, values: Mapping[str, Any], tensors: dict[str, Any]) -> tuple[RankingNet, Any]:
        """The net without its weights, and these by its own names."""
        starts = {cls.inside: cls.inside, _HEAD: _HEAD, "": cls.inside}  # an earlier form has none
        own = {
            _renamed(name, starts): tensor
            for name, tensor in tensors.items()
            if not name.startswith(f"{_HEAD}pooling_weights.")  # on which nothing depends
        }
        base = {**values["base_model_config"], "num_labels": values.get("num_labels") or 1}
        make: Any = transformers.AutoModelForSequenceClassification.from_config
        return cls(make(_config(base, own)), values.get("max_length") or SIZE), own


def load_net(folder: Path, dtype: str = "float32", device: str = "cpu") -> PairNet:
    """The net in ``folder``; any exception where its tensors do not fit."""
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    tensors = {name: tensor.float() for name, tensor in load_file(folder / WEIGHTS).items()}
    kind = RankingNet if f"{_HEAD}classifier.weight" in tensors else TwoHeads
    net, own = kind.of(values, tensors)
    return net.filled(own, dtype, device)


def _renamed(name: str, starts: Mapping[str, str]) -> str:
    """``name`` with the first of ``starts`` that it begins with replaced."""
    start = next((start for start in starts if name.startswith(start)), None)
    return name if start is None else starts[start] + name.removeprefix(start)


def _config(values: Mapping[str, Any], tensors: Mapping[str, Any]) -> Any:
    """The encoder's; one that only its repository's code knows is recognised by its tensors."""
    kind = values["model_type"]
    if kind not in transformers.CONFIG_MAPPING:
        starts = {f"{name.partition('.')[0]}." for name in tensors} & _KINDS.keys()
        kind = _KINDS[starts.pop()] if starts else kind
    own = {"model_type", "auto_map", "architectures", "transformers_version", "torch_dtype"}
    return transformers.AutoConfig.for_model(
        kind, **{name: value for name, value in values.items() if name not in own}
    )
