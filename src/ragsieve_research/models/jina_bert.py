"""JinaBERT, the encoder of jina-embeddings-v2, whose own code is not run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError, needs_extra

with needs_extra("local"):
    import torch
    import transformers
    from safetensors.torch import load_file

from torch.nn import functional

from ragsieve.models.files import log_loading
from ragsieve.models.reopen import once
from ragsieve.schema import Count, Options
from ragsieve.text import safe
from ragsieve_research.models import store
from ragsieve_research.models.loading import LocalModel, compute, loaded, record_texts

Tensors = Mapping[str, torch.Tensor]


def is_jina_bert(values: Mapping[str, Any]) -> bool:
    """Whether a ``config.json`` is of the kind that is here: positions by ALiBi, gated by GELU."""
    return (
        values.get("position_embedding_type") == "alibi"
        and values.get("feed_forward_type") == "geglu"
    )


@dataclass(frozen=True)
class JinaBert(Options, LocalModel):
    """A bi-encoder of jina-embeddings-v2: `ragsieve.models.base.Embedder`.

    The mean of a text's last states, of unit length. Each text is computed by itself, in float32.
    Of a longer text the first tokens count, and the trace says so. Weights are safetensors.

    Args:
        model: A folder, or a hub id.
        max_tokens: Of a text; at least 1.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If ``max_tokens`` is below 1.
        ModelError: If the model cannot be loaded, or is of another kind.

    Source: Jina Embeddings 2 (arXiv 2310.19923): ALiBi to both sides, GEGLU.
    """

    max_tokens: Count = field(default=512, kw_only=True)
    _files = ("*.json", "model.safetensors", "*.txt")

    @once
    def identity(self) -> str:
        """Model and weights."""
        return f"jina_bert:{store.marked(self.model)}:{self.max_tokens}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors of unit length, ``(len(texts), dim)``; questions as any other text."""
        net, tokenizer = self._net, self._tokenizer
        rows = [tokenizer(safe(text), verbose=False)["input_ids"] for text in texts]
        limit = self.max_tokens
        cut = [[*row[: limit - 1], row[-1]] if len(row) > limit else row for row in rows]
        vectors = [compute(net, row) for row in cut]
        record_texts(self.identity, [len(row) for row in rows], limit, embedded=True)
        return np.array(vectors, np.float32).reshape(len(texts), net.dim)

    @once
    def _tokenizer(self) -> Any:
        load = transformers.AutoTokenizer.from_pretrained
        return loaded(self.model, load, str(self.folder), trust_remote_code=False)

    @once
    def _net(self) -> JinaBertNet:
        config = self.folder / "config.json"
        values = loaded(self.model, lambda: json.loads(config.read_text("utf-8")))
        if not is_jina_bert(values):
            raise ModelError(f"model {self.model!r} must be a JinaBERT with ALiBi and GEGLU")
        log_loading(self.model)
        tensors = loaded(
            self.model, load_file, self.folder / "model.safetensors", device=self.used_device
        )
        return loaded(self.model, JinaBertNet, tensors, values)  # type: ignore[no-any-return]


class JinaBertNet:
    """The layers, by the names that the tensors have.

    Args:
        tensors: Of ``model.safetensors``, with or without ``bert.`` before their names.
        values: Of ``config.json``.
    """

    def __init__(self, tensors: Tensors, values: Mapping[str, Any]) -> None:
        self.tensors = {k.removeprefix("bert."): t.float() for k, t in tensors.items()}
        self.layers, self.heads = values["num_hidden_layers"], values["num_attention_heads"]
        self.eps = values.get("layer_norm_eps", 1e-12)
        words = self.tensors["embeddings.word_embeddings.weight"]
        self.dim, self.device = words.shape[1], words.device
        self.slopes = torch.tensor(slopes(self.heads), device=words.device)[:, None, None]
        self([0])  # a tensor that is missing is missed here

    @torch.inference_mode()
    def __call__(self, ids: Sequence[int]) -> list[float]:
        """The mean of the last states, of unit length."""
        kinds = self.tensors["embeddings.token_type_embeddings.weight"][0]
        states = self.tensors["embeddings.word_embeddings.weight"][list(ids)] + kinds
        states = self._norm("embeddings.LayerNorm", states)  # (tokens, dim)
        places = torch.arange(len(ids), device=self.device)
        bias = -self.slopes * (places - places[:, None]).abs()  # (heads, tokens, tokens)
        for layer in range(self.layers):
            states = self._layer(f"encoder.layer.{layer}", states, bias)
        vector: list[float] = functional.normalize(states.mean(0), dim=-1).tolist()
        return vector

    def _layer(self, name: str, states: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        split = (len(states), self.heads, -1)
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", states).view(split).transpose(0, 1)
            for part in ("query", "key", "value")
        )  # each (heads, tokens, dim / heads)
        odds = (query @ key.transpose(1, 2) / math.sqrt(query.shape[-1]) + bias).softmax(-1)
        read = (odds @ value).transpose(0, 1).flatten(1)
        read = self._linear(f"{name}.attention.output.dense", read)
        states = self._norm(f"{name}.attention.output.LayerNorm", read + states)
        gated, plain = self._linear(f"{name}.mlp.gated_layers", states).chunk(2, -1)
        output = self._linear(f"{name}.mlp.wo", functional.gelu(gated) * plain)
        return self._norm(f"{name}.mlp.layernorm", output + states)

    def _linear(self, name: str, states: torch.Tensor) -> torch.Tensor:
        return functional.linear(
            states, self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias")
        )

    def _norm(self, name: str, states: torch.Tensor) -> torch.Tensor:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, self.eps)


def slopes(heads: int) -> list[float]:
    """Slopes by which each head forgets with distance.

    Source: ALiBi (arXiv 2108.12409), section 3: 2^(-8i/n) for n heads where n is a power of 2;
        else those of the power below it, then every second one of twice as many.
    """
    below: int = 2 ** int(math.log2(heads))
    values = [2 ** (-8 * i / below) for i in range(1, below + 1)]
    if below < heads:
        values += slopes(2 * below)[::2][: heads - below]
    return values
