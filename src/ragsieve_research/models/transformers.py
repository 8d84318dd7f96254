"""Local generative models, by transformers: any causal model of the hub, or a named one."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ragsieve.errors import InputError, ModelError, needs_extra

with needs_extra("local"):
    import jinja2
    import llguidance
    import llguidance.hf
    import torch
    import transformers
    from tokenizers import Tokenizer

from ragsieve.models.base import Cut, JsonSchema, Message, Nats, Odds, Prompt, check_fits
from ragsieve.models.reopen import once
from ragsieve.models.thoughts import TAG, opening
from ragsieve.models.wrap import check_columns
from ragsieve.schema import Amount, Count, check_number
from ragsieve.text import safe
from ragsieve.timeouts import deadline
from ragsieve.trace import CUT, Usage, record_usage
from ragsieve_research.models import reflection, store
from ragsieve_research.models.attention import ATTENTION
from ragsieve_research.models.decoding import Decoder, Mask, RowsDecoder, odds
from ragsieve_research.models.loading import (
    BatchedModel,
    adapted,
    compute,
    computing,
    is_small,
    loaded,
    own_tokenizer,
    pretrained,
)
from ragsieve_research.models.streaming import as_text, stream_tokens
from ragsieve_research.models.surprisal import read_surprisals

PLAIN = {"granite", "llama", "mistral", "olmo2", "qwen2", "qwen3", "smollm3"}
ROTATIONS = {"default", "linear", "llama3", "yarn"}  # their angles depend on the place alone
CONTEXT = 4096  # tokens, where a model does not say how many it was made for


@dataclass(frozen=True)
class Transformers(BatchedModel):
    """A local causal language model; loaded when it is first needed, the tokenizer before it.

    What a document says is never read as a control token of the chat format: contents are tokenized
    as plain text, the template around them by itself. Weights are safetensors; no code is run.
    Self-RAG's reflection tokens, where the tokenizer has them, are tokens in contents and replies,
    and the only message of a prompt, of role ``"raw"``, is continued without the chat format.

    A reply is the same alone, in a batch, from threads and behind a remembered beginning;
    probabilities agree to 1e-4 in float32, to 0.1 in bfloat16. Replies are decoded together in
    float32, by a model of plain causal attention; otherwise one by one. Another processor
    may choose another word where two lie within 1e-4 of a logit, in bfloat16 within 0.5.

    Args:
        model: A named model (`ragsieve models list`), a folder, or a hub id; ``MODEL+ADAPTER`` with
            the ``adapter``.
        adapter: A folder or hub id of a PEFT adapter to merge into it.
        dtype: ``"bfloat16"``, ``"float32"``, or ``"auto"``: float32 on a CPU, else bfloat16.
        batch_tokens: Tokens of prompts and replies that are decoded together at most.
        max_context: Tokens for prompt and reply; as many as the model was made for, where None.
        device: ``"cpu"``, ``"cuda"`` …; an accelerator if there is one, where None.
        prefix_mb: Megabytes in which beginnings of prompts are kept, so that no later prompt has
            them read again; 0 for none. Models of plain causal attention in float32 have it.
        thinking: False turns thoughts off, where the chat template can; a number is the tokens that
            a reply has more for them; True leaves both as they are.

    Raises:
        InputError: If an option breaks its rule.
        ModelError: If the model cannot be loaded.
    """

    model: str = "smollm2"
    adapter: str | None = field(default=None, kw_only=True)
    max_context: Count | None = field(default=None, kw_only=True)
    prefix_mb: Amount = field(default=512, kw_only=True)
    thinking: bool | int = field(default=True, kw_only=True)

    can = frozenset({"complete", "choose", "loglik", "surprisals"})
    _backend: ClassVar[str] = "transformers"
    _encodes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.thinking, bool):
            check_number("thinking", self.thinking, Count)
        base, plus, adapter = self.model.rpartition("+")
        if plus and not self.adapter and not Path(self.model).is_dir():
            vars(self).update(model=base, adapter=adapter)

    @once
    def identity(self) -> str:
        """Model, weights, adapter, precision and thoughts: what replies depend on."""
        how = "" if self.thinking is True else f" thinking={self.thinking}"
        weights = store.marked(self.model, self.adapter)
        return f"{self._backend}:{weights}:{self.computed_dtype}{how}"

    @once
    def context(self) -> int:
        """Tokens that prompt and reply may have together.

        Raises:
            InputError: If ``max_context`` is more than the model was made for.
        """
        own = getattr(self._config.get_text_config(), "max_position_embeddings", None)
        if self.max_context and own and self.max_context > own:
            raise InputError(f"max_context must be at most {own}, got {self.max_context!r}")
        return int(self.max_context or own or CONTEXT)

    def complete(
        self, prompts: Sequence[Prompt], *, max_tokens: int = 128, schema: JsonSchema | None = None
    ) -> list[str]:
        """See `ragsieve.models.base.LLM.complete`; greedy, ``schema`` held to by llguidance."""
        check_number("max_tokens", max_tokens, Count)
        max_tokens += self._room
        rows = self._encoded(prompts, max_tokens)
        if not rows:
            return []
        mask = self._mask(schema) if schema is not None else None
        generate = self.decoder.generate
        replies = compute(generate, rows, max_tokens=max_tokens, mask=mask, moment=deadline())
        cut = self._record_usage(rows, [len(reply) for reply in replies], max_tokens)
        texts = [reflection.decoded(self.tokenizer, reply) for reply in replies]
        if mask is None and prompts[0][0].role != reflection.RAW:
            texts = [self._opening(self.thinking) + text for text in texts]
        return [Cut(t, note) if note else t for t, note in zip(texts, cut, strict=True)]

    def stream(self, prompt: Prompt, *, max_tokens: int = 128) -> Iterator[str]:
        """See `ragsieve.models.base.Streamer`."""
        check_number("max_tokens", max_tokens, Count)
        max_tokens += self._room
        (row,) = self._encoded([prompt], max_tokens)
        generate = partial(self.decoder.generate, [row], max_tokens=max_tokens)
        tokens = stream_tokens(lambda on_token: computing(generate, on_token=on_token))
        decode = partial(reflection.decoded, self.tokenizer)
        cleaned = bool(getattr(self.tokenizer, "clean_up_tokenization_spaces", False))
        opened = "" if prompt[0].role == reflection.RAW else self._opening(self.thinking)
        written = yield from as_text(tokens, lambda seen: opened + decode(seen), by_words=cleaned)
        notes = self._record_usage([row], [written], max_tokens)
        yield from (Cut("", text) for text in notes if text)

    def choose(
        self, prompts: Sequence[Prompt], options: Sequence[Sequence[str]]
    ) -> list[Odds | None]:
        """See `ragsieve.models.base.LLM.choose`; of a reply without thoughts, where they can go.

        None where a tag around thoughts is likelier than all options. Where
        the tokens of one option begin those of another, every option is followed by the end of the
        turn, so that "1" and "10" compete as whole replies.
        """
        for group in options:
            if not group or len(set(group)) < len(group) or not all(group):
                raise InputError(f"options must be different and not empty, got {list(group)!r}")
        check_columns([prompts, options])
        wanted = [self._option_tokens(group) for group in options]
        longest = max((len(o) for group in wanted for o in group), default=1)
        found: list[Odds | None] = [None] * len(prompts)
        if not self._opening(False):  # else the first token is a thought's
            rows = self._encoded(prompts, longest, False)
            own = self.tokenizer.get_added_vocab()
            tags = [[own[token]] for token in own if TAG.fullmatch(token)]
            scores = compute(self.decoder.score, rows, [[*group, *tags] for group in wanted])
            self._record_usage(rows, [1] * len(rows))
            found = [odds(s[: len(w)], s[len(w) :]) for s, w in zip(scores, wanted, strict=True)]
        return found

    def loglik(self, prompts: Sequence[Prompt], continuations: Sequence[str]) -> list[list[float]]:
        """See `ragsieve.models.base.LLM.loglik`; equal prompts are read once."""
        check_columns([prompts, continuations])
        wanted = self.plain(continuations)
        rows = self._encoded(prompts, max((len(w) for w in wanted), default=1))
        places: dict[tuple[int, ...], list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(tuple(row), []).append(place)
        groups = [[wanted[p] for p in group] for group in places.values()]
        scores = compute(self.decoder.score, list(places), groups)
        self._record_usage([[*r, *w] for r, w in zip(rows, wanted, strict=True)], [0] * len(rows))
        results: list[list[float]] = [[] for _ in rows]
        for group, values in zip(places.values(), scores, strict=True):
            for place, value in zip(group, values, strict=True):
                results[place] = value
        return results

    def surprisals(
        self, prefixes: Sequence[Sequence[str]], texts: Sequence[str]
    ) -> list[list[Nats]]:
        """See `ragsieve.models.base.LLM.surprisals`; what the tokenizer begins with comes first."""
        check_columns([prefixes, texts])
        start = self._frame_tokenizer.encode("").ids
        read = read_surprisals(
            self._plain_tokenizer,
            start,
            prefixes,
            texts,
            self.context,
            lambda pairs: compute(self.decoder.read, *map(list, zip(*pairs, strict=True))),
        )
        record_usage([Usage(self.identity, size, 0) for size in read.sizes])
        return read.surprisals

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, nothing added."""
        return [len(tokens) for tokens in self.plain(texts)]

    @once
    def _source(self) -> str:
        return str(store.resolve(self.model))

    @once
    def is_small(self) -> bool:
        """Whether it has under 500 million weights: too few to reason step by step."""
        return is_small(self._config.get_text_config())

    @once
    def _config(self) -> Any:
        config = loaded(self.model, transformers.AutoConfig.from_pretrained, self._source)
        if config.is_encoder_decoder != self._encodes:
            rule, breach = ("encode", "does not") if self._encodes else ("only decode", "encodes")
            raise ModelError(f"model {self.model!r} must {rule}, {config.model_type} {breach}")
        return config

    @once
    def tokenizer(self) -> Any:
        tokenizer = loaded(self.model, transformers.AutoTokenizer.from_pretrained, self._source)
        if not tokenizer.is_fast:
            raise ModelError(f"model {self.model!r} needs a tokenizer.json, it has none")
        return tokenizer

    @once
    def _plain_tokenizer(self) -> Tokenizer:
        """The tokenizer for contents: control tokens in them are text like any other."""
        return own_tokenizer(self.tokenizer, plain=True)

    @once
    def _frame_tokenizer(self) -> Tokenizer:
        """The tokenizer for the chat format."""
        return own_tokenizer(self.tokenizer, plain=False)

    @once
    def decoder(self) -> Decoder:
        on_cpu = torch.device(self.used_device).type == "cpu"
        together = _is_plain(self._config.get_text_config()) and (
            on_cpu or self.computed_dtype == "float32"
        )
        options = {"attn_implementation": ATTENTION} if together else {}
        model = self._opened(transformers.AutoModelForCausalLM, rule="generate text", **options)
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        eos = frozenset({self.tokenizer.eos_token_id, *ends} - {None})
        if together:
            limits = {"batch_tokens": self.batch_tokens, "prefix_mb": self.prefix_mb}
            return RowsDecoder(model, eos=eos, **limits)
        return Decoder(model, eos=eos)

    def _opened(self, kind: Any, **options: Any) -> Any:
        """The model with its adapter, where it computes."""
        model = pretrained(self.model, kind, self._source, self.computed_dtype, **options)
        if self.adapter:
            model = compute(adapted, model, self.adapter, str(store.resolve(self.adapter)))
        return model.eval().to(self.used_device)

    @once
    def _grammar_tokenizer(self) -> Any:
        words = self.decoder.model.get_output_embeddings().out_features
        return loaded(self.model, llguidance.hf.from_tokenizer, self.tokenizer, n_vocab=words)

    def _mask(self, schema: Mapping[str, Any]) -> Callable[[], Mask]:
        """A factory of masks by ``schema``, one for each row."""
        rules = {**schema, "x-guidance": {"whitespace_flexible": False}}
        grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(rules))
        tokenizer = self._grammar_tokenizer

        def make() -> Mask:
            matcher = llguidance.LLMatcher(tokenizer, grammar)
            if matcher.is_error():
                raise InputError(f"schema must be one llguidance knows, got {matcher.get_error()}")

            def masked(logits: torch.Tensor) -> torch.Tensor:
                bits = torch.frombuffer(bytearray(matcher.compute_bitmask()), dtype=torch.uint8)
                allowed = (bits[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
                allowed = allowed.flatten()[: len(logits)].bool().to(logits.device)
                return logits.masked_fill(~allowed, -math.inf)

            def consume(token: int) -> bool:
                return not matcher.consume_token(token) or bool(matcher.is_stopped())

            return masked, consume

        return make

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        sent = [safe(text) for text in texts]
        rows = self._plain_tokenizer.encode_batch(sent, add_special_tokens=False)
        return [row.ids for row in rows]

    def _encoded(
        self, prompts: Sequence[Prompt], reply: int, thinking: bool | int | None = None
    ) -> list[list[int]]:
        """Token rows of prompts, which leave ``reply`` tokens of the context."""
        rows = [self.encode(prompt, thinking) for prompt in prompts]
        check_fits([len(row) for row in rows], reply, self.context, self.model)
        return rows

    def encode(self, prompt: Prompt, thinking: bool | int | None = None) -> list[int]:
        """The chat format around the contents, the contents as plain text; ``thinking`` if set."""
        if not prompt:
            raise InputError("a prompt must have at least one message, got none")
        if prompt[0].role == reflection.RAW:
            (content,) = self.plain([message.content for message in prompt])
            return self._start + content
        frame = self._frame([message.role for message in prompt], thinking)
        if not frame and len(prompt) > 1 and prompt[0].role == "system":
            return self.encode(_merged(prompt), thinking)
        if not frame:
            roles = [message.role for message in prompt]
            raise ModelError(f"the chat format of {self.model} does not take the turns {roles!r}")
        contents = self.plain([message.content for message in prompt])
        row: list[int] = []
        for text, content in zip(frame, [*contents, []], strict=True):
            row += self._frame_tokenizer.encode(text, add_special_tokens=False).ids + content
        return row

    @property
    def _room(self) -> int:
        """Tokens that a reply has more, for thoughts."""
        return 0 if isinstance(self.thinking, bool) else self.thinking

    @property
    def _start(self) -> list[int]:
        """The token that a text begins with, or none."""
        first = self._frame_tokenizer.encode("").ids[:1]
        return first if first == [self.tokenizer.bos_token_id] else []

    def _opening(self, thinking: bool | int) -> str:
        """The tag with which the chat format opens thoughts; empty where it does not."""
        return opening((self._frame(["user"], thinking) or [""])[-1])

    def _frame(self, roles: Sequence[str], thinking: bool | int | None = None) -> list[str]:
        """The chat format's text before, between and after turns; nothing if it refuses."""
        marks = [f"\ue000{place}\ue001" for place in range(len(roles))]
        thinking = self.thinking if thinking is None else thinking
        how = {} if thinking is True else {"enable_thinking": bool(thinking)}
        if self.tokenizer.chat_template:
            turns = [Message(*turn)._asdict() for turn in zip(roles, marks, strict=True)]
            try:
                text = self.tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=True, **how
                )
            except jinja2.TemplateError:
                return []
        else:  # a base model: the contents, one after another
            text = (self.tokenizer.bos_token if self._start else "") + "\n\n".join(marks) + "\n"
        return _MARK.split(text) if _MARK.findall(text) == marks else []

    def _option_tokens(self, options: Sequence[str]) -> list[list[int]]:
        tokens = self.plain(options)
        begun = any(a is not b and a == b[: len(a)] for a in tokens for b in tokens)
        end = self.tokenizer.eos_token_id
        return [[*row, end] for row in tokens] if begun and end is not None else tokens

    def _record_usage(
        self, rows: Sequence[Sequence[int]], out: Sequence[int], limit: int | None = None
    ) -> list[str]:
        notes = [f"{CUT} {limit} tokens" if tokens == limit else "" for tokens in out]
        items = zip(rows, out, notes, strict=True)
        record_usage([Usage(self.identity, len(row), n, note=text) for row, n, text in items])
        return notes


_MARK = re.compile("\ue000\\d+\ue001")


def _merged(prompt: Prompt) -> Prompt:
    """``prompt`` with what the system says at the head of the next turn."""
    system, turn, *rest = prompt
    return (Message(turn.role, f"{system.content}\n\n{turn.content}"), *rest)


def _is_plain(config: Any) -> bool:
    """Whether every layer is plain causal attention over all keys, as `RowsDecoder` needs it."""
    rotation = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    if config.model_type not in PLAIN or rotation not in ROTATIONS:
        return False
    if layers := getattr(config, "layer_types", None):
        return set(layers) == {"full_attention"}
    return not getattr(config, "sliding_window", None)
