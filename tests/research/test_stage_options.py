"""Rules of options that the laws do not break by themselves: of two options, of open ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ragsieve import score, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve_research.score.listwise import Listwise, Permuting
from ragsieve_research.select.distinct import Distinct
from ragsieve_research.split.semantic import Semantic
from ragsieve_research.split.windows import Windows
from ragsieve_research.systems.written import Write

LLM = ScriptedLLM([])
BROKEN: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    *((score.BM25, {"k1": k1}, f"k1 must be .*, got {k1}") for k1 in (-1, math.inf)),
    (partial(Listwise, LLM), {"window": 4, "step": 5}, "step must be from 1 to window=4, got 5"),
    (partial(Permuting, LLM), {"mode": "x"}, "mode must be one of write, first, got 'x'"),
    (partial(Permuting, LLM), {"max_words": 0}, "max_words must be at least 1, got 0"),
    (partial(Reader, LLM), {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    (partial(Write, LLM, "recomp"), {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    *(
        (stage, {"language": ""}, "language must be an ISO 639-1 code.*, got ''")
        for stage in (split.Blocks, split.Sentences, partial(Semantic, HashingEmbedder()))
    ),
    *(
        (partial(Windows, LLM), {"overlap": n}, rf"in \[0, max_tokens=200\), got {n}")
        for n in (-1, 200)
    ),
]


@pytest.mark.parametrize(("make", "options", "message"), BROKEN)
def test_options_are_checked(make: Callable[..., Any], options: Any, message: str) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        make(**options)


@pytest.mark.parametrize("value", [0, -1, 1.1, math.nan])
def test_likeness_is_checked(value: float) -> None:
    """Of what needs scikit-learn."""
    pytest.importorskip("sklearn")
    with pytest.raises(InputError, match=r"max_similarity must lie in \(0, 1\], got"):
        Distinct(max_similarity=value)
