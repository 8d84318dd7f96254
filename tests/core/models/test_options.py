"""An option that breaks its rule is refused when a model is made, before anything is loaded."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ragsieve import models
from ragsieve.errors import InputError
from ragsieve.models.batcher import DynamicBatcher
from ragsieve.models.cache import Cached
from ragsieve.models.fake import HashingEmbedder

pytest.importorskip("torch")
pytest.importorskip("openai")

DTYPE = "dtype must be one of auto, bfloat16, float32, got 'int8'"
PLACE = r"prompt must have a place \$documents"
BATCHED = ("transformers", "provence", "token_classifier", "sentence_transformers", "cross_encoder")
BROKEN: list[tuple[str, dict[str, Any], str]] = [
    *((f"{prefix}:a", {"dtype": "int8"}, DTYPE) for prefix in (*BATCHED, "pe_rank")),
    *(
        (f"{prefix}:a", {"batch_tokens": 0}, "batch_tokens must be at least 1, got 0")
        for prefix in BATCHED
    ),
    ("transformers:a", {"max_context": 0}, "max_context must be at least 1, got 0"),
    ("transformers:a", {"prefix_mb": -1}, "prefix_mb must not be negative, got -1"),
    ("pe_rank:a", {"prompt": "Rank!"}, f"{PLACE}, got 'Rank!'"),
    ("pe_rank:a", {"prompt": "$documents $"}, PLACE),
    ("pe_rank:a", {"prompt": "$documents $x"}, r"prompt cannot have a place \$x"),
    ("provence:a", {"vote": 1.5}, r"vote must be from 0 to 1, got 1.5"),
    ("jina_bert:a", {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    ("pruner:a", {"threads": 0}, "threads must be at least 1, got 0"),
    ("openai:a", {"context": 0}, "context must be at least 1, got 0"),
    ("openai:a", {"tokenizer": "/no"}, "tokenizer must be a tokenizer.json, .* got '/no'"),
]


@pytest.mark.parametrize(("name", "options", "message"), BROKEN)
def test_options_are_checked(name: str, options: dict[str, Any], message: str) -> None:
    """The error names option, rule and value; there need be no such model."""
    with pytest.raises(InputError, match=message):
        models.load(name, **options)


@pytest.mark.parametrize(
    ("wrap", "options"),
    [
        *((DynamicBatcher, options) for options in ({"max_batch": 0}, {"wait_s": -1.0})),
        (DynamicBatcher, {"wait_s": math.inf}),
        *((Cached, {"timeout_s": value}) for value in (-1.0, math.inf, math.nan)),
        (Cached, {"most": 0}),
    ],
)
def test_options_of_wrappers_are_checked(wrap: Any, options: dict[str, float]) -> None:
    """Waiting for ever is none."""
    ((name, value),) = options.items()
    with pytest.raises(InputError, match=rf"{name} must .*, got {value}"):
        wrap(HashingEmbedder(), **options)
