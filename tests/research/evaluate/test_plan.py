"""What a run will cost, from a part of its questions."""

import json
import math

import numpy as np
import pytest

from ragsieve import Pipeline, System, cli, score, select, split
from ragsieve.answer import Reader
from ragsieve.models.fake import OverlapPruner, ScriptedLLM
from ragsieve_research.evaluate.plan import Estimate, Plan, estimated, plan
from ragsieve_research.evaluate.prices import Prices

SENTENCE = "Ada wrote a long program about ships. "


@pytest.fixture
def questions(tmp_path):
    """120 questions of 1 to 40 sentences, in no order, and a line that is none."""
    lengths = np.random.default_rng(0).integers(1, 41, 120)
    rows = [
        {"question": "Who wrote it?", "documents": [{"text": SENTENCE * n + f"It was {k}."}]}
        for k, n in enumerate(lengths.tolist())
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "no question\n")
    return path


@pytest.fixture
def system():
    """A sentence pruner, the best half, and a generator of fixed length."""
    stage = Pipeline(split.Sentences(), score.Pruner(OverlapPruner()), select.Threshold(0.1))
    return System(stage, Reader(ScriptedLLM(lambda _: "it was Ada")))


def test_a_sample_predicts_the_run(system, questions):
    """Within 15% of what all questions cost, tokens and calls; its own interval says so, too."""
    planned = plan(system, questions, sample=20, workers=2)
    ran = plan(system, questions, sample=1000, workers=2)

    assert (120, 1, 20, 0) == (planned.questions, planned.unreadable, planned.asked, planned.failed)
    assert 120 == ran.asked
    for name, cost in ran.costs.items():
        if name != "seconds":
            assert cost.value == pytest.approx(planned.costs[name].value, rel=0.15)
            assert 0 == pytest.approx(cost.margin, abs=1e-6)
    assert 120 == ran.costs["generator_calls"].value
    assert 0 == ran.costs["llm_calls"].value
    assert 0 < ran.costs["seconds"].value


def test_costs_and_prices_worked_by_hand():
    """Lengths 1 and 3 that cost 12 and 16: 10 + 2 x. A million tokens read cost 1, written 4."""
    found = estimated(np.array([1.0, 3.0]), np.array([12.0, 16.0]), np.array([1.0, 2, 3, 10]))

    assert Estimate(12 + 14 + 16 + 30, 0.0) == Estimate(round(found.value, 9), found.margin)

    tokens = {"llm_tokens_in": 2e6, "llm_tokens_out": 1e6, "generator_tokens_in": 3e6}
    tokens |= {"generator_tokens_out": 1e6, "tokens_before": 9e6, "tokens_after": 2e6}
    costs = {name: Estimate(value, 0) for name, value in tokens.items()}
    planned = Plan(1, 0, 1, 0, costs, Prices(filter_price_in=0.5, filter_price_out=1), math.inf)

    assert [2.0, 7.0, 14.0] == [planned.price(role) for role in ("llm", "generator", "all")]
    assert planned.to_dict()["break_even"] is None


def test_the_command_prints_a_table_or_json(questions, capsys):
    """Figures with intervals, the price of reading all, and from where on the filter pays."""
    arguments = ["plan", str(questions), "--llm", "fake:echo", "--system", "top-sentences"]
    arguments += ["--embedder", "fake:hashing", "--option", "k=3"]
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments, "--sample", "10"])
    shown = capsys.readouterr()
    with pytest.raises(SystemExit):
        cli.main([*arguments, "--sample", "10", "--json"])
    values = json.loads(capsys.readouterr().out)

    assert 0 == ended.value.code
    assert "120 questions, 10 of them asked" in shown.out
    assert "the filter always costs less than it saves" in shown.out
    assert "1 line that cannot be read" in " ".join(shown.err.split())
    assert 120 == values["costs"]["generator_calls"]["value"]
    assert values["price"]["all"] > values["price"]["generator"] > 0 == values["price"]["llm"]
