"""Local generative models, by transformers: any causal model of the hub, or a named one."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

try:
    import llguidance
    import llguidance.hf
    import torch
    import transformers
    from tokenizers import Tokenizer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="local") from error

from ragsieve.errors import ContextOverflow, InputError, ModelError
from ragsieve.models import store
from ragsieve.models.base import Message, Prompt
from ragsieve.models.decoding import ATTENTION, Decoder, Mask
from ragsieve.models.loading import loaded
from ragsieve.text import safe
from ragsieve.trace import Usage, note, spend

DTYPES = ("auto", "bfloat16", "float32")
PLAIN = {"granite", "llama", "mistral", "olmo2", "qwen2", "qwen3", "smollm3"}


@dataclass(frozen=True)
class Transformers:
    """A local causal language model; loaded when it is first needed, the tokenizer before it.

    What a document says is never read as a control token of the chat format: contents are tokenized
    as plain text, the template around them by itself. Weights are safetensors; no code is run.

    Args:
        model: A named model (`ragsieve models list`), a folder, or a hub id.
        adapter: A folder or hub id of a PEFT adapter to put on it.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: bfloat16 where the processor has it.
        batch_size: Replies decoded together.
        context: Tokens for prompt and reply; as the model's configuration says, where None.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.
    """

    model: str = "smollm2"
    adapter: str | None = field(default=None, kw_only=True)
    dtype: str = field(default="auto", kw_only=True)
    batch_size: int = field(default=8, kw_only=True)
    context: int = field(default=0, kw_only=True)
    device: str | None = field(default=None, kw_only=True)
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)

    can = frozenset({"complete", "choose", "loglik"})

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {self.dtype!r}")
        if self.batch_size < 1:
            raise InputError(f"batch_size must be at least 1, got {self.batch_size!r}")
        if self.context < 0:
            raise InputError(f"context must not be negative, got {self.context!r}")
        if not self.context:
            object.__setattr__(self, "context", self._own_context())

    @cached_property
    def identity(self) -> str:
        """Model, weights, adapter and precision: what replies depend on."""
        parts = [_fingerprint(self.model), *([_fingerprint(self.adapter)] if self.adapter else [])]
        return f"transformers:{'+'.join(parts)}:{self._dtype}"

    def complete(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int = 128,
        schema: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """See `ragsieve.models.base.LLM.complete`; greedy, ``schema`` held to by llguidance."""
        if max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, got {max_tokens!r}")
        rows = self._encoded(prompts, max_tokens)
        if not rows:
            return []
        mask = self._mask(schema) if schema is not None else None
        with self._lock:
            replies = self._decoder.generate(rows, max_tokens=max_tokens, mask=mask)
        if cut := sum(len(reply) == max_tokens for reply in replies):
            note(f"{cut} of {len(replies)} replies ended at max_tokens={max_tokens}")
        self._spend(rows, [len(reply) for reply in replies])
        return [self._tokenizer.decode(reply, skip_special_tokens=True) for reply in replies]

    def choose(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]]
    ) -> list[list[float]]:
        """See `ragsieve.models.base.LLM.choose`.

        Where the tokens of one option begin those of another, every option is followed by the end
        of the turn, so that "1" and "10" compete as whole replies.
        """
        for given in options:
            if not given or len(set(given)) < len(given) or not all(given):
                raise InputError(f"options must be different and not empty, got {list(given)!r}")
        rows = self._encoded(prompts, max((len(o) for given in options for o in given), default=1))
        wanted = [self._option_tokens(given) for given in options]
        with self._lock:
            scores = self._decoder.score(rows, wanted)
        self._spend(rows, [1] * len(rows))
        return [_normalised([sum(tokens) for tokens in row]) for row in scores]

    def loglik(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[list[float]]:
        """See `ragsieve.models.base.LLM.loglik`; equal prompts are read once."""
        wanted = [self._plain([c])[0] for c in continuations]
        rows = self._encoded(prompts, max((len(w) for w in wanted), default=1))
        places: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(tuple(row), []).append(place)
        with self._lock:
            scores = self._decoder.score(
                list(places), [[wanted[p] for p in group] for group in places.values()]
            )
        self._spend(rows, [0] * len(rows))
        found: list[list[float]] = [[] for _ in rows]
        for group, values in zip(places.values(), scores, strict=True):
            for place, value in zip(group, values, strict=True):
                found[place] = value
        return found

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, nothing added."""
        return [len(tokens) for tokens in self._plain(texts)]

    @property
    def _dtype(self) -> str:
        if self.dtype != "auto":
            return self.dtype
        fast = self._device != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
        return "bfloat16" if fast else "float32"

    @property
    def _device(self) -> str:
        if self.device:
            return self.device
        return "cuda" if torch.cuda.is_available() else "cpu"

    @cached_property
    def _folder(self) -> str:
        return str(store.resolve(self.model))

    def _own_context(self) -> int:
        config = loaded(self.model, transformers.AutoConfig.from_pretrained, self._folder)
        return int(getattr(config.get_text_config(), "max_position_embeddings", 0) or 4096)

    @cached_property
    def _tokenizer(self) -> Any:
        return loaded(self.model, transformers.AutoTokenizer.from_pretrained, self._folder)

    @cached_property
    def _plain_tokenizer(self) -> Tokenizer:
        """The tokenizer for contents: control tokens in them are text like any other."""
        plain = Tokenizer.from_str(self._tokenizer.backend_tokenizer.to_str())
        plain.no_padding()
        plain.no_truncation()
        plain.encode_special_tokens = True
        return plain

    @cached_property
    def _decoder(self) -> Decoder:
        config = loaded(self.model, transformers.AutoConfig.from_pretrained, self._folder)
        plain = _is_plain(config.get_text_config())
        model = loaded(
            self.model,
            transformers.AutoModelForCausalLM.from_pretrained,
            self._folder,
            dtype=getattr(torch, self._dtype),
            use_safetensors=True,
            **({"attn_implementation": ATTENTION} if plain else {}),
        )
        if self.adapter:
            loaded(self.adapter, model.load_adapter, self.adapter, adapter_kwargs={})
        model.eval().to(self._device)
        ends = model.generation_config.eos_token_id
        eos = {self._tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}
        exact = plain and self._dtype == "bfloat16"
        return Decoder(model, eos=frozenset(eos - {None}), rows=self.batch_size if exact else 1)

    @cached_property
    def _grammar_tokenizer(self) -> Any:
        return llguidance.hf.from_tokenizer(
            self._tokenizer, n_vocab=self._decoder.model.config.get_text_config().vocab_size
        )

    def _mask(self, schema: Mapping[str, Any]) -> Callable[[], tuple[Mask, Callable[[int], Any]]]:
        """Makes, for a row, what masks its logits by ``schema`` and what is told its token."""
        rules = {**schema, "x-guidance": {"whitespace_flexible": False}}
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(rules))

        def make() -> tuple[Mask, Callable[[int], Any]]:
            matcher = llguidance.LLMatcher(self._grammar_tokenizer, grammar)
            if matcher.is_error():
                raise InputError(f"schema must be one llguidance knows, got {matcher.get_error()}")

            def masked(logits: torch.Tensor) -> torch.Tensor:
                bits = torch.frombuffer(bytearray(matcher.compute_bitmask()), dtype=torch.uint8)
                allowed = (bits[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
                allowed = allowed.flatten()[: len(logits)].bool().to(logits.device)
                return logits.masked_fill(~allowed, -math.inf)

            return masked, lambda token: bool(matcher.consume_token(token))

        return make

    def _plain(self, texts: Sequence[str]) -> list[list[int]]:
        return [
            encoding.ids
            for encoding in self._plain_tokenizer.encode_batch(
                [safe(text) for text in texts], add_special_tokens=False
            )
        ]

    def _encoded(self, prompts: Sequence[Prompt], reply: int) -> list[list[int]]:
        """Token rows of prompts, each with room for ``reply`` tokens more."""
        rows = [self._encode(prompt) for prompt in prompts]
        longest = max((len(row) for row in rows), default=0)
        if longest + reply > self.context:
            raise ContextOverflow(needed=longest + reply, limit=self.context, model=self.model)
        return rows

    def _encode(self, prompt: Prompt) -> list[int]:
        """The chat format around the contents, the contents as plain text."""
        marks = [f"\ue000{place}\ue001" for place in range(len(prompt))]
        turns = [Message(m.role, mark)._asdict() for m, mark in zip(prompt, marks, strict=True)]
        if self._tokenizer.chat_template:
            frame = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True
            )
        else:  # a base model: the contents, one after another
            frame = "\n\n".join(marks) + "\n"
        row: list[int] = []
        encode = self._tokenizer.encode
        for mark, message in zip(marks, prompt, strict=True):
            before, found, frame = frame.partition(mark)
            if not found:
                raise ModelError(f"the chat format of {self.model} has no {message.role!r} turn")
            row += encode(before, add_special_tokens=False)
            row += self._plain([message.content])[0]
        row += encode(frame, add_special_tokens=False)
        return row

    def _option_tokens(self, options: Sequence[str]) -> list[list[int]]:
        tokens = self._plain(options)
        begun = any(a is not b and a == b[: len(a)] for a in tokens for b in tokens)
        end = self._tokenizer.eos_token_id
        return [[*row, end] for row in tokens] if begun and end is not None else tokens

    def _spend(self, rows: Sequence[Sequence[int]], out: Sequence[int]) -> None:
        spend([Usage(self.identity, len(r), n) for r, n in zip(rows, out, strict=True)])


def _normalised(logs: Sequence[float]) -> list[float]:
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    return [weight / sum(weights) for weight in weights]


def _is_plain(config: Any) -> bool:
    """Whether every layer is plain causal attention over all keys, as `rows_attention` does it."""
    layers = getattr(config, "layer_types", None)
    if layers:
        return config.model_type in PLAIN and set(layers) == {"full_attention"}
    return config.model_type in PLAIN and not getattr(config, "sliding_window", None)


def _fingerprint(model: str) -> str:
    folder = Path(store.resolve(model))
    return f"{model}@{store.fingerprint(folder)}" if folder.is_dir() else model
