"""Options of trainings are checked before anything is read."""

from dataclasses import fields
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
from ragsieve_research.train.sft import Tuning
from tests.rules import check_rule

ON_QUESTIONS = (ExitPlan, GeneratorPlan, RecompPlan, RouterPlan, WriterPlan)
POINT = "extractor must be one of pruner[:MODEL], point[:MODEL], write[:MODEL], got 'nonsense'"


@pytest.mark.parametrize("plan", [*ON_QUESTIONS, FineFilterPlan, PrunerPlan, Reranking, Tuning])
def test_numbers_among_options_keep_their_rules(plan: type[Any]) -> None:
    """That of each is what its error says; see `check_rule`."""
    for field in fields(plan):
        value = 1 if field.name in ("labelled", "limit") else field.default
        if field.name != "seed":
            check_rule(field.name, value, lambda value, name=field.name: plan(**{name: value}))


@pytest.mark.parametrize(
    ("plan", "options", "message"),
    [
        (FineFilterPlan, {"extractor": "nonsense"}, POINT),
        (FineFilterPlan, {"epsilon": "nq=3"}, "epsilon must be from 0 to 2, or NAME=DISTANCE"),
        (FineFilterPlan, {"epsilon": "0.1"}, "epsilon needs extractor point or write, got 'pru"),
        (FineFilterPlan, {"truncator": "fake:echo"}, "truncator needs extractor point or write"),
        (FineFilterPlan, {"extractor": "write:fake:echo"}, "extractor must be a local one, trans"),
        (
            FineFilterPlan,
            {"extractor": "write", "llm": "openai:x"},
            "extractor must be a local one",
        ),
        *(
            (plan, {"llm": "minilm"}, "minilm is no LLM")
            for plan in (*ON_QUESTIONS, FineFilterPlan)
        ),
        (GeneratorPlan, {"context": "own"}, "context must be one of relevant, mixed, irrelevant"),
        (RecompPlan, {"embedder": "fake:hashing"}, "embedder must be one that can be tuned, got"),
        (RouterPlan, {"form": "heavy"}, "form must be light, llm or llm:MODEL, got 'heavy'"),
        (WriterPlan, {"by": "luck"}, "by must be one of strinc, lexical, cxmi, ib, got 'luck'"),
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
