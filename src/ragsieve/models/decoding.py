"""Greedy decoding and scoring of token rows, each row the same bits as if it came alone.

Padding changes the last bits of attention, and bf16 turns last bits into other words. So prompts
are read one by one, without padding (on a CPU that is also the fastest way), and only the decoding
steps, which are bound by memory, run as a batch: their matrix products are row by row the same in
bf16, and attention is done row by row, in blocks of places, over exactly the keys that a row has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

try:
    import torch
    from transformers import AttentionInterface, Cache, DynamicCache
    from transformers.cache_utils import DynamicLayer
except ModuleNotFoundError as error:
    from ragsieve.errors import MissingExtra

    raise MissingExtra(error.name or "transformers", extra="local") from error

ATTENTION = "ragsieve_rows"
BLOCK = 64  # places of a prompt that attend together
PREFIX_TOKENS = 16  # a shorter common prefix is not worth a pass of its own

Mask = Callable[[torch.Tensor], torch.Tensor]


def rows_attention(
    _module: torch.nn.Module,
    query: torch.Tensor,  # (rows, heads, q, dim)
    key: torch.Tensor,  # (rows, kv_heads, kv, dim), row i valid from pads[i] on
    value: torch.Tensor,
    _mask: torch.Tensor | None,
    scaling: float | None = None,
    pads: Sequence[int] = (),
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention whose every call has a shape that only a query's own place decides.

    A prompt, which comes as one row without ``pads``, is cut into blocks of `BLOCK` places; what
    lies outside is zero. Rows with ``pads`` go query by query over the row's own keys.
    """
    attend = partial(
        torch.nn.functional.scaled_dot_product_attention, scale=scaling, enable_gqa=True
    )
    queries, keys = query.shape[2], key.shape[2]
    if not pads:
        first, end = (keys - queries) // BLOCK * BLOCK, -(-keys // BLOCK) * BLOCK
        pad = torch.nn.functional.pad
        q = pad(query, (0, 0, keys - queries - first, end - keys))
        k, v = pad(key, (0, 0, 0, end - keys)), pad(value, (0, 0, 0, end - keys))
        blocks = [
            attend(q[:, :, at : at + BLOCK], k[:, :, :n], v[:, :, :n], attn_mask=_causal(n))
            for at, n in zip(
                range(0, end - first, BLOCK), range(first + BLOCK, end + 1, BLOCK), strict=True
            )
        ]
        begin = keys - queries - first
        out = torch.cat(blocks, dim=2)[:, :, begin : begin + queries]
    else:
        rows = []
        for row, left in enumerate(pads):
            spans = [slice(left, keys - queries + at + 1) for at in range(queries)]
            one = [
                attend(
                    query[row : row + 1, :, at : at + 1],
                    key[row : row + 1, :, span],
                    value[row : row + 1, :, span],
                )
                for at, span in enumerate(spans)
            ]
            rows.append(torch.cat(one, dim=2))
        out = torch.cat(rows)
    return out.transpose(1, 2).contiguous(), None


@lru_cache(maxsize=1024)
def _causal(keys: int) -> torch.Tensor:
    """Which of ``keys`` places each of the last `BLOCK` places sees, ``(BLOCK, keys)``."""
    return torch.ones(BLOCK, keys, dtype=torch.bool).tril(keys - BLOCK)


AttentionInterface.register(ATTENTION, rows_attention)


class _Room(DynamicLayer):
    """Keys and values of one layer, with room for more, so that a step copies nothing."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, room: int) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        rows, heads, self.used, dim = keys.shape
        self._keys = keys.new_zeros(rows, heads, self.used + room, dim)
        self._values = values.new_zeros(rows, heads, self.used + room, dim)
        self._keys[:, :, : self.used] = keys
        self._values[:, :, : self.used] = values
        self.keys, self.values = self._keys[:, :, : self.used], self._values[:, :, : self.used]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        start, self.used = self.used, self.used + key_states.shape[2]
        self._keys[:, :, start : self.used] = key_states
        self._values[:, :, start : self.used] = value_states
        self.keys, self.values = self._keys[:, :, : self.used], self._values[:, :, : self.used]
        return self.keys, self.values


Layers = list[tuple[torch.Tensor, torch.Tensor]]


class Decoder:
    """Runs a causal language model over token rows.

    Args:
        model: A causal model of transformers.
        eos: Tokens that end a reply.
        rows: Rows decoded together; 1 where the model's matrix products are not row by row the same
            (anything but bf16), or its attention is not plain causal attention.
    """

    def __init__(self, model: Any, *, eos: frozenset[int], rows: int) -> None:
        self.model = model
        self.eos = eos
        self.rows = rows

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        max_tokens: int,
        mask: Callable[[], tuple[Mask, Callable[[int], Any]]] | None = None,
    ) -> list[list[int]]:
        """The most probable continuation of each prompt, greedily, up to an end token.

        Args:
            prompts: Token rows, none empty.
            max_tokens: At most this many tokens a reply.
            mask: Makes, for a row, a function that masks its logits and one that is told its token.
        """
        replies: list[list[int]] = [[] for _ in prompts]
        shared = self._prefix(prompts)
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        with torch.inference_mode():
            start = self._read(prompts[0][:shared]) if shared else None
            for at in range(0, len(order), self.rows):
                group = order[at : at + self.rows]
                read = [self._read(prompts[i][shared:], start) for i in group]
                masks = [mask() for _ in group] if mask else None
                for i, reply in zip(group, self._decode(read, max_tokens, masks), strict=True):
                    replies[i] = reply
        return replies

    def score(
        self, prompts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[list[float]]]:
        """For each prompt and each of its continuations the log-probability of every token."""
        shared = self._prefix(prompts)
        scores = []
        with torch.inference_mode():
            start = self._read(prompts[0][:shared]) if shared else None
            for prompt, wanted in zip(prompts, continuations, strict=True):
                logits, layers = self._read(prompt[shared:], start)
                first = logits.float().log_softmax(-1)
                rest: list[list[float]] = []
                for at in range(0, len(wanted), self.rows):
                    rest += self._extend(layers, wanted[at : at + self.rows])
                scores.append(
                    [
                        [float(first[tokens[0]]), *more] if tokens else []
                        for tokens, more in zip(wanted, rest, strict=True)
                    ]
                )
        return scores

    def _prefix(self, prompts: Sequence[Sequence[int]]) -> int:
        """Tokens that all prompts begin with, at least one short of the shortest prompt."""
        if self.rows == 1 or len(prompts) < 2:
            return 0
        rows = [list(p) for p in prompts]
        low, high = min(rows), max(rows)
        most = min(len(p) for p in prompts) - 2  # two left: one row's product takes another path
        shared = 0
        while shared < most and low[shared] == high[shared]:
            shared += 1
        return shared if shared >= PREFIX_TOKENS else 0

    def _forward(
        self, tokens: torch.Tensor, layers: list[Any], pads: Sequence[int], keep: int
    ) -> Any:
        """One pass over ``tokens`` (rows, n) behind ``layers``; logits of the last ``keep``."""
        known = layers[0].get_seq_length() if layers else 0
        cache = Cache(layers=layers) if layers else DynamicCache()
        places = torch.arange(known, known + tokens.shape[1])[None].repeat(len(tokens), 1)
        if pads:
            places = places - torch.tensor(pads)[:, None]
        extra = {"pads": pads} if self.model.config._attn_implementation == ATTENTION else {}
        out = self.model(
            input_ids=tokens.to(self.model.device),
            position_ids=places.to(self.model.device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=keep,
            **extra,
        )
        return out.logits, cache

    def _read(
        self, tokens: Sequence[int], start: tuple[torch.Tensor, Layers] | None = None
    ) -> tuple[torch.Tensor, Layers]:
        """Logits of the last token, keys and values of all, of one row read behind ``start``."""
        layers = [_Room(k, v, len(tokens)) for k, v in start[1]] if start else []
        logits, cache = self._forward(torch.tensor([list(tokens)]), layers, [], 1)
        return logits[0, -1], [(layer.keys, layer.values) for layer in cache.layers]

    def _extend(self, layers: Layers, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        """Log-probabilities of the second and later tokens of each row behind one prompt."""
        width = max(len(row) for row in rows) - 1
        if width < 1:
            return [[] for _ in rows]
        if len(rows) * width == 1:
            return self._extend(layers, [rows[0]] * 2)[:1]
        padded = torch.tensor([[*row[:-1], *[0] * (width - len(row) + 1)][:width] for row in rows])
        n = len(rows)
        room = [_Room(k.expand(n, -1, -1, -1), v.expand(n, -1, -1, -1), width) for k, v in layers]
        logits, _ = self._forward(padded, room, [0] * n, width)
        found = logits.float().log_softmax(-1)
        return [
            [float(found[r, i, t]) for i, t in enumerate(row[1:])] for r, row in enumerate(rows)
        ]

    def _decode(
        self,
        read: Sequence[tuple[torch.Tensor, Layers]],
        max_tokens: int,
        masks: Sequence[tuple[Mask, Callable[[int], Any]]] | None,
    ) -> list[list[int]]:
        """Decode rows together, the shorter ones padded on the left."""
        wanted = len(read)
        if wanted == 1 < self.rows:
            read = [read[0]] * 2  # a lone row's product takes another path, to other bits
        lengths = [layers[0][0].shape[2] for _, layers in read]
        pads = [max(lengths) - length for length in lengths]
        room = _stacked([layers for _, layers in read], pads, max_tokens)
        logits = torch.stack([row for row, _ in read])
        replies: list[list[int]] = [[] for _ in range(wanted)]
        running = [r < wanted for r in range(len(read))]
        for step in range(max_tokens):
            tokens = [
                int((masks[r][0](row) if masks and running[r] else row).argmax())
                for r, row in enumerate(logits)
            ]
            for r, token in enumerate(tokens):
                running[r] = running[r] and token not in self.eos
                if running[r]:
                    replies[r].append(token)
                    if masks:
                        masks[r][1](token)
            if not any(running) or step + 1 == max_tokens:
                break
            out, _ = self._forward(torch.tensor(tokens)[:, None], room, pads, 1)
            logits = out[:, -1]
        return replies


def _stacked(rows: Sequence[Layers], pads: Sequence[int], room: int) -> list[_Room]:
    """The rows' keys and values layer by layer, padded on the left to one length."""
    pad = torch.nn.functional.pad
    return [
        _Room(
            torch.cat([pad(k, (0, 0, left, 0)) for (k, _), left in zip(layer, pads, strict=True)]),
            torch.cat([pad(v, (0, 0, left, 0)) for (_, v), left in zip(layer, pads, strict=True)]),
            room,
        )
        for layer in zip(*rows, strict=True)
    ]
