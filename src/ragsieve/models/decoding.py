"""Greedy decoding and scoring of token rows, each row the same bits as if it came alone.

Padding changes the last bits of attention, and bf16 turns last bits into other words. So prompts
are read one by one, without padding (on a CPU that is also the fastest way), and only the decoding
steps, which are bound by memory, run as a batch: their matrix products are row by row the same
(`RowLinear`), and attention is done row by row, over exactly the keys that a row has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

try:
    import torch
    from transformers import Cache, DynamicCache
    from transformers.cache_utils import DynamicLayer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="local") from error

from ragsieve.models.attention import BLOCK
from ragsieve.models.loading import rowwise

PREFIX_TOKENS = 16  # a shorter common prefix is not worth a pass of its own

Mask = tuple[Callable[[torch.Tensor], torch.Tensor], Callable[[int], bool]]
"""What masks a row's logits, and what is told its token and says whether the reply is whole."""


@dataclass
class _Reply:
    """A reply being written: the place of its prompt, its row in memory, its tokens in all."""

    index: int
    row: int
    length: int
    mask: Mask | None
    tokens: list[int] = field(default_factory=list)

    def take(self, logits: torch.Tensor, eos: frozenset[int], max_tokens: int) -> bool:
        """Add the most probable token; whether more may follow."""
        masked = self.mask[0](logits) if self.mask else logits
        token = int(masked.float().argmax())  # in bfloat16 it takes five times as long
        if token in eos:
            return False
        self.tokens.append(token)
        whole = self.mask[1](token) if self.mask else False
        return not whole and len(self.tokens) < max_tokens


class Decoder:
    """Runs any causal language model over token rows, one by one.

    Args:
        model: A causal model of transformers.
        eos: Tokens that end a reply.
    """

    def __init__(self, model: Any, *, eos: frozenset[int]) -> None:
        self.model = model
        self.eos = eos

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        mask: Callable[[], Mask] | None = None,
    ) -> list[list[int]]:
        """The most probable continuation of each prompt, greedily, up to an end token.

        Args:
            prompts: Token rows, none empty.
            max_tokens: At most this many tokens a reply.
            mask: Makes a mask for a row.
        """
        replies = []
        for prompt in prompts:
            cache = DynamicCache(config=self.model.config)
            reply = _Reply(0, 0, len(prompt), mask() if mask else None)
            logits = self._run(prompt, cache, 1)[-1]
            while reply.take(logits, self.eos, max_tokens):
                logits = self._run(reply.tokens[-1:], cache, 1)[-1]
            replies.append(reply.tokens)
        return replies

    @torch.inference_mode()
    def score(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """For each prompt and each of its continuations the log-probability of every token."""
        scores = []
        for prompt, wanted in zip(prompts, continuations, strict=True):
            cache = DynamicCache(config=self.model.config)
            first = self._run(prompt, cache, 1)
            longer = [
                self._run(row[:-1], deepcopy(cache), 0) if row[1:] else None for row in wanted
            ]
            scores.append([_picked(first, *item) for item in zip(longer, wanted, strict=True)])
        return scores

    def _run(self, tokens: Sequence[int], cache: Cache, keep: int) -> torch.Tensor:
        """Logits of the last ``keep`` tokens, of all where 0, ``(keep, vocabulary)``."""
        rows = torch.tensor([tokens], device=self.model.device)
        out = self.model(input_ids=rows, past_key_values=cache, use_cache=True, logits_to_keep=keep)
        return out.logits[0]  # type: ignore[no-any-return]


class RowsDecoder(Decoder):
    """Runs a model of plain causal attention, loaded with `ATTENTION`, over rows together.

    Args:
        model: A causal model of transformers.
        eos: Tokens that end a reply.
        rows: Rows decoded together; when one ends, the next prompt takes its place.
    """

    def __init__(self, model: Any, *, eos: frozenset[int], rows: int) -> None:
        super().__init__(model, eos=eos)
        self.rows = rows
        rowwise(model)

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        mask: Callable[[], Mask] | None = None,
    ) -> list[list[int]]:
        """See `Decoder.generate`."""
        free = list(range(min(self.rows, len(prompts))))
        memory = _Memory(self.model, len(free), max(map(len, prompts)) + max_tokens)
        shared = self._share(prompts, memory)
        replies: list[list[int]] = [[] for _ in prompts]
        waiting, running = deque(enumerate(prompts)), list[_Reply]()
        while waiting or running:
            while waiting and free:
                index, prompt = waiting.popleft()
                reply = _Reply(index, free.pop(), len(prompt), mask() if mask else None)
                replies[index] = reply.tokens
                logits = memory.read(prompt[shared:], reply.row, shared)
                if reply.take(logits[-1], self.eos, max_tokens):
                    running.append(reply)
                else:
                    free.append(reply.row)
            if running:
                tokens, rows = [r.tokens[-1:] for r in running], [r.row for r in running]
                starts = [r.length + len(r.tokens) - 1 for r in running]
                logits = memory.extend(tokens, rows, starts)[:, -1]
                going = [
                    reply.take(row, self.eos, max_tokens)
                    for reply, row in zip(running, logits, strict=True)
                ]
                free += [r.row for r, on in zip(running, going, strict=True) if not on]
                running = [r for r, on in zip(running, going, strict=True) if on]
        return replies

    @torch.inference_mode()
    def score(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """See `Decoder.score`."""
        longest = max((len(row) for wanted in continuations for row in wanted), default=0)
        most = max((sum(len(row) > 1 for row in wanted) for wanted in continuations), default=0)
        rows = max(1, min(self.rows, most))
        memory = _Memory(self.model, rows, max(map(len, prompts), default=0) + longest)
        shared = self._share(prompts, memory)
        scores = []
        for prompt, wanted in zip(prompts, continuations, strict=True):
            first = memory.read(prompt[shared:], 0, shared)
            longer: list[torch.Tensor | None] = [None] * len(wanted)
            more = [place for place, row in enumerate(wanted) if len(row) > 1]
            if more:
                memory.copy(shared, len(prompt))
            for at in range(0, len(more), rows):
                group = more[at : at + rows]
                width = max(len(wanted[place]) for place in group) - 1
                padded = [[*wanted[p][:-1], *[0] * width][:width] for p in group]
                found = memory.extend(padded, range(len(group)), [len(prompt)] * len(group))
                for place, logits in zip(group, found, strict=True):
                    longer[place] = logits
            scores.append([_picked(first, *item) for item in zip(longer, wanted, strict=True)])
        return scores

    def _share(self, prompts: Sequence[Sequence[int]], memory: _Memory) -> int:
        """Read what all prompts begin with into every row; how many tokens that is.

        At least one token of every prompt is left.
        """
        if len(prompts) < 2:
            return 0
        low, high = min(map(list, prompts)), max(map(list, prompts))
        most = min(map(len, prompts)) - 1
        shared = next((n for n in range(most) if low[n] != high[n]), most)
        if shared < PREFIX_TOKENS:
            return 0
        memory.read(prompts[0][:shared], 0, 0)
        memory.copy(0, shared)
        return shared


class _Memory:
    """Keys and values that some rows have seen so far, of every layer of a model.

    Args:
        model: The model that reads into it.
        rows: How many rows there are.
        places: Tokens that each of them can hold.
    """

    def __init__(self, model: Any, rows: int, places: int) -> None:
        size = -(-places // BLOCK) * BLOCK
        layers = range(model.config.get_text_config().num_hidden_layers)
        self.layers: list[Any] = [_Layer(rows, size) for _ in layers]
        self.cache = Cache(layers=self.layers)
        self.model = model

    def read(self, tokens: Sequence[int], row: int, start: int) -> torch.Tensor:
        """Read a prompt, or what follows its first ``start`` tokens; logits of the last token."""
        where = (slice(row, row + 1), slice(None), slice(start, start + len(tokens)))
        return self._run([tokens], where, [row], [start], blocks=True, keep=1)[0]  # (1, words)

    def extend(
        self, tokens: Sequence[Sequence[int]], rows: Sequence[int], starts: Sequence[int]
    ) -> torch.Tensor:
        """Read as many tokens in each of ``rows``; logits of all, ``(rows, tokens, words)``."""
        width = len(tokens[0])
        where: Any
        if len(rows) == 1:
            where = (slice(rows[0], rows[0] + 1), slice(None), slice(starts[0], starts[0] + width))
        else:
            places = torch.tensor(starts)[:, None] + torch.arange(width)
            where = (torch.tensor(rows)[:, None], slice(None), places)
        return self._run(tokens, where, rows, starts, blocks=False, keep=0)

    def copy(self, start: int, end: int) -> None:
        """Give what the first row has in these places to all others."""
        for layer in self.layers:
            layer.keys[1:, :, start:end] = layer.keys[:1, :, start:end]
            layer.values[1:, :, start:end] = layer.values[:1, :, start:end]

    def _run(
        self,
        tokens: Sequence[Sequence[int]],
        where: Any,
        rows: Sequence[int],
        starts: Sequence[int],
        *,
        blocks: bool,
        keep: int,
    ) -> torch.Tensor:
        for layer in self.layers:
            layer.where = where
        out = self.model(
            input_ids=torch.tensor(tokens),
            position_ids=torch.tensor(starts)[:, None] + torch.arange(len(tokens[0])),
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=keep,
            rows=rows,
            starts=starts,
            blocks=blocks,
        )
        return out.logits  # type: ignore[no-any-return]


class _Layer(DynamicLayer):
    """Keys and values of one layer; new ones are written to ``where``, nothing is moved."""

    keys: Any
    values: Any

    def __init__(self, rows: int, places: int) -> None:
        super().__init__()
        self.rows = rows
        self.places = places
        self.where: Any = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values, also of rows and places that nobody asked for."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            heads, dim = key_states.shape[1::2]
            # zeros: what is masked must still be a number
            self.keys = key_states.new_zeros(self.rows, heads, self.places, dim)
            self.values = value_states.new_zeros(self.rows, heads, self.places, dim)
        if isinstance(self.where[0], torch.Tensor):  # indexed places come first, heads behind them
            key_states, value_states = key_states.transpose(1, 2), value_states.transpose(1, 2)
        self.keys[self.where] = key_states
        self.values[self.where] = value_states
        return self.keys, self.values


def _picked(first: torch.Tensor, longer: torch.Tensor | None, tokens: Sequence[int]) -> list[float]:
    """Log-probabilities of ``tokens``, by logits of the first, ``(1, words)``, and of the rest."""
    if not tokens:
        return []
    logits = first if longer is None else torch.cat([first, longer[: len(tokens) - 1]])
    found = logits.float().log_softmax(-1)
    return found[torch.arange(len(tokens)), torch.tensor(tokens)].tolist()
