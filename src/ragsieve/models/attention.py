"""Causal attention whose bits do not depend on what else is computed beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch
from transformers import AttentionInterface

ATTENTION = "ragsieve_rows"
BLOCK = 64  # places of a prompt that attend together


def rows_attention(
    _module: torch.nn.Module,
    query: torch.Tensor,  # (rows, heads, width, dim)
    key: torch.Tensor,  # (rows of the memory, kv_heads, places, dim)
    value: torch.Tensor,
    _mask: torch.Tensor | None,
    scaling: float | None = None,
    rows: Sequence[int] = (),
    starts: Sequence[int] = (),
    blocks: bool = False,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Causal attention whose every call has a shape that only a query's own place decides.

    Args:
        scaling: Factor of the scores.
        rows: The row of the memory in which each row of ``query`` lies.
        starts: The place of each row's first query.
        blocks: Whether a prompt's places attend in blocks of `BLOCK`, or one by one.
    """
    attend = partial(
        torch.nn.functional.scaled_dot_product_attention, scale=scaling, enable_gqa=True
    )
    found = (_by_block if blocks else _by_place)(attend, query, key, value, rows, starts)
    return found.transpose(1, 2).contiguous(), None


def _by_block(
    attend: Callable[..., torch.Tensor],
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    rows: Sequence[int],
    starts: Sequence[int],
) -> torch.Tensor:
    """Attention of one row in blocks that begin at multiples of `BLOCK`, zeros around it."""
    width = query.shape[2]
    own, skip = slice(rows[0], rows[0] + 1), starts[0] % BLOCK
    first, fill = starts[0] - skip, -(skip + width) % BLOCK
    if skip or fill:
        query = torch.nn.functional.pad(query, (0, 0, skip, fill))
    out = [
        attend(
            query[:, :, end - BLOCK - first : end - first],
            key[own, :, :end],
            value[own, :, :end],
            attn_mask=_causal(end, query.dtype),
        )
        for end in range(first + BLOCK, starts[0] + width + fill + 1, BLOCK)
    ]
    return torch.cat(out, dim=2)[:, :, skip : skip + width]


def _by_place(
    attend: Callable[..., torch.Tensor],
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    rows: Sequence[int],
    starts: Sequence[int],
) -> torch.Tensor:
    """Attention of every row, place by place."""
    # query heads that share keys are queries of one head here: the same bits, keys read once
    heads, shared, width = key.shape[1], query.shape[1] // key.shape[1], query.shape[2]
    out = [
        attend(
            query[i, :, at].view(1, heads, shared, -1),
            key[row : row + 1, :, : start + at + 1],
            value[row : row + 1, :, : start + at + 1],
        ).view(1, heads * shared, 1, -1)
        for i, (row, start) in enumerate(zip(rows, starts, strict=True))
        for at in range(width)
    ]
    return torch.cat(out, dim=2).view(query.shape[1], len(rows), width, -1).transpose(0, 1)


def _causal(keys: int, dtype: torch.dtype) -> torch.Tensor:
    """Which of ``keys`` places each of the last `BLOCK` places sees, ``(BLOCK, keys)``."""
    size = 1 << (keys - 1).bit_length()
    return _causal_of(size, dtype)[:, size - keys :]


@lru_cache(maxsize=16)
def _causal_of(keys: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.full((BLOCK, keys), -torch.inf, dtype=dtype).triu(keys - BLOCK + 1)


AttentionInterface.register(ATTENTION, rows_attention)
