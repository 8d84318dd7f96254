"""Causal attention over rows of a shared memory of keys and values."""

from typing import Any

import torch
from transformers import AttentionInterface

ATTENTION = "ragsieve_rows"


def rows_attention(
    _module: torch.nn.Module,
    query: torch.Tensor,  # (rows, heads, width, dim)
    key: torch.Tensor,  # (rows, kv_heads, places, dim)
    value: torch.Tensor,
    mask: torch.Tensor | None,  # (rows, 1, width, places), added to the scores
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention that copies no key; causal from the first place on where there is no mask.

    Query heads that share keys are folded into queries of one head: repeating the keys of all
    places, as transformers does under a mask, costs a decoding step more than the attention.
    """
    attend = torch.nn.functional.scaled_dot_product_attention
    if mask is None:
        out = attend(query, key, value, is_causal=True, scale=scaling, enable_gqa=True)
    else:
        shared = query.shape[1] // key.shape[1]
        folded = query.reshape(query.shape[0], key.shape[1], -1, query.shape[3])
        seen = mask.repeat(1, 1, shared, 1)
        out = attend(folded, key, value, attn_mask=seen, scale=scaling).reshape(query.shape)
    return out.transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, rows_attention)
