"""`ragsieve scorers`, as a user meets it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from ragsieve_research.datasets.parts import part_of
from ragsieve_research.score.named import SCORERS

FAKE = ("--llm", "fake:echo", "--embedder", "fake:hashing", "--pruner", "fake:pruner")


def row(question, **good):
    """Two documents, of which the first speaks of what is asked."""
    bees, goats = {"text": "Bees make honey in hives."}, {"text": "Goats give milk."}
    return {"question": question, "documents": [{**bees, **good}, goats]}


@pytest.fixture(autouse=True)
def files(ragsieve):
    """Graded documents, and questions with answers of the parts validation and test."""
    Path("g.jsonl").write_text(json.dumps(row("What do bees make?", relevance=2)) + "\n")
    asked = [f"Which honey do bees make in hive {n}?" for n in range(60)]
    some = [q for q in asked if part_of(q) != "train"]
    lines = [json.dumps({**row(question), "answers": ["honey"]}) for question in some]
    Path("a.jsonl").write_text("\n".join(lines))


def test_scorers_are_compared_with_chance(ragsieve):
    """A table a data set; what helps, and by which labels."""
    ended = ragsieve("scorers", "g.jsonl", "a.jsonl", *FAKE, "--limit", "2")
    lines = [line.split() for line in ended.out.splitlines()]

    assert 0 == ended.code
    assert ["g.jsonl", "AUC", "rho", "NDCG@10", "hit@1", "ms/segment"] == lines[0][:6]
    assert ["chance", "bm25", "cosine", "a.jsonl"] == [line[0] for line in lines[1:5]]
    assert ["0.500", "1.000", "1.000"] == [line[1] for line in lines[1:4]]
    assert "1 question, 1 with both kinds; 2 documents, 1 help by grades" in ended.err
    assert "2 questions, 2 with both kinds; 4 sentences, 2 help by answers" in ended.err


@pytest.mark.parametrize("calibrated", [False, True])
def test_questions_without_such_labels_are_left_out(ragsieve, calibrated):
    """Nothing says that their sentences do not help, unless no document is positive."""
    asked = [f"Which honey do bees make in hive {n}?" for n in range(60)]
    gold = [row(question, supporting_sentences=["Bees make honey"]) for question in asked]
    none = {**row("Which?"), "documents": [{"text": "Goats give milk.", "is_positive": False}]}
    rows = [*gold, none, *({**row(f"Why {question}"), "answers": ["honey"]} for question in asked)]
    Path("m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = ("--scorer", "bm25", *(("--calibrate", "c.json") if calibrated else ()))
    ended = ragsieve("scorers", "m.jsonl", *options, "--json")
    found = json.loads(ended.out)
    sets = [found[part]["m.jsonl"] for part in ("fitted_to", "measured_on") if calibrated] or [
        found["m.jsonl"]
    ]
    kept = [q for q in (*asked, "Which?") if not calibrated or part_of(q) != "train"]

    assert len(kept) == sum(one["questions"] for one in sets)
    assert sum(q != "Which?" for q in kept) == sum(one["helpful"] for one in sets)
    assert f"m.jsonl: {sets[0]['unlabelled']} questions without gold sentences" in ended.err


def test_every_scorer_runs_and_says_so_in_json(ragsieve):
    """All at once; ratings of a model that understands nothing are at chance."""
    names = [part for name in SCORERS for part in ("--scorer", name)]
    ended = ragsieve("scorers", "g.jsonl", *FAKE, *names, "--model", "pair=fake:overlap", "--json")
    found = json.loads(ended.out)["g.jsonl"]
    by_name = {one["scorer"]: one for one in found["scorers"]}

    assert ["chance", *SCORERS] == list(by_name)
    assert ("grades", "documents", 2, 1) == tuple(
        found[key] for key in ("labels", "unit", "segments", "helpful")
    )
    assert (
        pytest.approx({"value": 1.0, "low": 0.025, "high": 1.0, "n": 1}) == (by_name["bm25"]["AUC"])
    )
    assert 0.5 == by_name["relevance"]["AUC"]["value"]
    assert by_name["mean"]["tokens_per_segment"] > by_name["relevance"]["tokens_per_segment"] > 0


def test_a_calibration_is_written_for_the_system(ragsieve):
    """With what made it; the text says what it is worth on other questions."""
    pytest.importorskip("sklearn")
    options = ("--scorer", "mean", "--calibrate", "c.json")
    ended = ragsieve("scorers", "a.jsonl", *FAKE, *options)
    made = json.loads(Path("c.json").read_text())

    assert 0 == ended.code
    assert "calibrated" in ended.out
    assert "warning: mean does not rise with what helps" in ended.err  # all documents rate alike
    assert dict.fromkeys(("relevance", "reflection", "critique"), "echo") == made["models"]
    assert ["relevance", "reflection", "critique"] == made["prompts"]
    assert made["fitted_to"]["a.jsonl"]["questions"] < made["measured_on"]["a.jsonl"]["questions"]
    assert 0.5 == made["test"]["base"]["auc"] == made["test"]["after"]["auc"]


def test_a_curve_makes_a_good_score_a_probability(ragsieve):
    """Printed as it is written."""
    pytest.importorskip("sklearn")
    options = ("--scorer", "bm25", "--calibrate", "c.json")
    ended = ragsieve("scorers", "a.jsonl", *options, "--json")
    made = json.loads(ended.out)

    assert made == json.loads(Path("c.json").read_text())
    assert {"bm25": ""} == made["models"]
    assert made["test"]["after"]["brier"] < 0.05 < made["test"]["base"]["brier"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("g.jsonl", "--scorer", "pair"), "scorer pair needs --model pair=MODEL"),
        (("g.jsonl", "--model", "llm=smollm2"), "--model must be pair=MODEL or critic=MODEL"),
        (("g.jsonl", "--calibrate", "c.json"), "--calibrate takes exactly one --scorer, got 2"),
        (
            ("g.jsonl", "--scorer", "bm25", "--calibrate", "c.json"),
            "parts validation and test, got none of ",
        ),
        (("n.jsonl",), "n.jsonl: questions must have labels"),
    ],
)
def test_bad_input_is_one_line(ragsieve, arguments, message):
    """Before anything is scored, where it can be known."""
    Path("n.jsonl").write_text(json.dumps(row("Who?")))
    ended = ragsieve("scorers", *arguments)
    (line,) = [line for line in ended.err.splitlines() if line.startswith("error: ")]

    assert 2 == ended.code
    assert message in line
