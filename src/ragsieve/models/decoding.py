"""Greedy decoding and scoring of token rows, each row the same bits as if it came alone.

Padding changes the last bits of attention, and bf16 turns last bits into other words. So prompts
are read one by one, without padding (on a CPU that is also the fastest way), and only the decoding
steps, which are bound by memory, run as a batch: their matrix products are row by row the same
(`RowLinear`), and attention is done row by row, over exactly the keys that a row has.

A key or a value of a prompt is so the same bits wherever in a prompt reading starts, and what a
prompt begins with is copied where another prompt with this beginning was read (`Prefixes`). Those
of a reply, which attends place by place, are not: a prompt that goes on after it has it read again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

try:
    import torch
    from torch.nn.functional import cross_entropy
    from transformers import Cache, DynamicCache
    from transformers.cache_utils import DynamicLayer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="local") from error

from ragsieve.models.attention import BLOCK
from ragsieve.models.loading import rowwise
from ragsieve.models.prefixes import Prefixes, common

PREFIX_TOKENS = 16  # a shorter common prefix is not worth copying
CHUNK = 256  # tokens whose logits are in memory at once

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

    @property
    def words(self) -> int:
        """How many tokens the model chooses from."""
        return int(self.model.get_output_embeddings().out_features)

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

    @torch.inference_mode()
    def read(
        self, prefixes: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """The log-probability of every token of each row, none empty, behind its prefix.

        The first token of a row without a prefix counts as chosen evenly.
        """
        scores = []
        for prefix, row in zip(prefixes, rows, strict=True):
            cache = DynamicCache(config=self.model.config)
            first = self._run(prefix, cache, 1) if prefix else None
            chunks = (self._run(chunk, cache, 0) for chunk in _chunks(row))
            scores.append(_followed(first, chunks, row, self.words))
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
        prefix_mb: Megabytes for keys and values of prompts read before, beyond a call; 0 for none.
    """

    def __init__(self, model: Any, *, eos: frozenset[int], rows: int, prefix_mb: int = 0) -> None:
        super().__init__(model, eos=eos)
        self.rows = rows
        self.prefixes = Prefixes(prefix_mb * 10**6)
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
        memory = _Memory(self.model, self.prefixes, len(free), max(map(len, prompts)) + max_tokens)
        replies: list[list[int]] = [[] for _ in prompts]
        waiting, running = deque(enumerate(prompts)), list[_Reply]()
        while waiting or running:
            while waiting and free:
                index, prompt = waiting.popleft()
                reply = _Reply(index, free.pop(), len(prompt), mask() if mask else None)
                replies[index] = reply.tokens
                logits = memory.read(prompt, reply.row)
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
        memory = _Memory(
            self.model, self.prefixes, rows, max(map(len, prompts), default=0) + longest
        )
        scores = []
        for prompt, wanted in zip(prompts, continuations, strict=True):
            first = memory.read(prompt, 0)
            longer: list[torch.Tensor | None] = [None] * len(wanted)
            more = [place for place, row in enumerate(wanted) if len(row) > 1]
            if more:
                memory.copy(prompt)
            for at in range(0, len(more), rows):
                group = more[at : at + rows]
                width = max(len(wanted[place]) for place in group) - 1
                padded = [[*wanted[p][:-1], *[0] * width][:width] for p in group]
                found = memory.extend(padded, range(len(group)), [len(prompt)] * len(group))
                for place, logits in zip(group, found, strict=True):
                    longer[place] = logits
            scores.append([_picked(first, *item) for item in zip(longer, wanted, strict=True)])
        return scores

    @torch.inference_mode()
    def read(
        self, prefixes: Sequence[Sequence[int]], rows: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """See `Decoder.read`."""
        sizes = [len(prefix) + len(row) for prefix, row in zip(prefixes, rows, strict=True)]
        memory = _Memory(self.model, self.prefixes, 1, max(sizes, default=0))
        scores = []
        for prefix, row in zip(prefixes, rows, strict=True):
            first = memory.read(prefix, 0) if prefix else None
            chunks = memory.follow(prefix, _chunks(row))
            scores.append(_followed(first, chunks, row, self.words))
        return scores


class _Memory:
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
        shape = (2, rows, heads, -(-places // BLOCK) * BLOCK, dim)
        # zeros: what is masked must still be a number; by layer, as small pieces are used again
        self.states = [
            torch.zeros(shape, dtype=model.dtype) for _ in range(config.num_hidden_layers)
        ]
        self.layers: list[Any] = [_Layer(keys, values) for keys, values in self.states]
        self.cache = Cache(layers=self.layers)
        self.model = model
        self.prefixes = prefixes
        self.prompts: list[Sequence[int]] = [()] * rows  # the one that each row begins with

    def read(self, prompt: Sequence[int], row: int) -> torch.Tensor:
        """Read a prompt, as far as none with its beginning was read; logits of the last token."""
        start = self._recall(prompt, row)
        where = (slice(row, row + 1), slice(None), slice(start, len(prompt)))
        logits = self._run([prompt[start:]], where, [row], [start], blocks=True, keep=1)
        self.prompts[row] = prompt
        self.prefixes.add(prompt, [layer[:, row] for layer in self.states])
        return logits[0]  # (1, words)

    def _recall(self, prompt: Sequence[int], row: int) -> int:
        """Give a row what is known of a prompt's beginning; how many tokens, never all."""
        alike = [common(known, prompt) for known in self.prompts]
        parts: list[Any] = [*self.prefixes.find(prompt)]  # each by layer, (2, heads, tokens, dim)
        kept: int = sum(part.shape[-2] for part in parts)
        best = max(range(len(alike)), key=alike.__getitem__)
        if alike[best] >= kept:
            kept, parts = alike[best], [[layer[:, best, :, : alike[best]] for layer in self.states]]
        if min(kept, len(prompt) - 1) < PREFIX_TOKENS:
            return 0
        if alike[row] < kept:
            at = 0
            for part in parts:
                end = at + part[0].shape[-2]
                for layer, known in zip(self.states, part, strict=True):
                    layer[:, row, :, at:end] = known
                at = end
        return min(kept, len(prompt) - 1)

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

    def follow(
        self, prompt: Sequence[int], chunks: Iterable[Sequence[int]]
    ) -> Iterator[torch.Tensor]:
        """Read chunks behind the prompt of the first row; logits of each, ``(tokens, words)``."""
        self.prompts[0] = prompt  # what the row held behind it is written over
        start = len(prompt)
        for chunk in chunks:
            where = (slice(0, 1), slice(None), slice(start, start + len(chunk)))
            yield self._run([chunk], where, [0], [start], blocks=True, keep=0)[0]
            start += len(chunk)

    def copy(self, prompt: Sequence[int]) -> None:
        """Give the prompt that the first row has read to all others."""
        places = slice(min(common(known, prompt) for known in self.prompts), len(prompt))
        for layer in self.states:
            layer[:, 1:, :, places] = layer[:, :1, :, places]
        self.prompts = [prompt] * len(self.prompts)

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

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys: Any = keys
        self.values: Any = values
        self.is_initialized = True
        self.where: Any = None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """All keys and values, also of rows and places that nobody asked for."""
        if isinstance(self.where[0], torch.Tensor):  # indexed places come first, heads behind them
            key_states, value_states = key_states.transpose(1, 2), value_states.transpose(1, 2)
        self.keys[self.where] = key_states
        self.values[self.where] = value_states
        return self.keys, self.values


def _chunks(row: Sequence[int]) -> Iterator[Sequence[int]]:
    """All tokens but the last, which predicts none, in parts."""
    return (row[at : min(at + CHUNK, len(row) - 1)] for at in range(0, len(row) - 1, CHUNK))


def _followed(
    first: torch.Tensor | None, rest: Iterable[torch.Tensor], row: Sequence[int], words: int
) -> list[float]:
    """Log-probabilities of a row's tokens, by logits of the first, ``(1, words)``, and the rest."""
    found = [-math.log(words)] if first is None else []
    for logits in chain([] if first is None else [first], rest):
        wanted = torch.tensor(row[len(found) : len(found) + len(logits)], device=logits.device)
        found += (-cross_entropy(logits.float(), wanted, reduction="none")).tolist()
    return found


def _picked(first: torch.Tensor, longer: torch.Tensor | None, tokens: Sequence[int]) -> list[float]:
    """Log-probabilities of ``tokens``, by logits of the first, ``(1, words)``, and of the rest."""
    if not tokens:
        return []
    logits = first if longer is None else torch.cat([first, longer[: len(tokens) - 1]])
    found = logits.float().log_softmax(-1)
    return found[torch.arange(len(tokens)), torch.tensor(tokens)].tolist()
