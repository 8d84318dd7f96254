"""Training of clue readers, on a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from safetensors.torch import load_file  # noqa: E402

from ragsieve import models  # noqa: E402
from ragsieve.errors import InputError  # noqa: E402
from ragsieve.models.clue_windows import Layout  # noqa: E402
from ragsieve.train.clue_data import passages  # noqa: E402
from ragsieve.train.clues import Trained, train_clues  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402

Train = Callable[..., Trained]
pytestmark = pytest.mark.usefixtures("one_thread")
LAYOUT = Layout(size=32, question=6, title=3, sentence=10, overlap=8)


@pytest.fixture(scope="module")
def encoder(make_encoder: Callable[[list[str], int], Path], words: list[str]) -> Path:
    return make_encoder(words, LAYOUT.size)


@pytest.fixture(scope="module")
def train(encoder: Path, taught: list[Lesson], held_back: list[Lesson]) -> Train:
    """A run of three steps an epoch, in a folder of its own."""

    def run(folder: Path, **options: Any) -> Trained:
        given = {"work": folder / "work", "layout": LAYOUT, "rank": 2, **options}
        return train_clues(folder / "made", taught, held_back, encoder=str(encoder), **given)

    return run


@pytest.fixture(scope="module")
def run(train: Train, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """A run that nothing disturbed: where it is, what it told."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "made").iterdir()}


@pytest.mark.slow
def test_a_trained_folder_is_a_clue_reader(
    run: tuple[Path, Trained], encoder: Path, taught: list[Lesson]
) -> None:
    """Three files, loaded by name; a probability for every sentence."""
    folder, _ = run
    reader = models.load(f"clues:{folder / 'made'}")
    (found,) = reader.clues([taught[0].query.text], [passages(taught[0])])
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert {"calibration.json", "packed.safetensors", "recipe.json"} == {*files(folder)}
    assert 6 == len(found)
    assert all(0 < value < 1 for value in found)
    assert (str(encoder), 12) == (recipe["encoder"], recipe["training"]["questions"])


@pytest.mark.slow
def test_all_layers_but_the_first_sixth_are_tuned(run: tuple[Path, Trained]) -> None:
    """Of six the last five; no embedding."""
    tensors = load_file(run[0] / "made" / "packed.safetensors")
    named = [name.split(".") for name in tensors if name.startswith("encoder.")]

    assert {("layer", str(n)) for n in range(1, 6)} == {(name[2], name[3]) for name in named}


@pytest.mark.slow
def test_a_run_tells_losses_and_figures(
    run: tuple[Path, Trained], train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each epoch is validated; the folder's figures are the recipe's; nothing is printed."""
    folder, told = run
    train(tmp_path, epochs=1)
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert [3, 6] == [row["step"] for row in told.log if "validation" in row]
    assert all({"step", "epoch", "seconds"} < {*row} for row in told.log)
    assert {"own", "mean"} == {*told.figures}
    assert told.figures == recipe["validation"]
    assert "" == capsys.readouterr().out


@pytest.mark.slow
def test_what_is_trained_finds_clues(train: Train, tmp_path: Path) -> None:
    """Clues are first sentences with "the ... in": above others in most pairs, chance is half."""
    found = train(tmp_path, epochs=4, learning_rate=1e-3).figures

    assert found["mean"]["auc"] > 0.9


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_result(
    run: tuple[Path, Trained], train: Train, tmp_path: Path, killed: Callable[..., Any]
) -> None:
    """Killed in the second epoch's first step, it begins with that; bit for bit the same files."""
    with killed(4):
        train(tmp_path)
    assert not (tmp_path / "made").exists()
    told = train(tmp_path)

    assert files(run[0]) == files(tmp_path)
    assert [3, 6] == [row["step"] for row in told.log if "validation" in row]


@pytest.mark.slow
def test_work_of_another_run_is_not_gone_on_with(run: tuple[Path, Trained], train: Train) -> None:
    """Its weights would be of other options."""
    with pytest.raises(InputError, match="work must be a new folder or this run's, got another's"):
        train(run[0], seed=1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"rank": 0}, "rank must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be over 0, got 0.0"),
        ({"feedback": 1.5}, "feedback must be from 0 to 1, got 1.5"),
        ({"layout": Layout(33, 6, 3, 10, 8)}, "layout has windows of 33 tokens, .* reads 32"),
    ],
)
def test_options_are_checked(
    train: Train, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=reason):
        train(tmp_path, **options)


def test_there_must_be_something_to_learn_from(tmp_path: Path, taught: list[Lesson]) -> None:
    """Both kinds of sentence, in what is learnt and in what is held back."""
    none = [Lesson(lesson.query, ("none",), lesson.sentences, {}) for lesson in taught]
    for given, reason in (((none, taught), "lessons must"), ((taught, none), "validation must")):
        with pytest.raises(InputError, match=reason):
            train_clues(tmp_path / "made", *given, work=tmp_path)
