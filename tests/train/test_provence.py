"""Training of pruners, on a tiny encoder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("sklearn")

from torch.nn.functional import softplus  # noqa: E402

from ragsieve.errors import InputError  # noqa: E402
from ragsieve.models.provence import Provence  # noqa: E402
from ragsieve.models.provence_net import TwoHeads, layout_for, passage_setter  # noqa: E402
from ragsieve.train.clue_data import Item, Questions, batch, passages  # noqa: E402
from ragsieve.train.clue_figures import Judged, figures  # noqa: E402
from ragsieve.train.clues import Trained  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.train.provence import _Learner, train_provence  # noqa: E402
from ragsieve.types import Document, Example, Query  # noqa: E402

Train = Callable[..., Trained]
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def encoder(make_encoder: Callable[[list[str], int], Path], words: list[str]) -> Path:
    return make_encoder(words, 48)


@pytest.fixture(scope="module")
def train(encoder: Path, taught: list[Lesson], held_back: list[Lesson]) -> Train:
    """A run of three steps an epoch, in a folder of its own."""

    def run(folder: Path, **options: Any) -> Trained:
        given = {"work": folder / "work", "epochs": 6, "learning_rate": 1e-2, **options}
        return train_provence(folder / "made", taught, held_back, encoder=str(encoder), **given)

    return run


@pytest.fixture(scope="module")
def run(train: Train, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """A run that nothing disturbed: where it is, what it told."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder)


@pytest.mark.slow
def test_a_trained_folder_is_a_pruner(run: tuple[Path, Trained], held_back: list[Lesson]) -> None:
    """It tells clues from others in most pairs, and has a score for every passage."""
    reader = Provence(str(run[0] / "made"))
    asked = [lesson.query.text for lesson in held_back]
    found = reader.clues(asked, [passages(lesson) for lesson in held_back])
    judged = [Judged.of(lesson, row) for lesson, row in zip(held_back, found, strict=True)]

    assert figures(judged)["mean"]["auc"] > 0.7
    assert (2,) == reader.score([(asked[0], "The paris in old."), (asked[0], "It ran.")]).shape


@pytest.mark.slow
def test_tokens_and_passages_are_learned_together(encoder: Path, taught: list[Lesson]) -> None:
    """Of a token whether its sentence is the clue; of a passage, half as much, whether it has it.

    The first of three passages has two sentences, "The ... in ... ." with five tokens, the clue,
    and "It ... ." with three, none.
    """
    sets = passage_setter("tiny", encoder)
    net = TwoHeads(transformers.BertModel.from_pretrained(encoder))
    learner = _Learner(net, sets).eval()
    net.in_bfloat16 = False
    asked = Questions([Item.of(taught[0], sets)], sets, layout_for(net.encoder.config))[0]
    ranks, tokens = net(*net.batch(asked["windows"], sets.padding, 48))
    ((_, a, b), (_, c, d)), *others = [window.spans for window in asked["windows"]]
    read = [tokens[0, a:b], tokens[0, c:d]]
    read += [tokens[n, s.start : s.end] for n, spans in enumerate(others, 1) for s in spans]
    rest = torch.cat(read[1:])
    told = torch.cat([softplus(-read[0]), softplus(rest)]).mean()  # -log of what was right
    ranked = torch.stack([softplus(-ranks[0]), softplus(ranks[1]), softplus(ranks[2])]).mean()

    assert (5, 3) == (b - a, d - c)
    assert (told + 0.5 * ranked).item() == pytest.approx(learner(**batch([asked]))["loss"].item())


@pytest.mark.slow
def test_the_folder_holds_no_pickle(run: tuple[Path, Trained]) -> None:
    """Safetensors, JSON and the tokenizer's text."""
    names = {path.name for path in (run[0] / "made").iterdir()}

    assert {"config.json", "model.safetensors", "recipe.json", "tokenizer.json"} <= names
    assert {".json", ".safetensors"} == {Path(name).suffix for name in names}


@pytest.mark.slow
def test_a_run_tells_losses_and_figures(run: tuple[Path, Trained]) -> None:
    """Each of six epochs of three steps is validated; figures are the recipe's."""
    folder, told = run
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert [*range(3, 19, 3)] == [r["step"] for r in told.log if "validation" in r]
    assert recipe["validation"] == told.figures
    assert told.figures["mean"]["auc"] > 0.5
    assert (12, 6, 0) == tuple(recipe["training"][n] for n in ("questions", "epochs", "seed"))


@pytest.mark.slow
def test_a_run_that_is_gone_on_with_gives_the_same_weights(
    run: tuple[Path, Trained], train: Train
) -> None:
    """What was written at its last epoch is all that it needs."""
    file = run[0] / "made" / "model.safetensors"
    before = file.read_bytes()
    file.unlink()
    train(run[0])

    assert before == file.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be over 0, got 0.0"),
    ],
)
def test_options_are_checked(
    train: Train, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        train(tmp_path, **options)


def test_lessons_must_teach(taught: list[Lesson], tmp_path: Path) -> None:
    """Before a model is loaded; the error says which are missing."""
    nothing = Lesson.of(Example(Query("Who?"), (Document("d", "It ran."),), ("seals",)))
    with pytest.raises(InputError, match="validation must have a question with clues and others"):
        train_provence(tmp_path, taught, [nothing], work=tmp_path / "work")


@pytest.mark.slow
def test_another_runs_work_is_not_taken_up(run: tuple[Path, Trained], train: Train) -> None:
    """The error names the folder."""
    with pytest.raises(InputError, match="work must be a new folder or this run's"):
        train(run[0], seed=1)
