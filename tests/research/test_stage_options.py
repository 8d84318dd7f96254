"""An option that breaks its rule is refused when a stage is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ragsieve import score, select, split
from ragsieve.answer import Reader
from ragsieve.errors import InputError
from ragsieve.models.fake import HashingEmbedder, ScriptedLLM
from ragsieve.select.cut import Odds
from ragsieve_research.score.helpful import Helpful
from ragsieve_research.score.listwise import Listwise, Permuting
from ragsieve_research.score.surprisal import Surprisal
from ragsieve_research.select.adaptive import Adaptive
from ragsieve_research.select.distinct import Distinct
from ragsieve_research.select.extract import Extract
from ragsieve_research.select.truncate import Truncate
from ragsieve_research.split.semantic import Semantic
from ragsieve_research.systems.written import Write

LLM = ScriptedLLM([])
BROKEN: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    *(
        (score.BM25, {"k1": k1}, f"k1 must be finite and not negative, got {k1}")
        for k1 in (-1, math.inf, math.nan)
    ),
    (score.BM25, {"b": 1.5}, r"b must be from 0 to 1, got 1.5"),
    (partial(Helpful, LLM), {"window": 0}, "window must be at least 1, got 0"),
    (partial(Listwise, LLM), {"window": 1}, "window must be at least 2, got 1"),
    (partial(Listwise, LLM), {"step": 0}, "step must be from 1 to window=20, got 0"),
    (
        partial(Listwise, LLM),
        {"window": 4, "step": 5},
        "step must be from 1 to window=4, got 5",
    ),
    (partial(Permuting, LLM), {"mode": "x"}, "mode must be one of write, first, got 'x'"),
    (partial(Permuting, LLM), {"max_words": 0}, "max_words must be at least 1, got 0"),
    (partial(Surprisal, LLM), {"per": "max"}, "per must be one of sum, mean, got 'max'"),
    *(
        (
            Adaptive,
            {"epsilon": value},
            f"epsilon must be finite .*, got {value}",
        )
        for value in (-0.1, math.nan, math.inf)
    ),
    (
        partial(select.Budget, reader=Reader(LLM)),
        {"max_tokens": -1},
        "must not be negative, got -1",
    ),
    (partial(Reader, LLM), {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    (partial(Write, LLM, "recomp"), {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    *(
        (partial(select.Cut, Odds(((0.0,), (0.0,)), (0.0, 0.0))), options, "must .*, got ")
        for options in ({"price": -0.1}, {"price": 1.1}, {"min_keep": -1})
    ),
    *(
        (partial(Extract, LLM), options, message)
        for options, message in (
            ({"mode": "read"}, "mode must be one of point, write, got 'read'"),
            ({"max_clues": 0}, "max_clues must be at least 1, got 0"),
            ({"min_keep": -1}, "min_keep must not be negative, got -1"),
        )
    ),
    (select.Order, {"by": "rank"}, "by must be one of document, score, ends, got 'rank'"),
    (partial(select.Threshold, math.nan), {}, "min_score must be finite, got nan"),
    (partial(select.Threshold, math.inf), {}, "min_score must be finite, got inf"),
    (partial(select.Threshold, 0), {"min_keep": -1}, "min_keep must not be negative, got -1"),
    (partial(select.Threshold, 0), {"relative": 1.5}, r"relative must be from 0 to 1, got 1\.5"),
    (select.TopK, {"k": -1}, "k must not be negative, got -1"),
    (partial(Truncate, LLM), {"max_clues": 0}, "max_clues must be at least 1, got 0"),
    (partial(Truncate, LLM), {"min_keep": -1}, "min_keep must not be negative, got -1"),
    *(
        (stage, options, message)
        for stage in (split.Blocks, split.Sentences, partial(Semantic, HashingEmbedder()))
        for options, message in (
            ({"max_chars": 0}, "max_chars must be at least 1, got 0"),
            ({"language": ""}, "language must be an ISO 639-1 code.*, got ''"),
        )
    ),
    *(
        (
            partial(Semantic, HashingEmbedder()),
            {"min_similarity": value},
            f"min_similarity must be from -1 to 1, got {value}",
        )
        for value in (1.1, math.nan)
    ),
    (partial(split.Windows, LLM), {"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
    *(
        (partial(split.Windows, LLM), {"overlap": n}, rf"in \[0, max_tokens=200\), got {n}")
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
