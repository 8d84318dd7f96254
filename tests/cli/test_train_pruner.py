"""`ragsieve train exit` and `ragsieve train provence`, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft")
pytest.importorskip("sklearn")


Command = Callable[..., Any]
WORDS = ["seals", "paris", "rome", "ran", "who", "the", "it", "in", "old"]


@pytest.fixture
def questions() -> str:
    """A file of twelve questions, each with its answer in one of two sentences."""
    rows = [
        {
            "question": f"Who {n}?",
            "answers": ["seals"],
            "documents": [{"text": f"The seals in {WORDS[n % 4]}. It ran {n}."}],
        }
        for n in range(12)
    ]
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "q.jsonl"


@pytest.mark.parametrize("name", ["exit", "provence"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epochs", "0"), "0 is not in the range"),
        (("--documents", "0"), "0 is not in the range"),
        (("--work", "made"), "--work must be another folder than FOLDER"),
    ],
)
def test_bad_input_is_one_line(
    ragsieve: Command, questions: str, name: str, arguments: tuple[str, ...], message: str
) -> None:
    """Before anything is read."""
    ended = ragsieve("train", name, "made", questions, *arguments)

    assert (2, 1) == (ended.code, len(ended.err.splitlines()))
    assert message in ended.err
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("exit", "--llm", "minilm"), "minilm is no LLM"),
        (("exit", "--llm", "openai:x"), "llm must be a local one"),
        (("exit", "--layers", "0"), "0.0 is not in the range"),
        (("provence", "--learning-rate", "0"), "0.0 is not in the range"),
        (("provence", "--encoder", "./none"), "no folder at './none'"),
    ],
)
def test_models_must_be_fit(
    ragsieve: Command, questions: str, arguments: tuple[str, ...], message: str
) -> None:
    """The error names option, rule and value."""
    name, *options = arguments
    ended = ragsieve("train", name, "made", questions, *options)

    assert (2, 1) == (ended.code, len(ended.err.splitlines()))
    assert message in ended.err


@pytest.mark.parametrize("name", ["exit", "provence"])
def test_what_lies_in_a_folder_is_not_overwritten(
    ragsieve: Command, questions: str, name: str
) -> None:
    """Only a folder of an earlier training is."""
    Path("made").mkdir()
    Path("made/mine.txt").write_text("x")
    ended = ragsieve("train", name, "made", questions)

    assert 2 == ended.code
    assert "folder must be new or a trained" in ended.err


def test_a_pruner_is_trained_and_used(
    ragsieve: Command, questions: str, make_encoder: Callable[[list[str], int], Path]
) -> None:
    """Figures are printed, a card is written; the system then prunes by it."""
    encoder = str(make_encoder(WORDS, 48))
    ended = ragsieve("train", "provence", "made", questions, "--encoder", encoder, "--epochs", "1")
    Path("notes.txt").write_text("The seals in rome. It ran.")
    asked = ("-q", "Who?", "notes.txt", "--option", "min_score=0", "--llm", "fake:echo")
    used = ragsieve("filter", "--system", "provence", "--clues", "provence:made", *asked)

    assert (0, 0) == (ended.code, used.code)
    assert {"q", "mean"} <= {line.split()[0] for line in ended.out.splitlines() if line.strip()}
    assert "--clues provence:FOLDER" in Path("made/README.md").read_text()
    assert "The seals in rome. It ran." in used.out
