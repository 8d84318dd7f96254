"""Local bi-encoders and cross-encoders, by sentence-transformers: the hub's, or a named one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ragsieve.errors import ModelError, needs_extra
from ragsieve.models.files import log_loading

with needs_extra("local"):
    import sentence_transformers
    import torch

from ragsieve.models.reopen import once
from ragsieve.models.wrap import check_columns
from ragsieve.text import safe
from ragsieve.trace import Usage, record_usage
from ragsieve.types import Span
from ragsieve_research.models import loading, store
from ragsieve_research.models.span_windows import windows_of

STEP = 8  # texts of a batch differ by less than so many tokens: padding costs time on a CPU


@dataclass(frozen=True)
class _Encoder(loading.BatchedModel):
    """Base of both kinds of encoder: the model's place, and batches of texts of like length.

    Cross-encoders compute in bfloat16 on an accelerator, bi-encoders in float32 unless ``dtype``
    says otherwise: vectors outlive a process, and an index holds for any processor.

    A text's numbers agree to 1e-5 whatever else is in the call, and equal texts have equal numbers:
    they are computed once. Weights are safetensors; no code is run.
    """

    _backend: ClassVar[str] = "sentence_transformers"
    net: ClassVar[Any]

    @once
    def identity(self) -> str:
        """Model, weights and precision: what numbers depend on."""
        return self._named(self.model)

    def _named(self, *names: str | None) -> str:
        half = "" if self.computed_dtype == "float32" else f":{self.computed_dtype}"
        return f"{self._backend}:{store.marked(*names)}{half}"

    def _load(self, kind: Callable[..., Any]) -> Any:
        log_loading(self.model)
        model = loading.compute(
            loading.loaded,
            self.model,
            kind,
            str(store.resolve(self.model)),
            device=self.device,
            model_kwargs={"use_safetensors": True, "dtype": getattr(torch, self.computed_dtype)},
            trust_remote_code=False,
        ).eval()
        model.max_seq_length = model.max_seq_length or 512
        return model

    def _numbers(
        self, inputs: Sequence[Any], call: Callable[..., Any], **options: Any
    ) -> tuple[NDArray[np.float32], list[int]]:
        """Results of ``call`` of the library for each input, and the tokens of each."""
        different = list(dict.fromkeys(inputs))
        tokenizer: Any = self._counter
        sizes = dict(zip(different, map(len, tokenizer.encode_batch(different)), strict=True))
        more = {"show_progress_bar": False, "prompt": ""}
        rows: dict[Any, NDArray[np.float32]] = {}
        order = sorted(different, key=sizes.__getitem__)
        for _, group in groupby(order, key=lambda i: min(sizes[i], self._limit) // STEP):
            some = [*group]
            size = loading.fitting(self.batch_tokens, min(sizes[some[-1]], self._limit))
            results = loading.compute(call, some, batch_size=size, **more, **options)
            rows |= zip(some, results, strict=True)
        return np.stack([rows[i] for i in inputs]).astype(np.float32), [sizes[i] for i in inputs]

    @once
    def _counter(self) -> Any:
        return loading.own_tokenizer(self.net.tokenizer, plain=False)

    @property
    def _limit(self) -> int:
        """Tokens that are read of an input."""
        return int(self.net.max_seq_length)


@dataclass(frozen=True)
class SentenceTransformer(_Encoder):
    """A bi-encoder: `ragsieve.models.base.Embedder`.

    A text longer than the model reads is embedded by its first tokens, and the trace says so.

    Args:
        adapter: A folder or hub id of a PEFT adapter to merge into it.
    """

    model: str = "minilm"
    adapter: str | None = field(default=None, kw_only=True)
    dtype: loading.Dtype = field(default="float32", kw_only=True)

    @once
    def identity(self) -> str:
        """Model, weights, adapter and precision: what vectors depend on."""
        return self._named(self.model, self.adapter)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Vectors of unit length, ``(len(texts), dim)``, with the model's own prompt if any."""
        model = self.net
        if not texts:
            return np.zeros((0, model.get_embedding_dimension()), np.float32)
        prompt = model.prompts.get("query" if query else "document") or ""
        inputs = [prompt + safe(text) for text in texts]
        vectors, sizes = self._numbers(inputs, model.encode)
        loading.record_texts(self.identity, sizes, self._limit, embedded=True)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)  # in bfloat16 not near enough to 1
        unit: NDArray[np.float32] = vectors / np.maximum(lengths, 1e-12)
        return unit

    def embed_spans(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[list[list[float]]]:
        """The mean of the last states of each span's tokens, of unit length.

        A text is read once, in windows of whole spans where it is longer than the model reads; a
        span that is longer counts by its first tokens, and the trace says so. Made for models that
        pool by the mean.
        """
        check_columns([texts, spans])
        if not any(spans):
            return [[] for _ in texts]
        tokenizer, limit = self.net.tokenizer, self._limit - 2
        inside = loading.own_tokenizer(tokenizer, plain=True)
        encodings = inside.encode_batch([safe(text) for text in texts], add_special_tokens=False)
        cut = [windows_of(e.offsets, some, limit) for e, some in zip(encodings, spans, strict=True)]
        around = tokenizer("")["input_ids"]
        rows = [
            [around[0], *encoding.ids[window.start : window.end], around[-1]]
            for encoding, windows in zip(encodings, cut, strict=True)
            for window in windows
        ]
        states = iter(loading.compute(self._states, rows))
        sizes = [sum(w.end - w.start for w in windows) for windows in cut]
        longest = [max((b - a for w in windows for a, b in w.spans), default=0) for windows in cut]
        note = f"a sentence has over {limit} tokens: only these count"
        usages = zip(sizes, longest, strict=True)
        record_usage(
            [
                Usage(self.identity, n, note=note * (most > limit), embedded=True)
                for n, most in usages
            ]
        )
        return [
            [_mean(own, a, b) for w in windows for own in [next(states)] for a, b in w.spans]
            for windows in cut
        ]

    @torch.inference_mode()
    def _states(self, rows: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """The last states of each row's tokens but the outer two, ``(n_tokens, dim)``."""
        encoder, pad = self.net[0], self.net.tokenizer.pad_token_id
        states: dict[int, torch.Tensor] = {}
        for places, ids, mask in loading.batches(rows, self.batch_tokens, pad, self.net.device):
            out = encoder({"input_ids": ids, "attention_mask": mask})["token_embeddings"]
            for n, row in zip(places, out.float().cpu(), strict=True):
                states[n] = row[1 : len(rows[n]) - 1]
        return [states[n] for n in range(len(rows))]

    @once
    def net(self) -> Any:
        model = self._load(sentence_transformers.SentenceTransformer)
        if self.adapter:  # is merged in place: only the module that encodes has weights to change
            loading.compute(
                loading.adapted, model[0].auto_model, self.adapter, str(store.resolve(self.adapter))
            )
        return model


def _mean(states: torch.Tensor, start: int, end: int) -> list[float]:
    """The mean of some states, of unit length; zeros of none."""
    mean = states[start:end].sum(0) / max(1, end - start)
    vector: list[float] = torch.nn.functional.normalize(mean, dim=0).tolist()
    return vector


@dataclass(frozen=True)
class DotProduct(SentenceTransformer):
    """A bi-encoder whose vectors' length counts, as a `ragsieve.models.base.CrossEncoder`.

    Source: RECOMP (arXiv 2310.04408), section 3.1, and its code: Contriever's mean over tokens, and
        the inner product.
    """

    _backend: ClassVar[str] = "dot"

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The inner product of both texts' vectors, ``(len(pairs),)``; any real number."""
        if not pairs:
            return np.zeros(0, np.float32)
        texts = [safe(text) for column in zip(*pairs, strict=True) for text in column]
        rows, sizes = self._numbers(texts, self.net.encode)
        limit, sides = self._limit, np.reshape(sizes, (2, len(pairs)))
        read = np.minimum(sides, limit).sum(0).tolist()
        notes = [loading.over(limit) * bool(most > limit) for most in sides.max(0)]
        record_usage(
            [Usage(self.identity, n, note=note) for n, note in zip(read, notes, strict=True)]
        )
        first, second = rows.reshape(2, len(pairs), -1)
        return np.asarray((first * second).sum(-1), np.float32)


@dataclass(frozen=True)
class LocalCrossEncoder(_Encoder):
    """A cross-encoder with one output: `ragsieve.models.base.CrossEncoder`."""

    _between: ClassVar[str] = ""  # where both texts are read as one: what stands between them

    def score(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The model's logit for each pair, ``(len(pairs),)``; any real number, higher is better."""
        if not pairs:
            return np.zeros(0, np.float32)
        inputs: list[Any] = [(safe(a), safe(b)) for a, b in pairs]
        if self._between:
            inputs = [self._between.join(both) for both in inputs]
        plain = torch.nn.Identity()
        scores, sizes = self._numbers(inputs, self.net.predict, activation_fn=plain)
        loading.record_texts(self.identity, sizes, self._limit, embedded=False)
        return scores

    @once
    def net(self) -> Any:
        model = self._load(sentence_transformers.CrossEncoder)
        kind = type(model.model).__name__
        if kind not in (model.config.architectures or []):  # its head would be made up
            raise ModelError(f"model {self.model!r} must be a cross-encoder, it is no {kind}")
        if model.num_labels != 1:
            raise ModelError(
                f"model {self.model!r} must have one output, it has {model.num_labels}"
            )
        if self._between:  # else it takes a list of texts for one pair
            model.is_singular_input = lambda _: False
        return model


@dataclass(frozen=True)
class CRAGEvaluator(LocalCrossEncoder):
    """CRAG's evaluator: a T5 for classification, near 1 of right documents and near -1 of others.

    Its thresholds are `ragsieve_research.systems.crag.PAPER`.

    Source: CRAG (arXiv 2401.15884), section 4.2, and its code: "question [SEP] document" as one
        text, of 512 tokens at most.
    Differs: A strip of under four words is scored like others; the code gives it -1.
    """

    _between: ClassVar[str] = " [SEP] "
    _backend: ClassVar[str] = "crag"
