"""Options of trainings are checked before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

from ragsieve.errors import InputError
from ragsieve_research.train.plans import (
    ExitPlan,
    FineFilterPlan,
    GeneratorPlan,
    PrunerPlan,
    RecompPlan,
    Reranking,
    RouterPlan,
    WriterPlan,
    distances,
)

NAN = float("nan")
ON_QUESTIONS = (ExitPlan, GeneratorPlan, RecompPlan, RouterPlan, WriterPlan)
POINT = "extractor must be one of pruner[:MODEL], point[:MODEL], write[:MODEL], got 'nonsense'"


@pytest.mark.parametrize("plan", ON_QUESTIONS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"llm": "minilm"}, "minilm is no LLM"),
    ],
)
def test_options_that_plans_share_are_checked(
    plan: type[Any], options: dict[str, Any], message: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        plan(**options)


@pytest.mark.parametrize(
    ("plan", "options", "message"),
    [
        (ExitPlan, {"window": 0}, "window must be at least 1, got 0"),
        (ExitPlan, {"documents": 0}, "documents must be at least 1, got 0"),
        (ExitPlan, {"layers": 0.0}, "layers must lie in (0, 1], got 0.0"),
        (FineFilterPlan, {"extractor": "nonsense"}, POINT),
        (FineFilterPlan, {"epsilon": "nq=3"}, "epsilon must be from 0 to 2, or NAME=DISTANCE"),
        (FineFilterPlan, {"epsilon": "x"}, "epsilon must be from 0 to 2, or NAME=DISTANCE,…, got"),
        (FineFilterPlan, {"epsilon": "0.1"}, "epsilon needs extractor point or write, got 'pru"),
        (FineFilterPlan, {"truncator": "fake:echo"}, "truncator needs extractor point or write"),
        (FineFilterPlan, {"extractor": "write:fake:echo"}, "extractor must be a local one, trans"),
        (
            FineFilterPlan,
            {"extractor": "write", "llm": "openai:x"},
            "extractor must be a local one",
        ),
        (FineFilterPlan, {"epochs": 0}, "epochs must be at least 1, got 0"),
        (FineFilterPlan, {"labelled": 0}, "labelled must be at least 1, got 0"),
        (FineFilterPlan, {"llm": "minilm"}, "minilm is no LLM"),
        (GeneratorPlan, {"context": "own"}, "context must be one of relevant, mixed, irrelevant"),
        (GeneratorPlan, {"target": "x"}, "target must be one of answer, rationale, informative"),
        (GeneratorPlan, {"documents": 0}, "documents must be at least 1, got 0"),
        (PrunerPlan, {"learning_rate": NAN}, "learning_rate must be finite and over 0, got nan"),
        (RecompPlan, {"documents": 0}, "documents must be at least 1, got 0"),
        (RecompPlan, {"negatives": 0}, "negatives must be at least 1, got 0"),
        (RecompPlan, {"margin": -1.0}, "margin must be finite and not negative, got -1.0"),
        (RecompPlan, {"margin": NAN}, "margin must be finite and not negative, got nan"),
        (RecompPlan, {"embedder": "smollm2"}, "smollm2 is no embedder"),
        (RecompPlan, {"embedder": "fake:hashing"}, "embedder must be one that can be tuned, got"),
        (Reranking, {"epochs": 0}, "epochs must be at least 1, got 0"),
        (Reranking, {"rank": -1}, "rank must not be negative, got -1"),
        (Reranking, {"temperature": 0.0}, "temperature must be finite and over 0, got 0.0"),
        (Reranking, {"extra_negatives": -1}, "extra_negatives must not be negative, got -1"),
        (RouterPlan, {"form": "heavy"}, "form must be light, llm or llm:MODEL, got 'heavy'"),
        (WriterPlan, {"by": "luck"}, "by must be one of strinc, lexical, cxmi, ib, got 'luck'"),
        (WriterPlan, {"documents": 0}, "documents must be at least 1, got 0"),
        (WriterPlan, {"beta": NAN}, "beta must be finite and not negative, got nan"),
        (WriterPlan, {"generator": "minilm"}, "minilm is no LLM"),
    ],
)
def test_plans_are_checked(plan: type[Any], options: dict[str, Any], message: str) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError) as raised:
        plan(**options)

    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        ("0", [0, 0, 0]),
        ("0.1", [0.1, 0.1, 0.1]),
        ("triviaqa=0.05, hotpotqa=.1", [0, 0.05, 0.1]),
        ("0.2,nq=0", [0, 0.2, 0.2]),
    ],
)
def test_a_distance_may_be_a_data_sets_own(epsilon: str, expected: list[float]) -> None:
    """As in the paper: 0 for NQ, 0.05 for TriviaQA, 0.1 for HotpotQA."""
    known = distances(epsilon)

    assert expected == [known.get(name, known[""]) for name in ("nq", "triviaqa", "hotpotqa")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"checks": 0}, "checks must be at least 1, got 0"),
        ({"layers": 0.0}, r"layers must lie in \(0, 1\], got 0.0"),
        ({"lr": NAN}, "lr must be finite and over 0, got nan"),
    ],
)
def test_options_of_tuning_are_checked(options: dict[str, Any], message: str) -> None:
    """The error names option, rule and value."""
    from ragsieve_research.train.sft import Tuning

    with pytest.raises(InputError, match=message):
        Tuning(**options)
