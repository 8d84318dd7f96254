"""Greedy decoding and scoring of token rows.

Prompts are read one by one, without padding, which on a CPU is also the fastest way; decoding
steps, which are bound by memory, run as a batch; and what a prompt begins with is copied where
another prompt with this beginning was read (`Prefixes`). All of this changes the last digits of
logits, by up to 1e-4 in float32, so a token whose lead over the second best is under `MARGIN` is
chosen by reading everything before it alone, from the start. A reply is thereby the one of its
prompt alone. In bfloat16, where logits differ by up to 0.4, about a quarter of the tokens would be
such close calls: there replies are written one by one and nothing is remembered for them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ragsieve.errors import needs_extra

with needs_extra("local"):
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import Cache, DynamicCache
    from transformers.cache_utils import DynamicLayer

from ragsieve.timeouts import check_time
from ragsieve_research.models.loading import cached, fitting
from ragsieve_research.models.prefixes import Prefixes

PREFIX_TOKENS = 16  # a shorter common prefix is not worth copying
CHUNK = 256  # tokens whose logits are in memory at once
MARGIN = 1e-3  # lead of the best logit under which it may be another one's by rounding alone

Mask = tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[int], bool]]
"""Masks a row's logits; consumes its token and returns whether the reply is complete."""


@dataclass
class _WrittenReply:
    """A reply being written: its prompt, what masks it, who is told each token, all its tokens."""

    prompt: Sequence[int]
    mask: Mask | None
    on_token: Callable[[int], object] | None = None
    tokens: list[int] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The place of its last token behind the prompt."""
        return len(self.prompt) + len(self.tokens) - 1

    def take(
        self,
        logits: torch.Tensor,
        eos: frozenset[int],
        max_tokens: int,
        again: Callable[[Sequence[int]], torch.Tensor] | None = None,
    ) -> bool:
        """Add the most probable token, a close call by logits read ``again``; may more follow?"""
        masked = (self.mask[0](logits) if self.mask else logits).float()
        if again and -masked.topk(2).values.diff() < MARGIN:
            logits = again([*self.prompt, *self.tokens])
            masked = (self.mask[0](logits) if self.mask else logits).float()
        token = int(masked.argmax())
        if token in eos:
            return False
        self.tokens.append(token)
        if self.on_token:
            self.on_token(token)
        complete = self.mask[1](token) if self.mask else False
        return not complete and len(self.tokens) < max_tokens


class Decoder:
    """Runs any causal language model over token rows, one by one.

    Args:
        model: A causal model of transformers.
        eos: Tokens that end a reply.
    """

    precise = False  # whether logits in company are near enough to those alone to be told apart
    batch_tokens = 1  # tokens of prompts and replies that are in memory together; see `RowsDecoder`

    def __init__(self, model: Any, *, eos: frozenset[int]) -> None:
        self.model = model
        self.eos = eos

    @property
    def words(self) -> int:
        """Size of the model's vocabulary."""
        return int(self.model.get_output_embeddings().out_features)

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        mask: Callable[[], Mask] | None = None,
        on_token: Callable[[int], object] | None = None,
        moment: float = math.inf,
    ) -> list[list[int]]:
        """The most probable continuation of each prompt, greedily, up to an end token.

        Args:
            prompts: Token rows, none empty.
            max_tokens: At most this many tokens a reply.
            mask: Makes a mask for a row.
            on_token: Called with each token as it is chosen.
            moment: Of `time.monotonic`, at which no more tokens are written.

        Raises:
            Overdue: At that moment.
        """
        longest = max(map(len, prompts)) + max_tokens
        rows = min(fitting(self.batch_tokens, longest) if self.precise else 1, len(prompts))
        again = self.alone if self.precise else None
        memory = self.memory_of(rows, longest, fresh=not self.precise)
        replies: list[list[int]] = [[] for _ in prompts]
        waiting, running = deque(enumerate(prompts)), list[_WrittenReply]()
        while waiting or running:
            check_time(moment)
            while waiting and len(running) < rows:
                index, prompt = waiting.popleft()
                reply = _WrittenReply(prompt, mask() if mask else None, on_token, replies[index])
                logits = memory.read(reply.prompt, len(running))
                if reply.take(logits[-1], self.eos, max_tokens, again):
                    running.append(reply)
            if running:
                tokens, places = [r.tokens[-1:] for r in running], [r.last for r in running]
                logits = memory.extend(tokens, places)[:, -1]
                for row in reversed(range(len(running))):
                    if not running[row].take(logits[row], self.eos, max_tokens, again):
                        memory.move(len(running) - 1, row, running[-1].last)
                        running[row] = running[-1]
                        running.pop()
        return replies

    @torch.inference_mode()
    def score(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """For each prompt and each of its continuations the log-probability of every token."""
        longest = max((len(row) for wanted in continuations for row in wanted), default=0)
        most = max((sum(len(row) > 1 for row in wanted) for wanted in continuations), default=0)
        places = max(map(len, prompts), default=0) + longest
        rows = max(1, min(fitting(self.batch_tokens, places), most))
        memory = self.memory_of(rows, places)
        scores = []
        for prompt, wanted in zip(prompts, continuations, strict=True):
            first = memory.read(prompt, 0)
            longer: list[torch.Tensor | None] = [None] * len(wanted)
            more = [place for place, row in enumerate(wanted) if len(row) > 1]
            if more:
                memory.copy(len(prompt))
            for at in range(0, len(more), rows):
                group = more[at : at + rows]
                width = max(len(wanted[place]) for place in group) - 1
                padded = [[*wanted[p][:-1], *[0] * width][:width] for p in group]
                scored = memory.extend(padded, [len(prompt)] * len(group))
                for place, logits in zip(group, scored, strict=True):
                    longer[place] = logits
            scores.append([_picked(first, *item) for item in zip(longer, wanted, strict=True)])
        return scores

    @torch.inference_mode()
    def read(
        self, prefixes: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """The log-probability of every token of each row, none empty, behind its prefix.

        The first token of a row without a prefix counts as chosen evenly.
        """
        sizes = [len(prefix) + len(row) for prefix, row in zip(prefixes, rows, strict=True)]
        memory = self.memory_of(1, max(sizes, default=0))
        scores = []
        for prefix, row in zip(prefixes, rows, strict=True):
            first = memory.read(prefix, 0) if prefix else None
            starts = range(0, len(row) - 1, CHUNK)  # the last token predicts none
            chunks = (
                memory.extend([row[at : min(at + CHUNK, len(row) - 1)]], [len(prefix) + at])[0]
                for at in starts
            )
            scores.append(_followed(first, chunks, row, self.words))
        return scores

    def alone(self, tokens: Sequence[int]) -> torch.Tensor:
        """Logits behind ``tokens``, read from the start with nothing beside them."""
        logits: torch.Tensor = self.memory_of(1, len(tokens), fresh=True).read(tokens, 0)[-1]
        return logits

    def memory_of(self, rows: int, places: int, *, fresh: bool = False) -> Any:
        """States of ``rows`` of at most ``places`` tokens; ``fresh``: of nothing before."""
        return DecoderMemory(self.model)


class RowsDecoder(Decoder):
    """Runs a model of plain causal attention, loaded with `ATTENTION`, over rows together.

    Args:
        model: A causal model of transformers.
        eos: Tokens that end a reply.
        batch_tokens: Tokens whose keys and values are in memory together at most, but for a prompt
            with its reply that has more; when a reply ends, the next prompt takes its place.
        prefix_mb: Megabytes for keys and values of prompts read before; 0 for none.
    """

    def __init__(
        self, model: Any, *, eos: frozenset[int], batch_tokens: int, prefix_mb: int = 0
    ) -> None:
        super().__init__(model, eos=eos)
        self.batch_tokens = batch_tokens
        self.prefixes = Prefixes(prefix_mb * 10**6)
        self.precise = model.dtype == torch.float32

    def memory_of(self, rows: int, places: int, *, fresh: bool = False) -> _RowStates:
        return _RowStates(self.model, Prefixes(0) if fresh else self.prefixes, rows, places)


class DecoderMemory:
    """State of any model after one row, as the model itself keeps it.

    Args:
        model: The model that reads into it.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.cache: Any = None
        self.forks = False

    def read(self, prompt: Sequence[int], _row: int) -> torch.Tensor:
        """Read a prompt from the start; logits of the last token, ``(1, words)``."""
        self.cache, self.forks = DynamicCache(config=self.model.config), False
        return self._run(prompt, self.cache, 1)

    def copy(self, _length: int) -> None:
        """From now on each extension begins behind the prompt."""
        self.forks = True

    def extend(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> torch.Tensor:
        """Read more tokens of the row; logits, ``(1, tokens, words)``."""
        if starts[0] == 0:
            self.cache, self.forks = DynamicCache(config=self.model.config), False
        return self._run(tokens[0], deepcopy(self.cache) if self.forks else self.cache, 0)[None]

    def move(self, source: int, target: int, length: int) -> None:
        """There is only one row."""

    def _run(self, tokens: Sequence[int], cache: Any, keep: int) -> torch.Tensor:
        """Logits of the last ``keep`` tokens, of all where 0, ``(keep, vocabulary)``."""
        rows = torch.tensor([tokens], device=self.model.device)
        own = cached(self.model, cache)
        out = self.model(input_ids=rows, use_cache=True, logits_to_keep=keep, **own)
        return out.logits[0]  # type: ignore[no-any-return]


class _RowStates:
    """Keys and values that some rows have seen so far, of every layer of a model.

    Args:
        model: The model that reads into it.
        prefixes: Those of prompts read before.
        rows: How many rows there are.
        places: Tokens that each of them can hold.
    """

    def __init__(self, model: Any, prefixes: Prefixes, rows: int, places: int) -> None:
        config = model.config.get_text_config()
        heads, dim = config.num_key_value_heads, getattr(config, "head_dim", None)
        dim = dim or config.hidden_size // config.num_attention_heads
        shape = (2, rows, heads, places, dim)
        # zeros: what is masked must still be a number; by layer, as small pieces are used again
        of = {"dtype": model.dtype, "device": model.device}
        self.states = [torch.zeros(shape, **of) for _ in range(config.num_hidden_layers)]
        self.layers: list[Any] = [_Layer(keys, values) for keys, values in self.states]
        self.cache = Cache(layers=self.layers)
        self.model = model
        self.prefixes = prefixes

    def read(self, prompt: Sequence[int], row: int) -> torch.Tensor:
        """Read a prompt, as far as none with its beginning was read; logits of the last token."""
        start = self._recall(prompt, row)
        logits = self._run([prompt[start:]], slice(row, row + 1), [start], keep=1)
        self.prefixes.add(prompt, [layer[:, row] for layer in self.states])
        return logits[0]  # (1, words)

    def _recall(self, prompt: Sequence[int], row: int) -> int:
        """Give a row what is known of a prompt's beginning; how many tokens, never all."""
        states = self.prefixes.find(prompt)  # (layers, 2, heads, tokens, dim)
        known = 0 if states is None else min(states.shape[-2], len(prompt) - 1)
        if states is None or known < PREFIX_TOKENS:
            return 0
        for layer, own in zip(self.states, states, strict=True):
            layer[:, row, :, :known] = own[:, :, :known]
        return known

    def extend(self, tokens: Sequence[Sequence[int]], starts: Sequence[int]) -> torch.Tensor:
        """Read as many tokens in each of the first rows; logits, ``(rows, tokens, words)``."""
        return self._run(tokens, slice(0, len(tokens)), starts, keep=0)

    def copy(self, length: int) -> None:
        """Give the first ``length`` places of the first row to all others."""
        for layer in self.states:
            layer[:, 1:, :, :length] = layer[:, :1, :, :length]

    def move(self, source: int, target: int, length: int) -> None:
        """Give the first ``length`` places of one row to another."""
        if source != target:
            for layer in self.states:
                layer[:, target, :, :length] = layer[:, source, :, :length]

    def _run(
        self, tokens: Sequence[Sequence[int]], rows: slice, starts: Sequence[int], *, keep: int
    ) -> torch.Tensor:
        width = len(tokens[0])
        device = self.model.device
        first = torch.tensor(starts, device=device)[:, None]
        places = first + torch.arange(width, device=device)  # (rows, width)
        end, mask = max(starts) + width, None
        if end > width:  # something lies before
            hidden = torch.arange(end, device=device) > places[..., None]  # (rows, width, end)
            mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=device)
            mask = mask.masked_fill(hidden, -math.inf)[:, None]
        for layer in self.layers:
            layer.rows, layer.places, layer.end = rows, places, end
        out = self.model(
            input_ids=torch.tensor(tokens, device=device),
            position_ids=places,
            attention_mask=mask,
            use_cache=True,
            logits_to_keep=keep,
            **cached(self.model, self.cache),
        )
        return out.logits  # type: ignore[no-any-return]


class _Layer(DynamicLayer):
    """Keys and values of one layer; new ones are written to ``places`` of ``rows``."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys: Any = keys
        self.values: Any = values
        self.is_initialized = True
        self.rows, self.end = slice(0), 0
        self.places: Any = None  # (rows, width)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values of the rows, up to the last place that one of them has."""
        first, end = self.rows.start, self.rows.stop
        own = torch.arange(first, end, device=self.places.device)[:, None]
        # indexed rows and places come first, heads behind them
        self.keys[own, :, self.places] = key_states.transpose(1, 2)
        self.values[own, :, self.places] = value_states.transpose(1, 2)
        return self.keys[self.rows, :, : self.end], self.values[self.rows, :, : self.end]


def _followed(
    first: torch.Tensor | None, rest: Iterable[torch.Tensor], row: Sequence[int], words: int
) -> list[float]:
    """Log-probabilities of a row's tokens, by logits of the first, ``(1, words)``, and the rest."""
    logs = [-math.log(words)] if first is None else []
    for logits in chain([] if first is None else [first], rest):
        wanted = torch.tensor(row[len(logs) : len(logs) + len(logits)], device=logits.device)
        logs += (-cross_entropy(logits.float(), wanted, reduction="none")).tolist()
    return logs


def _picked(first: torch.Tensor, longer: torch.Tensor | None, tokens: Sequence[int]) -> list[float]:
    """Log-probabilities of ``tokens``, by logits of the first, ``(1, words)``, and of the rest."""
    if not tokens:
        return []
    logits = first if longer is None else torch.cat([first, longer[: len(tokens) - 1]])
    logs = logits.float().log_softmax(-1)
    return logs[torch.arange(len(tokens)), torch.tensor(tokens)].tolist()


def odds(options: Sequence[Sequence[float]], tags: Sequence[Sequence[float]]) -> list[float] | None:
    """Odds of options, of which there are logarithms by token; None where a tag comes first."""
    if tags and max(tag[0] for tag in tags) > max(tokens[0] for tokens in options):
        return None
    logs = [sum(tokens) for tokens in options]
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    return [weight / sum(weights) for weight in weights]
