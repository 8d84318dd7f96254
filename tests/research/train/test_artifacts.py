"""Plans of trainings, their work and their folders."""

import json
from dataclasses import fields

import pytest

from ragsieve.errors import BadReply, InputError
from ragsieve.types import Document, Example, Query
from ragsieve_research.models import store
from ragsieve_research.train.artifacts import check_free, model_dir, recipe_of
from ragsieve_research.train.examples import write
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
from ragsieve_research.train.run import Run
from ragsieve_research.train.sft import Tuning
from tests.rules import check_rule

ASKED = [Example(Query(f"Who {n}?", str(n)), (Document("d", "Seals."),), ("x",)) for n in range(3)]

RECIPE = {"after": {"questions": 1}}


def written(folder):
    """A folder to write to, of a small recipe."""
    return model_dir(folder, RECIPE, GeneratorPlan(), [], title="A title", use="", base="x")


def make(folder, *names):
    with written(folder) as fresh:
        for name in names:
            (fresh / name).write_text(name)


def test_a_folder_is_there_whole_or_not_at_all(tmp_path):
    """What a start that ended left stops none; the same way has the same place."""
    folder = tmp_path / "made"
    with pytest.raises(KeyboardInterrupt), written(folder) as fresh:
        (fresh / "weights").write_text("half")
        raise KeyboardInterrupt
    check_free(folder, "model")

    assert not folder.exists()

    assert Run([], tmp_path).adapter("a", 1) == Run([], tmp_path).adapter("a", 1)
    assert Run([], tmp_path).adapter("a", 1) != Run([], tmp_path).adapter("a", 2)


def test_a_damaged_recipe_is_that_of_no_training(tmp_path, caplog):
    """What a power cut left of it stops no start: the training is done anew, and says so."""
    for damaged in (bytes(40), b'{"part": "x', b"3"):
        (tmp_path / "recipe.json").write_bytes(damaged)

        assert {} == recipe_of(tmp_path)
    assert 3 == sum("recipe.json is damaged" in message for message in caplog.messages)


def test_what_an_earlier_training_left_is_replaced(tmp_path):
    """Its weights would be read with the new ones; the recipe says what is there."""
    folder = tmp_path / "made"
    make(folder, "model.safetensors", "adapter.safetensors")
    check_free(folder, "model")
    make(folder, "adapter.safetensors")

    assert ["made"] == [path.name for path in tmp_path.iterdir()]
    recipe = json.loads((folder / "recipe.json").read_text())
    assert {"adapter.safetensors", "recipe.json"} == {*recipe.pop("files")}
    assert RECIPE == recipe
    assert not (folder / "model.safetensors").exists()


@pytest.mark.parametrize("name", ["recipe.json", "model.safetensors", "1_Pooling/config.json"])
def test_one_bit_that_flipped_is_told_where_a_model_is_loaded(tmp_path, name):
    """It could change what a model says, and would not show."""
    with written(tmp_path / "made") as fresh:
        (fresh / "1_Pooling").mkdir()
        for one in ("model.safetensors", "1_Pooling/config.json"):
            (fresh / one).write_text("weights")
    store.resolve(tmp_path / "made")
    file = tmp_path / "made" / name
    file.write_bytes(file.read_bytes().replace(b'"questions": 1', b'"questions": 0')[:-1] + b"\n")

    with pytest.raises(InputError, match=f"{name} is damaged or changed"):
        store.resolve(tmp_path / "made")


def test_labels_of_an_earlier_start_stay(tmp_path):
    """One question fails: the error is raised when the others are labelled; then it alone is."""
    asked = []

    def process(example):
        asked.append(example.query.id)
        if len(asked) == 1:
            raise BadReply("rule", "reply")
        return {"said": example.query.id}

    run = Run([], tmp_path, workers=1)
    write(tmp_path / "train.jsonl", ASKED)
    write(tmp_path / "validation.jsonl", ASKED[1:])
    with pytest.raises(BadReply):
        run.label("said", process, by="x")
    run.label("said", process, by="x")

    assert ["0", "1", "2", "0", "1", "2"] == asked
    assert 2 == len((tmp_path / "validation.said.jsonl").read_text().splitlines())
    with pytest.raises(InputError):
        run.label("said", process, by="y")


ON_QUESTIONS = (ExitPlan, GeneratorPlan, RecompPlan, RouterPlan, WriterPlan)
POINT = "extractor must be one of pruner[:MODEL], point[:MODEL], write[:MODEL], got 'nonsense'"


@pytest.mark.parametrize("plan", [*ON_QUESTIONS, FineFilterPlan, PrunerPlan, Reranking, Tuning])
def test_numbers_among_options_keep_their_rules(plan):
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
def test_plans_are_checked(plan, options, message):
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
def test_a_distance_may_be_a_data_sets_own(epsilon, expected):
    """As in the paper: 0 for NQ, 0.05 for TriviaQA, 0.1 for HotpotQA."""
    known = distances(epsilon)

    assert expected == [known.get(name, known[""]) for name in ("nq", "triviaqa", "hotpotqa")]
