"""What trainings from questions to a folder share."""

import json
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ragsieve.errors import BadReply, InputError
from ragsieve.types import Document, Example, Query
from ragsieve_research.models import store
from ragsieve_research.train.artifacts import check_free, model_dir, recipe_of
from ragsieve_research.train.examples import write
from ragsieve_research.train.plans import GeneratorPlan
from ragsieve_research.train.run import Run

ASKED = [Example(Query(f"Who {n}?", str(n)), (Document("d", "Seals."),), ("x",)) for n in range(3)]

RECIPE = {"after": {"questions": 1}}


def written(folder: Path) -> AbstractContextManager[Path]:
    """A folder to write to, of a small recipe."""
    return model_dir(folder, RECIPE, GeneratorPlan(), [], title="A title", use="", base="x")


def make(folder: Path, *names: str) -> None:
    with written(folder) as fresh:
        for name in names:
            (fresh / name).write_text(name)


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    """What a start that ended left stops none; the same way has the same place."""
    folder = tmp_path / "made"
    with pytest.raises(KeyboardInterrupt), written(folder) as fresh:
        (fresh / "weights").write_text("half")
        raise KeyboardInterrupt
    check_free(folder, "model")

    assert not folder.exists()

    assert Run([], tmp_path).adapter("a", 1) == Run([], tmp_path).adapter("a", 1)
    assert Run([], tmp_path).adapter("a", 1) != Run([], tmp_path).adapter("a", 2)


def test_a_damaged_recipe_is_that_of_no_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What a power cut left of it stops no start: the training is done anew, and says so."""
    for damaged in (bytes(40), b'{"part": "x', b"3"):
        (tmp_path / "recipe.json").write_bytes(damaged)

        assert {} == recipe_of(tmp_path)
    assert 3 == sum("recipe.json is damaged" in message for message in caplog.messages)


def test_what_an_earlier_training_left_is_replaced(tmp_path: Path) -> None:
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
def test_one_bit_that_flipped_is_told_where_a_model_is_loaded(tmp_path: Path, name: str) -> None:
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


def test_labels_of_an_earlier_start_stay(tmp_path: Path) -> None:
    """One question fails: the error is raised when the others are labelled; then it alone is."""
    asked: list[str] = []

    def process(example: Example) -> dict[str, str]:
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
