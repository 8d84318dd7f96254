"""Self-RAG's reflection tokens, and the prompt that a model trained to write them continues."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from tokenizers import Tokenizer

from ragsieve.models.thoughts import TAG

TOKENS: Mapping[str, tuple[str, ...]] = {
    "retrieve": ("[Retrieval]", "[No Retrieval]"),
    "relevant": ("[Relevant]", "[Irrelevant]"),
    "supported": ("[Fully supported]", "[Partially supported]", "[No support / Contradictory]"),
    "useful": ("[Utility:1]", "[Utility:2]", "[Utility:3]", "[Utility:4]", "[Utility:5]"),
}
"""Reflection tokens by what they say; arXiv 2310.11511, table 1, as its authors' model has them."""

NEEDED = (*chain(*TOKENS.values()), "<paragraph>", "</paragraph>")
"""Tokens that a model needs for Self-RAG."""

ALL = frozenset({*NEEDED, "[Continue to Use Evidence]"})

RAW = "raw"
"""The role of a prompt's only message, where its text is continued without the chat format."""


def decoded(tokenizer: Any, reply: Sequence[int]) -> str:
    """A reply's text without control tokens, but for reflection tokens and those around thoughts.

    Args:
        tokenizer: One of transformers.
        reply: Its tokens.
    """
    own = tokenizer.get_added_vocab()
    marks = {own[token] for token in ALL & own.keys()}
    tags = {own[token] for token in own if TAG.fullmatch(token)}
    end = max((n for n, token in enumerate(reply, 1) if token in tags), default=0)
    runs = groupby(reply[end:], key=marks.__contains__)
    said = (tokenizer.decode([*run], skip_special_tokens=not mark) for mark, run in runs)
    return "".join([tokenizer.decode([*reply[:end]]) if end else "", *said])


def retokenized(text: str, *, plain: bool) -> Tokenizer:
    """The tokenizer of a ``tokenizer.json``, which neither pads nor truncates.

    Args:
        text: The file's.
        plain: Whether control tokens in a text are text like any other, but for reflection tokens.
    """
    inside = json.loads(text)
    for token in inside["added_tokens"]:
        token["special"] = token["special"] and token["content"] not in ALL
    own = Tokenizer.from_str(json.dumps(inside))
    own.no_padding()
    own.no_truncation()
    own.encode_special_tokens = plain
    return own
