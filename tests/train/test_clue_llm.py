"""Training of clue readers on a tiny language model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

import ragsieve  # noqa: E402
from ragsieve.errors import InputError, ModelError  # noqa: E402
from ragsieve.train.clue_data import passages  # noqa: E402
from ragsieve.train.clue_figures import figures  # noqa: E402
from ragsieve.train.clue_llm import train_clue_llm  # noqa: E402
from ragsieve.train.clues import Trained  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.train.packing import judgements  # noqa: E402

Train = Callable[..., Trained]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def llm(make_llm: Callable[[Sequence[str], int], Path], words: list[str]) -> Path:
    return make_llm(words, 6)


@pytest.fixture(scope="module")
def train(llm: Path, taught: list[Lesson], held_back: list[Lesson]) -> Train:
    """A run of three steps an epoch, in a folder of its own."""

    def run(folder: Path, **options: Any) -> Trained:
        given = {"work": folder / "work", "llm": str(llm), **options}
        return train_clue_llm(folder / "made", taught, held_back, **given)

    return run


@pytest.fixture(scope="module")
def run(train: Train, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """A run that nothing disturbed: where it is, what it told."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "made").iterdir()}


@pytest.mark.slow
def test_a_trained_folder_is_a_clue_reader(run: tuple[Path, Trained], taught: list[Lesson]) -> None:
    """Three files, loaded by name; a probability for every sentence."""
    reader = ragsieve.models.load(f"clue_llm:{run[0] / 'made'}")
    (found,) = reader.clues([taught[0].query.text], [passages(taught[0])])

    assert {"calibration.json", "packed.safetensors", "recipe.json"} == {*files(run[0])}
    assert 6 == len(found)
    assert all(0 < value < 1 for value in found)


@pytest.mark.slow
def test_only_the_upper_third_of_what_is_read_is_tuned(run: tuple[Path, Trained]) -> None:
    """Of six layers four are read, one is a third of them: the fourth, with all seven maps."""
    tensors = load_file(run[0] / "made" / "packed.safetensors")
    named = {name.removeprefix("encoder.") for name in tensors if name.startswith("encoder.")}

    assert {("layers", "3")} == {tuple(name.split(".")[:2]) for name in named}
    assert 7 * 2 == len(named)


@pytest.mark.slow
def test_a_checkpoint_holds_only_what_learns(run: tuple[Path, Trained]) -> None:
    """The language model itself lies elsewhere, and may have billions of weights."""
    (file,) = run[0].glob("work/*/checkpoint-*/model.safetensors")

    assert all("lora_" in name or name.startswith("head.") for name in load_file(file))


@pytest.mark.slow
def test_a_run_tells_losses_and_figures(
    run: tuple[Path, Trained], train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each epoch is validated; the folder's figures are the recipe's; nothing is printed."""
    folder, told = run
    train(tmp_path, epochs=1)
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert [3, 6] == [row["step"] for row in told.log if "validation" in row]
    assert {"own", "mean"} == {*told.figures}
    assert told.figures == recipe["validation"]
    assert "" == capsys.readouterr().out


@pytest.mark.slow
def test_what_is_trained_finds_clues(train: Train, held_back: list[Lesson], tmp_path: Path) -> None:
    """Clues are first sentences with "the ... in": above others in most pairs, chance is half.

    The net over hand-made inputs finds them, too: without it the folder does what was validated.
    """
    told = train(tmp_path, epochs=3, learning_rate=1e-2)
    alone = max(row.get("validation", 0.0) for row in told.log)
    packed = tmp_path / "made" / "packed.safetensors"
    tensors = load_file(packed)
    tensors |= {n: torch.zeros_like(t) for n, t in tensors.items() if "prior.net.6" in n}
    save_file(tensors, packed)
    reader = ragsieve.models.load(f"clue_llm:{tmp_path / 'made'}")

    assert told.figures["mean"]["auc"] > 0.9
    assert alone > 0.8
    assert alone == pytest.approx(figures(judgements(reader, held_back))["mean"]["auc"], abs=0.05)


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


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be over 0, got 0.0"),
        ({"depth": 0.0}, "depth must be over 0 to 1, got 0.0"),
        ({"layers": 1.5}, "layers must be over 0 to 1, got 1.5"),
        ({"feedback": 1.5}, "feedback must be from 0 to 1, got 1.5"),
        ({"llm": "./none"}, "no folder at './none'"),
    ],
)
def test_options_are_checked(
    train: Train, tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=reason):
        train(tmp_path, **options)


def test_a_model_without_layers_of_linear_maps_is_refused(
    llm: Path, train: Train, tmp_path: Path
) -> None:
    """GPT-2's maps are of another kind."""
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "vocab_size": 32}
    base = tmp_path / "gpt2"
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes)).save_pretrained(base)
    transformers.AutoTokenizer.from_pretrained(llm).save_pretrained(base)

    with pytest.raises(ModelError, match="has no layers of linear maps to be tuned"):
        train(tmp_path, llm=str(base))


def test_there_must_be_something_to_learn_from(taught: list[Lesson], tmp_path: Path) -> None:
    """Both kinds of sentence, in what is learnt and in what is held back."""
    none = [Lesson(lesson.query, ("none",), lesson.sentences, {}) for lesson in taught]
    for given, reason in (((none, taught), "lessons must"), ((taught, none), "validation must")):
        with pytest.raises(InputError, match=reason):
            train_clue_llm(tmp_path / "made", *given, work=tmp_path)
