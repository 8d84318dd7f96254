"""Local bi-encoders and cross-encoders, by sentence-transformers: the hub's, or a named one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError, check_range, needs_extra

with needs_extra("local"):
    import sentence_transformers
    import torch

from ragsieve.models import store
from ragsieve.models.loading import LocalModel, adapted, compute, loaded, marked, once, record_texts
from ragsieve.text import safe

STEP = 8  # texts of a batch differ by less than so many tokens: padding costs time on a CPU


@dataclass(frozen=True)
class _Encoder(LocalModel):
    """What both kinds of encoder share: where the model is, and batches of texts of like length.

    A text's numbers agree to 1e-5 whatever else is in the call, and equal texts have equal numbers:
    they are computed once. Weights are safetensors; no code is run.

    Args:
        batch_size: Texts computed together.
    """

    batch_size: int = field(default=64, kw_only=True)
    _embeds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_range(self, batch_size=(1, None))

    @once
    def identity(self) -> str:
        """Model and weights: what numbers depend on."""
        return f"sentence_transformers:{marked(self.model)}"

    def _load(self, kind: Callable[..., Any]) -> Any:
        return compute(
            loaded,
            self.model,
            kind,
            str(store.resolve(self.model)),
            device=self.device,
            model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            trust_remote_code=False,
        ).eval()

    def _run(
        self,
        inputs: Sequence[Any],
        tokenizer: Any,
        limit: int,
        forward: Callable[[dict[str, torch.Tensor]], torch.Tensor],
    ) -> NDArray[np.float32]:
        """``forward`` over batches of the different inputs by length; rows in their order."""
        different = list(dict.fromkeys(inputs))
        with self._lock:  # truncation is a state that a tokenizer's callers share
            encoded = tokenizer(different, truncation=False, padding=False, verbose=False)
            lengths = [len(ids) for ids in encoded["input_ids"]]
            if max(lengths) > limit:
                encoded = tokenizer(different, truncation=True, max_length=limit, padding=False)
        order = sorted(range(len(different)), key=lengths.__getitem__)
        batches = []
        for _, group in groupby(order, key=lambda i: min(lengths[i], limit) // STEP):
            places = [*group]
            for at in range(0, len(places), self.batch_size):
                some = places[at : at + self.batch_size]
                part = {key: [encoded[key][i] for i in some] for key in encoded}
                batches.append(dict(tokenizer.pad(part, return_tensors="pt")))
        outs = compute(_forwarded, forward, batches)
        rows = dict(zip((different[i] for i in order), chain(*outs), strict=True))
        sizes = dict(zip(different, lengths, strict=True))
        tokens = [sizes[item] for item in inputs]
        record_texts(self.identity, tokens, limit, embedded=self._embeds)
        return np.stack([rows[item] for item in inputs]).astype(np.float32)


@torch.inference_mode()
def _forwarded(
    forward: Callable[[dict[str, torch.Tensor]], torch.Tensor],
    batches: Sequence[dict[str, torch.Tensor]],
) -> list[NDArray[np.float32]]:
    return [forward(batch).float().cpu().numpy() for batch in batches]


@dataclass(frozen=True)
class SentenceTransformer(_Encoder):
    """A bi-encoder: `ragsieve.models.base.Embedder`.

    A text longer than the model reads is embedded by its first tokens, and the trace says so.

    Args:
        adapter: A folder or hub id of a PEFT adapter to merge into it.
    """

    model: str = "minilm"
    adapter: str | None = field(default=None, kw_only=True)
    _embeds: ClassVar[bool] = True

    @once
    def identity(self) -> str:
        """Model, weights and adapter: what vectors depend on."""
        return f"sentence_transformers:{marked(self.model, self.adapter)}"

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors of unit length, ``(len(texts), dim)``, with the model's own prompt if any."""
        model = self._model
        if not texts:
            return np.zeros((0, model.get_embedding_dimension()), np.float32)
        prompt = model.prompts.get("query" if query else "document") or ""
        device = model.device

        def forward(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            output = model({key: value.to(device) for key, value in batch.items()})
            return torch.nn.functional.normalize(output["sentence_embedding"], dim=-1)

        limit = int(model.max_seq_length or 512)
        return self._run([prompt + safe(text) for text in texts], model.tokenizer, limit, forward)

    @once
    def _model(self) -> Any:
        model = self._load(sentence_transformers.SentenceTransformer)
        if self.adapter:  # is merged in place: only the module that encodes has weights to change
            compute(adapted, model[0].auto_model, self.adapter, self.adapter)
        return model


@dataclass(frozen=True)
class LocalCrossEncoder(_Encoder):
    """A cross-encoder with one output: `ragsieve.models.base.CrossEncoder`."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The model's logit for each pair, ``(len(pairs),)``; any real number, higher is better."""
        if not pairs:
            return np.zeros(0, np.float32)
        model = self._model
        device = model.device

        def forward(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            output = model.model(**{key: value.to(device) for key, value in batch.items()})
            return output.logits[:, 0]  # type: ignore[no-any-return]

        limit = int(model.max_seq_length or 512)
        inputs = [(safe(a), safe(b)) for a, b in pairs]
        return self._run(inputs, model.tokenizer, limit, forward)

    @once
    def _model(self) -> Any:
        model = self._load(sentence_transformers.CrossEncoder)
        kind = type(model.model).__name__
        if kind not in (model.config.architectures or []):  # its head would be made up
            raise ModelError(f"model {self.model!r} must be a cross-encoder, it is no {kind}")
        if model.num_labels != 1:
            raise ModelError(
                f"model {self.model!r} must have one output, it has {model.num_labels}"
            )
        return model
