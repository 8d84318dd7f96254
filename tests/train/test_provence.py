"""Training of pruners, on a tiny encoder."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("sklearn")

from ragsieve.errors import InputError  # noqa: E402
from ragsieve.models.provence import Provence  # noqa: E402
from ragsieve.train.clue_data import passages  # noqa: E402
from ragsieve.train.clues import Trained  # noqa: E402
from ragsieve.train.lessons import Lesson  # noqa: E402
from ragsieve.train.provence import train_provence  # noqa: E402
from ragsieve.types import Document, Example, Query  # noqa: E402

TEXT = "seals crofts paris rome sang rained ran slept who where what the in old it"
WORDS = TEXT.split()


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def lessons(count: int, seed: int = 0) -> list[Lesson]:
    """Questions whose answer is always seals: it stands in one sentence of one of two documents."""
    chance = random.Random(seed)
    found = []
    for n in range(count):
        words = chance.sample(WORDS[1:8], 3)
        texts = [f"The seals in {words[0]}. It {words[1]}.", f"Old {words[2]}. It {words[1]}."]
        documents = tuple(Document(f"d{k}", text, rank=k) for k, text in enumerate(texts))
        found.append(Lesson.of(Example(Query(f"Who {n}?", id=f"own:{n}"), documents, ("seals",))))
    return found


TAUGHT, HELD_BACK = lessons(16), lessons(4, seed=1)


def train(folder: Path, encoder: Path, **options: Any) -> Trained:
    given = {"work": folder / "work", "epochs": 6, "learning_rate": 5e-3, **options}
    return train_provence(folder / "made", TAUGHT, HELD_BACK, encoder=str(encoder), **given)


@pytest.fixture(scope="module")
def encoder(make_encoder: Callable[[list[str], int], Path]) -> Path:
    return make_encoder(WORDS, 48)


@pytest.fixture(scope="module")
def run(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trained]:
    """A run that nothing disturbed: where it is, what it told."""
    folder = tmp_path_factory.mktemp("run")
    return folder, train(folder, encoder)


def test_a_trained_folder_is_a_pruner(run: tuple[Path, Trained]) -> None:
    """The clue gets more than the others, and its document more than the other."""
    reader = Provence(str(run[0] / "made"))
    asked = HELD_BACK[0]
    (found,) = reader.clues([asked.query.text], [passages(asked)])
    documents = list({s.document.id: s.document for s in asked.sentences}.values())
    scores = reader.score([(asked.query.text, d.text) for d in documents])

    assert 0 == found.index(max(found))
    assert scores[0] > scores[1]


def test_the_folder_holds_no_pickle(run: tuple[Path, Trained]) -> None:
    """Safetensors, JSON and the tokenizer's text."""
    names = {path.name for path in (run[0] / "made").iterdir()}

    assert {"config.json", "model.safetensors", "recipe.json", "tokenizer.json"} <= names
    assert {".json", ".safetensors"} == {Path(name).suffix for name in names}


def test_a_run_tells_losses_and_figures(run: tuple[Path, Trained]) -> None:
    """Each of six epochs of four steps is validated; figures are the recipe's."""
    folder, told = run
    recipe = json.loads((folder / "made" / "recipe.json").read_text())

    assert [4 * n for n in range(1, 7)] == [r["step"] for r in told.log if "validation" in r]
    assert recipe["validation"] == told.figures
    assert told.figures["mean"]["auc"] > 0.5
    assert (16, 6, 0) == tuple(recipe["training"][n] for n in ("questions", "epochs", "seed"))


def test_a_run_that_is_gone_on_with_gives_the_same_weights(
    run: tuple[Path, Trained], encoder: Path
) -> None:
    """What was written at its last epoch is all that it needs."""
    file = run[0] / "made" / "model.safetensors"
    before = file.read_bytes()
    file.unlink()
    train(run[0], encoder)

    assert before == file.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be over 0, got 0.0"),
    ],
)
def test_options_are_checked(
    encoder: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    """The error names option, rule and value."""
    with pytest.raises(InputError, match=message):
        train(tmp_path, encoder, **options)


def test_lessons_must_teach(tmp_path: Path) -> None:
    """Before a model is loaded; the error says which are missing."""
    nothing = Lesson.of(Example(Query("Who?"), (Document("d", "It ran."),), ("seals",)))
    with pytest.raises(InputError, match="validation must have a question with clues and others"):
        train_provence(tmp_path, TAUGHT, [nothing], work=tmp_path / "work")


def test_another_runs_work_is_not_taken_up(run: tuple[Path, Trained], encoder: Path) -> None:
    """The error names the folder."""
    with pytest.raises(InputError, match="work must be a new folder or this run's"):
        train(run[0], encoder, seed=1)
