"""Tokens are not counted too few: the most of four real tokenizers, for many scripts."""

import json
from pathlib import Path

import pytest

from ragsieve import models

# Texts, and their most tokens by SmolLM2, Qwen, Claude 2 and MiniLM.
ROWS = Path(__file__).with_name("token_counts.jsonl").read_text(encoding="utf-8").split("\n")
MOST = [tuple(json.loads(row).values()) for row in ROWS if row]


@pytest.mark.parametrize(("text", "most"), MOST)
def test_tokens_are_not_counted_too_few(text: str, most: int) -> None:
    """At least nine tenths, by the bundled tokenizer."""
    (counted,) = models.load("pruner").count([text])

    assert counted >= 0.9 * most
