"""`ragsieve train provence`, as a user meets it."""

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


def test_an_encoder_must_be_there(ragsieve: Command, questions: str) -> None:
    """The error names it."""
    ended = ragsieve("train", "provence", "made", questions, "--encoder", "./none")

    assert (2, 1) == (ended.code, len(ended.err.splitlines()))
    assert "no folder at './none'" in ended.err


@pytest.mark.slow
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
